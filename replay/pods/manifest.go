package pods

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
	objects := list{j.configMap(), j.job()}
	if j.Service != "" {
		objects = append(objects, j.cronJob())
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	for _, o := range objects {
		if err := encoder.Encode(o); err != nil {
			return nil, fmt.Errorf("k8s: %w", err)
		}
	}
	return out.Bytes(), encoder.Close()
}

// object is a mapping of the manifest, whose keys are written in order, and list a sequence.
type (
	object = map[string]any
	list   = []any
)

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

func (j Job) configMap() object {
	o := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": j.named(name)}
	data := object{}
	for _, file := range j.files() {
		data[file.key] = file.content
	}
	if len(data) > 0 {
		o["data"] = data
	}
	return o
}

// job has a pod for each shard. Each is tried once: a second try would begin after the start, in the middle of the load of
// the others. A failed index leaves the others running.
func (j Job) job() object {
	plan, runs := path.Join(folder, j.Plan), path.Join(folder, "runs")
	if j.Results != "" {
		plan, runs = j.Plan, j.Results
	}
	arguments := []string{"replay", plan, "--shard", "/" + strconv.Itoa(j.Shards), "--start-at", j.StartAt,
		"--base-url", j.BaseURL, "--model", j.Model, "--runs", runs}
	if j.SLO != "" {
		arguments = append(arguments, "--slo", settings+"/slo.yaml")
	}
	container := j.container(arguments)
	if j.Secret != "" {
		container["env"] = list{object{"name": "OPENAI_API_KEY", "valueFrom": object{"secretKeyRef": object{"name": j.Secret, "key": "api-key"}}}}
	}
	if j.BucketSecret != "" {
		container["envFrom"] = list{object{"secretRef": object{"name": j.BucketSecret}}}
	}
	pod := j.pod(container)
	// Two shards on one node would share its cores.
	pod["topologySpreadConstraints"] = list{object{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
		"whenUnsatisfiable": "ScheduleAnyway", "labelSelector": object{"matchLabels": labels()}}}
	return object{"apiVersion": "batch/v1", "kind": "Job", "metadata": j.named(name), "status": object{},
		"spec": object{
			"completionMode": "Indexed", "completions": j.Shards, "parallelism": j.Shards, "backoffLimitPerIndex": 0, "maxFailedIndexes": j.Shards,
			"template": object{"metadata": object{"labels": labels()}, "spec": pod},
		}}
}

// cronJob writes the page of the week every Monday at seven.
func (j Job) cronJob() object {
	pod := j.pod(j.container([]string{"report", "--service", path.Join(settings, serviceFile), "--warehouse", folder + "/tidemark.duckdb",
		"--output", folder + "/monday.html", "--force"}))
	return object{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": j.named(monday), "status": object{},
		"spec": object{
			"schedule": "0 7 * * 1", "concurrencyPolicy": "Forbid", // a warehouse has one writer
			"startingDeadlineSeconds": 86400,
			"jobTemplate": object{"metadata": object{}, "spec": object{"backoffLimit": 0,
				"template": object{"metadata": object{}, "spec": pod}}},
		}}
}

// container runs tidemark, which can write to the volume and to /tmp.
func (j Job) container(arguments []string) object {
	for i, argument := range arguments { // the kubelet puts variables in the place of $(NAME), and one $ for two
		arguments[i] = strings.ReplaceAll(argument, "$", "$$")
	}
	mounts := list{object{"name": "settings", "mountPath": settings, "readOnly": true}, object{"name": "scratch", "mountPath": "/tmp"}}
	if j.Claim != "" {
		mounts = append(mounts, object{"name": "results", "mountPath": folder})
	}
	return object{"name": "tidemark", "image": j.Image, "command": list{"tidemark"}, "args": arguments, "workingDir": "/tmp",
		"resources":       object{"requests": object{"cpu": "2", "memory": "1Gi"}, "limits": object{"memory": "4Gi"}}, // no CPU limit: throttling makes requests late
		"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": list{"ALL"}}},
		"volumeMounts":    mounts,
	}
}

// pod runs a container as nobody, with the volume and the ConfigMap.
func (j Job) pod(container object) object {
	settings := object{"name": name}
	if files := j.files(); len(files) > 0 {
		var items list
		for _, file := range files {
			items = append(items, object{"key": file.key, "path": file.path})
		}
		settings["items"] = items
	}
	volumes := list{object{"name": "settings", "configMap": settings}, object{"name": "scratch", "emptyDir": object{}}}
	if j.Claim != "" {
		volumes = append(volumes, object{"name": "results", "persistentVolumeClaim": object{"claimName": j.Claim}})
	}
	return object{
		"restartPolicy": "Never", "automountServiceAccountToken": false,
		"securityContext": object{"runAsNonRoot": true, "runAsUser": nobody, "fsGroup": nobody, "seccompProfile": object{"type": "RuntimeDefault"}},
		"containers":      list{container},
		"volumes":         volumes,
	}
}

func (j Job) named(name string) object {
	o := object{"name": name, "labels": labels()}
	if j.Namespace != "" {
		o["namespace"] = j.Namespace
	}
	return o
}

func labels() object { return object{"app.kubernetes.io/name": "tidemark"} }
