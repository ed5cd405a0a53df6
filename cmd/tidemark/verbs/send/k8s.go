package send

// The verb k8s prints the Job whose pods are the clients of a load that one client cannot send, and the CronJob of a service's report.
// replay/pods writes the manifests.

import (
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week/service"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
	"tidemark/internal/userfile"
	"tidemark/replay/pods"
)

type k8sFlags struct {
	kit.Call
	shards                                                                                        int
	image, claim, results, bucketSecret, namespace, secret, startAt, baseURL, model, slo, service string
}

func K8sCommand() *cli.Command {
	f := &k8sFlags{}
	return &cli.Command{
		Name:      "k8s",
		Usage:     "print a Kubernetes Job that replays a plan from many pods",
		ArgsUsage: "manifest PLAN",
		Description: `Prints YAML for kubectl apply: a ConfigMap with the SLO, an Indexed Job with a
pod for each shard of the plan and, with --service, a CronJob of the Monday
report. PLAN is a path on the volume that --claim names; results go there too.
A shard that was evicted is not started again: the others are sending already.

Example:
  tidemark k8s manifest plan.jsonl.zst --shards 8 --image registry/tidemark:1 \
    --claim results --start-at 2026-08-01T12:00:00Z \
    --base-url http://vllm:8000 --model llama | kubectl apply -f -`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "shards", Usage: "`N` pods", Value: 8, Destination: &f.shards},
			&cli.StringFlag{Name: "image", Usage: "the container `IMAGE` with tidemark", Destination: &f.image},
			&cli.StringFlag{Name: "claim", Usage: "the persistent volume `CLAIM` with the plan, for results too", Destination: &f.claim},
			&cli.StringFlag{Name: "results", Usage: "instead of a volume: `s3://bucket/prefix` for results and PLAN", Destination: &f.results},
			&cli.StringFlag{Name: "bucket-secret", Usage: "the `SECRET` with the AWS variables of the bucket", Destination: &f.bucketSecret},
			&cli.StringFlag{Name: "namespace", Usage: "in this `NAMESPACE`", Destination: &f.namespace},
			&cli.StringFlag{Name: "secret", Usage: "the `SECRET` whose key api-key is the server's API key", Destination: &f.secret},
			&cli.StringFlag{Name: "start-at", Usage: "all pods begin at this `TIME`, as in 2026-08-01T12:00:00Z", Destination: &f.startAt},
			&cli.StringFlag{Name: "base-url", Usage: "the server, as `http://host:port`", Destination: &f.baseURL},
			&cli.StringFlag{Name: "model", Usage: "the `NAME` the server serves", Destination: &f.model},
			&cli.StringFlag{Name: "slo", Usage: "judge the run by the SLO in `FILE`", Destination: &f.slo},
			&cli.StringFlag{Name: "service", Usage: "write the Monday report of the service in `FILE` by a CronJob", Destination: &f.service},
		},
		Action: f.Do(f.run),
	}
}

func (f *k8sFlags) run() error {
	if f.Args.Len() != 2 || f.Args.First() != "manifest" {
		return hint.Misuse("k8s: it takes manifest and a plan").Hint("tidemark k8s manifest PLAN; see tidemark k8s --help")
	}
	if err := f.Require("image", "start-at", "base-url", "model"); err != nil {
		return err
	}
	if err := f.checkResults(); err != nil {
		return err
	}
	startAt, err := show.ReadInstant(f.startAt)
	if err != nil {
		return hint.Misuse("k8s: --start-at %q is not a time", f.startAt).Hint("as in --start-at 2026-08-01T12:00:00Z, with its zone")
	}
	if n := f.shards; n < 1 || n > pods.MostShards {
		return hint.Misuse("k8s: --shards %d", n).Hint("from 1 to %d", pods.MostShards)
	}
	slo, err := kit.FileOf("slo", f.slo)
	if err != nil {
		return err
	}
	if _, err := kit.SLOOf(f.slo); err != nil {
		return err
	}
	weekly, weeklySLO, err := serviceOf(f.service)
	if err != nil {
		return err
	}
	plan := f.Args.Get(1)
	if f.results != "" && !objects.IsAddress(plan) {
		plan = objects.Below(f.results, plan)
	}
	text, err := pods.Manifest(pods.Job{Plan: plan, Shards: f.shards, Image: f.image, Claim: f.claim,
		Results: f.results, BucketSecret: f.bucketSecret,
		Namespace: f.namespace, Secret: f.secret, StartAt: f.startAt,
		BaseURL: f.baseURL, Model: f.model, SLO: string(slo), Service: weekly, ServiceSLO: weeklySLO})
	if err != nil {
		return err
	}
	if !startAt.After(time.Now()) {
		f.Tell("warning: the start at %s has passed: the pods will refuse it; half a minute after the last pod has started is enough", f.startAt)
	}
	_, err = f.App.Writer.Write(text)
	return err
}

// serviceOf are the texts of a service file and of the SLO file that it names; none without a path.
func serviceOf(path string) (text, slo string, err error) {
	if path == "" {
		return "", "", nil
	}
	f, err := service.Read(path)
	if err != nil {
		return "", "", err
	}
	if _, err := kit.SLOOf(f.SLO); err != nil {
		return "", "", err
	}
	content, err := userfile.ReadAll(f.SLO)
	return f.Text, string(content), err
}

// checkResults wants one place for the results.
func (f *k8sFlags) checkResults() error {
	switch {
	case (f.claim != "") == (f.results != ""):
		return hint.Misuse("k8s: results go to a volume or to a bucket, to one of them").Hint("--claim NAME, or --results s3://bucket/prefix")
	case f.results != "" && f.service != "":
		return hint.Misuse("k8s: the Monday report needs a volume for its warehouse").Hint("--claim NAME with --service")
	case f.results == "" && f.bucketSecret != "":
		return hint.Misuse("k8s: --bucket-secret is for a bucket").Hint("--results s3://bucket/prefix, or leave it out")
	case f.results == "":
		return nil
	}
	_, err := objects.ParseAddress(f.results)
	return err
}
