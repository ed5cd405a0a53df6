package pods

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"tidemark/internal/proof/must"
)

// What the cluster or a pod would refuse is told at once.
func TestWhatAClusterWouldRefuse(t *testing.T) {
	fine := Job{Plan: "plan.jsonl.zst", Shards: 8, Image: "tidemark:1", Claim: "results", StartAt: "2026-08-01T12:00:00Z", BaseURL: "http://vllm:8000", Model: "llama"}
	for want, spoil := range map[string]func(*Job){
		"--namespace":      func(j *Job) { j.Namespace = "Load Tests" },
		"--claim":          func(j *Job) { j.Claim = "results/" },
		"--secret":         func(j *Job) { j.Secret = "KEY" },
		"--base-url":       func(j *Job) { j.BaseURL = "vllm:8000" },
		"below the volume": func(j *Job) { j.Plan = "../../etc/p.jsonl.zst" },
		"not below the vo": func(j *Job) { j.Plan = "/etc/p.jsonl.zst" },
		"is an address":    func(j *Job) { j.Plan = "https://x/p" },
		"not below":        func(j *Job) { j.Service = "service: chat\nslo: ../slo.yaml\n" },
	} {
		j := fine
		spoil(&j)
		must.Refuse(Manifest(j))(t, want)
	}
	if _, err := Manifest(fine); err != nil {
		t.Error(err)
	}
	// The kubelet expands $(NAME) in arguments, and $$ is its $.
	fine.Model = "$(HOME)/$$x"
	if text, err := Manifest(fine); err != nil || !strings.Contains(string(text), "$$(HOME)/$$$$x\n") {
		t.Errorf("a model with dollars: %v\n%s", err, text)
	}
}

// The manifest is what Kubernetes' own types read strictly: an unknown or doubled field is an error.
func TestManifestIsReadByAStrictDecoder(t *testing.T) {
	text := must.Get(Manifest(Job{Plan: "plan.jsonl.zst", Shards: 8, Image: "tidemark:1", Claim: "results", Namespace: "load", Secret: "key",
		StartAt: "2026-08-01T12:00:00Z", BaseURL: "http://vllm:8000", Model: "llama", SLO: "tpot: 1\n", Service: "service: chat\nslo: slos/chat.yaml\n", ServiceSLO: "ttft: 1\n"}))(t)
	documents := bytes.Split(text, []byte("---\n"))
	if len(documents) != 3 {
		t.Fatalf("%d objects, want 3", len(documents))
	}
	var config corev1.ConfigMap
	var job batchv1.Job
	var cron batchv1.CronJob
	for i, into := range []any{&config, &job, &cron} {
		readAndWritten(t, documents[i], into)
	}
	if config.Data["slo.yaml"] != "tpot: 1\n" || config.Namespace != "load" {
		t.Errorf("ConfigMap: %+v", config)
	}
	s := job.Spec
	if *s.CompletionMode != batchv1.IndexedCompletion || *s.Completions != 8 || *s.Parallelism != 8 || *s.BackoffLimitPerIndex != 0 {
		t.Errorf("Job: %+v", s)
	}
	container := s.Template.Spec.Containers[0]
	if at := slices.Index(container.Args, "--shard"); at < 0 || container.Args[at+1] != "/8" {
		t.Errorf("arguments: %q", container.Args)
	}
	if container.Env[0].ValueFrom.SecretKeyRef.Name != "key" {
		t.Errorf("env: %+v", container.Env)
	}
	if cron.Spec.Schedule != "0 7 * * 1" || cron.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		t.Errorf("CronJob: %+v", cron.Spec)
	}
	// The report finds the SLO file where the service file says.
	report := cron.Spec.JobTemplate.Spec.Template.Spec
	there := map[string]string{}
	for _, item := range report.Volumes[0].ConfigMap.Items {
		there[path.Join(report.Containers[0].VolumeMounts[0].MountPath, item.Path)] = config.Data[item.Key]
	}
	service := report.Containers[0].Args[2]
	if there[service] != "service: chat\nslo: slos/chat.yaml\n" || there[path.Join(path.Dir(service), "slos/chat.yaml")] != "ttft: 1\n" || there["/etc/tidemark/slo.yaml"] != "tpot: 1\n" {
		t.Errorf("%s with %q", service, there)
	}
	// With a bucket there is no volume.
	text = must.Get(Manifest(Job{Plan: "s3://b/plan.jsonl.zst", Results: "s3://b/results", BucketSecret: "aws", Shards: 2, Image: "tidemark:1", StartAt: "2026-08-01T12:00:00Z", BaseURL: "http://vllm:8000", Model: "llama"}))(t)
	var bare batchv1.Job
	readAndWritten(t, bytes.Split(text, []byte("---\n"))[1], &bare)
	pod := bare.Spec.Template.Spec
	if len(pod.Volumes) != 2 || pod.Containers[0].EnvFrom[0].SecretRef.Name != "aws" || pod.Containers[0].Args[1] != "s3://b/plan.jsonl.zst" || !slices.Contains(pod.Containers[0].Args, "s3://b/results") {
		t.Errorf("with a bucket: %+v", pod)
	}
	// The decoder is strict indeed.
	if yaml.UnmarshalStrict([]byte("apiVersion: batch/v1\nspec: {completionmode: Indexed, nonsense: 1}\n"), &batchv1.Job{}) == nil {
		t.Error("the decoder takes anything")
	}
}

// readAndWritten reads an object strictly into a type of Kubernetes, which writes the same bytes.
func readAndWritten(t *testing.T, object []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(object, into); err != nil {
		t.Errorf("%v in\n%s", err, object)
	}
	if again, err := yaml.Marshal(into); err != nil || string(again) != string(object) {
		t.Errorf("%T writes (%v)\n%s, and the manifest is\n%s", into, err, again, object)
	}
}

// Texts that YAML would read as something else arrive as they were given.
func TestTextsStayTexts(t *testing.T) {
	for _, text := range []string{"yes", "null", "1e3", "0x1f", "~", "- x", "p: #{", "a: b\n  c", " \tindented\r\n", "{{.Image}}", "\u2028\a%", "trailing \n\n", "*a", "&b !c"} {
		manifest := must.Get(Manifest(Job{Plan: "plan", Shards: 1, Image: text, Claim: "true", StartAt: text, BaseURL: "http://vllm:8000", Model: text, SLO: text}))(t)
		documents := bytes.Split(manifest, []byte("---\n"))
		var config corev1.ConfigMap
		var job batchv1.Job
		for i, into := range []any{&config, &job} {
			if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		container := job.Spec.Template.Spec.Containers[0]
		if config.Data["slo.yaml"] != text || container.Image != text || container.Args[slices.Index(container.Args, "--model")+1] != text {
			t.Errorf("%q became %q, %q, %q", text, config.Data["slo.yaml"], container.Image, container.Args)
		}
	}
}

// A name is taken or refused, and in the same words, as Kubernetes itself does.
func TestNamesAreThoseOfKubernetes(t *testing.T) {
	for _, name := range []string{"", "a", "load-1", "Load", "a_b", "a.b", "a..b", ".a", "-a", "a-", "1", "a\n", "é", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a"} {
		for _, c := range []struct {
			got  string
			want []string
		}{{wrongLabel(name), validation.IsDNS1123Label(name)}, {wrongSubdomain(name), validation.IsDNS1123Subdomain(name)}} {
			if len(c.want) == 0 && c.got != "" || len(c.want) > 0 && c.got != c.want[0] {
				t.Errorf("%q: got %q, want %q", name, c.got, c.want)
			}
		}
	}
}
