package pods

import (
	"bytes"
	"fmt"
	"path"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// MostShards bounds the clients of one run; a thousand pods are more load than any server is meant for.
const MostShards = 1000

// Job says what is sent, from where, and where the results go.
type Job struct {
	Plan      string // a path on the volume, or the address of an object
	Shards    int
	Image     string
	Claim     string // persistent volume claim, mounted at folder; empty: the bucket of Results
	Results   string // s3://bucket/prefix; then Plan is an address too
	Namespace string // empty: kubectl's own
	Secret    string // whose key api-key is the server's; empty: none
	// BucketSecret has the AWS variables of the bucket; empty: the pods have them otherwise.
	BucketSecret string
	StartAt      string
	BaseURL      string
	Model        string
	SLO          string // the text of an SLO file; empty: none
	Service      string // the text of a service file, for the Monday report; empty: no CronJob
	ServiceSLO   string // the text of the SLO file that it names
}

const (
	name     = "tidemark-replay"
	monday   = "tidemark-monday"
	folder   = "/var/lib/tidemark" // of results
	settings = "/etc/tidemark"     // of the ConfigMap
	// serviceFile is below settings.
	serviceFile = "service/service.yaml"
	nobody      = 65532
)

// Manifest is the YAML of all objects.
func Manifest(j Job) ([]byte, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	objects := []any{j.configMap(), j.job()}
	if j.Service != "" {
		objects = append(objects, j.cronJob())
	}
	var out bytes.Buffer
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("k8s: %w", err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// setting is a file that the pods are given.
type setting struct{ key, path, content string }

// files are the settings. The service file is in a folder with the SLO file that it names, which may be another one than the replay's.
func (j Job) files() (files []setting) {
	if j.SLO != "" {
		files = append(files, setting{"slo.yaml", "slo.yaml", j.SLO})
	}
	if j.Service != "" {
		files = append(files, setting{"service.yaml", serviceFile, j.Service},
			setting{"service-slo.yaml", path.Join(path.Dir(serviceFile), j.serviceSLOName()), j.ServiceSLO})
	}
	return files
}

func (j Job) configMap() corev1.ConfigMap {
	data := map[string]string{}
	for _, file := range j.files() {
		data[file.key] = file.content
	}
	return corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: j.named(name), Data: data}
}

// job has a pod for each shard. Each is tried once: a second try would begin after the start, in the middle of the load of
// the others. A failed index leaves the others running.
func (j Job) job() batchv1.Job {
	plan, runs := path.Join(folder, j.Plan), path.Join(folder, "runs")
	if j.Results != "" {
		plan, runs = j.Plan, j.Results
	}
	arguments := []string{"replay", plan, "--shard", "/" + strconv.Itoa(j.Shards), "--start-at", j.StartAt,
		"--base-url", j.BaseURL, "--model", j.Model, "--runs", runs}
	if j.SLO != "" {
		arguments = append(arguments, "--slo", settings+"/slo.yaml")
	}
	pod := j.pod(arguments)
	if j.Secret != "" {
		pod.Containers[0].Env = []corev1.EnvVar{{Name: "OPENAI_API_KEY", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: j.Secret}, Key: "api-key"}}}}
	}
	if j.BucketSecret != "" {
		pod.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: j.BucketSecret}}}}
	}
	// Two shards on one node would share its cores.
	pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "kubernetes.io/hostname",
		WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: labels()}}}
	return batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: j.named(name),
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(j.Shards)), Parallelism: new(int32(j.Shards)),
			BackoffLimitPerIndex: new(int32(0)), MaxFailedIndexes: new(int32(j.Shards)),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels()}, Spec: pod},
		}}
}

// cronJob writes the page of the week every Monday at seven.
func (j Job) cronJob() batchv1.CronJob {
	pod := j.pod([]string{"report", "--service", path.Join(settings, serviceFile), "--warehouse", folder + "/tidemark.duckdb",
		"--output", folder + "/monday.html", "--force"})
	return batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: j.named(monday),
		Spec: batchv1.CronJobSpec{
			Schedule: "0 7 * * 1", ConcurrencyPolicy: batchv1.ForbidConcurrent, // a warehouse has one writer
			StartingDeadlineSeconds: new(int64(86400)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)),
				Template: corev1.PodTemplateSpec{Spec: pod}}},
		}}
}

// pod runs tidemark as nobody, with the volume and the ConfigMap and nothing else that can be written but /tmp.
func (j Job) pod(arguments []string) corev1.PodSpec {
	mounts := []corev1.VolumeMount{{Name: "settings", MountPath: settings, ReadOnly: true}, {Name: "scratch", MountPath: "/tmp"}}
	var items []corev1.KeyToPath
	for _, file := range j.files() {
		items = append(items, corev1.KeyToPath{Key: file.key, Path: file.path})
	}
	volumes := []corev1.Volume{
		{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	if j.Claim != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: "results", MountPath: folder})
		volumes = append(volumes, corev1.Volume{Name: "results", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: j.Claim}}})
	}
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), FSGroup: new(int64(nobody)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: "tidemark", Image: j.Image, Command: []string{"tidemark"}, Args: arguments, WorkingDir: "/tmp",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}}, // no CPU limit: throttling makes requests late
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			VolumeMounts: mounts,
		}},
		Volumes: volumes,
	}
}

func (j Job) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: j.Namespace, Labels: labels()}
}

func labels() map[string]string { return map[string]string{"app.kubernetes.io/name": "tidemark"} }
