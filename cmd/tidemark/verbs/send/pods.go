package send

// Load from many clients: the flags that make a replay one shard of a plan, and the verb k8s, which prints the Job whose pods
// are such clients. replay/plan splits the plan, replay keeps the start and looks at the clock, ingest merges the folders,
// and replay/pods writes the manifests.
//
// A shard does not touch the warehouse: it is no run before all of them are there.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week/service"
	"tidemark/internal/cli/kit"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/store/objects"
	"tidemark/internal/userfile"
	"tidemark/replay"
	"tidemark/replay/plan"
	"tidemark/replay/pods"
)

// completionIndex is where Kubernetes says which pod of an Indexed Job this is.
const completionIndex = "JOB_COMPLETION_INDEX"

// shardAsked reads --shard and --start-at; nil is the whole plan.
func (f *replayFlags) shardAsked(what string) (*plan.Shard, time.Time, error) {
	var startAt time.Time
	if text := f.startAt; text != "" {
		var err error
		if startAt, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, startAt, hint.Misuse("replay: --start-at %q is not a time", text).Hint("as in --start-at 2026-08-01T12:00:00Z, with its zone")
		}
	}
	if err := objects.CheckFolder(f.Runs); err != nil {
		return nil, startAt, hint.Errorf("replay: --runs: %w", err).Hint("%s", hint.Of(err))
	}
	if f.shard == "" {
		switch {
		case f.startAt != "" && f.steps != "":
			return nil, startAt, hint.Misuse("replay: --start-at is one instant, and --steps are several runs").Hint("leave one out")
		case objects.IsAddress(f.Runs), objects.IsAddress(what):
			return nil, startAt, hint.Misuse("replay: a bucket holds the plan and the folders of shards, and --shard is missing").
				Hint("send the whole plan from files: --runs DIR; tidemark ingest s3://... fetches folders")
		}
		return nil, startAt, nil
	}
	shard, err := parseShard(f.shard)
	switch {
	case err != nil:
	case startAt.IsZero():
		err = hint.Misuse("replay: --shard needs --start-at, so that all shards begin together").Hint("--start-at 2026-08-01T12:00:00Z, the same for all")
	case !IsPlanFile(what):
		err = hint.Misuse("replay: --shard needs a plan file, the same for all shards; %s is none", what).Hint("tidemark plan %s --output plan.jsonl.zst", escape.Shell(what))
	case f.steps != "", f.IsGiven("max-concurrency"), f.Mode == "closed", f.To.Cache == "reset":
		err = hint.Misuse("replay: --steps, --max-concurrency, --mode closed and --cache reset are of one client, and a shard is one of several").
			Hint("leave them out, or send the whole plan from one client")
	}
	return &shard, startAt, err
}

func parseShard(text string) (plan.Shard, error) {
	index, count, found := strings.Cut(text, "/")
	if index == "" {
		index = os.Getenv(completionIndex)
	}
	i, badIndex := strconv.Atoi(index)
	n, badCount := strconv.Atoi(count)
	if !found || badIndex != nil || badCount != nil || n < 1 || n > pods.MostShards || i < 0 || i >= n {
		return plan.Shard{}, hint.Misuse("replay: --shard %q is not a part of at most %d", text, pods.MostShards).
			Hint("--shard 0/8 is the first of eight; --shard /8 takes the index from $%s", completionIndex)
	}
	return plan.Shard{Index: i, Count: n}, nil
}

// sendShard sends one part of the plan into a folder of its own.
func (f *replayFlags) sendShard(what string, shard plan.Shard, settings replay.Settings) error {
	whole, err := plan.Open(what)
	if err != nil {
		return err
	}
	if whole.Header().MaxConcurrency > 0 {
		return hint.Misuse("replay: %s is meant for at most %d in flight, which shards cannot keep together", what, whole.Header().MaxConcurrency).
			Hint("send it from one client")
	}
	temporary, err := os.MkdirTemp("", "tidemark-shard-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	part := filepath.Join(temporary, "plan.jsonl.zst")
	if _, err := plan.WriteShard(whole, part, shard); err != nil {
		return err
	}
	startAt := settings.StartAt.UTC()
	// All shards name the run alike, without a word to each other.
	settings.RunID = fmt.Sprintf("%s-%s-%.4s", startAt.Format("20060102-150405"), stemOf(what), whole.Fingerprint())
	h := whole.Header()
	settings.Shard = &replay.Shard{Index: shard.Index, Count: shard.Count, StartAt: startAt.Format(time.RFC3339Nano),
		PlanFingerprint: whole.Fingerprint(), PlanRequests: h.Requests, PlanInputTokens: h.InputTokens, PlanOutputTokens: h.OutputTokens}
	name := fmt.Sprintf("%s-shard-%d-of-%d", settings.RunID, shard.Index, shard.Count)
	if objects.IsAddress(f.Runs) {
		err = f.sendIntoBucket(shard, part, filepath.Join(temporary, name), settings)
	} else {
		folder := filepath.Join(f.Runs, name)
		f.Tell("shard %s: %s", shard, folder)
		err = f.send(part, folder, settings)
	}
	if err != nil {
		return err
	}
	all := settings.RunID + "-shard-*"
	if objects.IsAddress(f.Runs) {
		all = "'" + objects.Below(f.Runs, all) + "'"
	} else {
		all = f.Runs + "/" + all
	}
	f.Tell("when all %d shards have ended: tidemark ingest %s", shard.Count, all)
	return nil
}

// copiedEvery is how much of a shard is lost at most with a pod that is killed, where its folder goes into a bucket.
const copiedEvery = time.Minute

// sendIntoBucket sends a part, and its folder into the bucket that --runs names. The plan of the part goes there first: a bucket that
// refuses is told before anything is sent.
func (f *replayFlags) sendIntoBucket(shard plan.Shard, part, folder string, settings replay.Settings) error {
	at, err := objects.ParseAddress(f.Runs)
	if err != nil {
		return err
	}
	store, err := objects.Open(at)
	if err != nil {
		return err
	}
	if err := store.PutFile(f.Context, filepath.Base(folder)+"/plan.jsonl.zst", part); err != nil {
		return err
	}
	f.Tell("shard %s: %s/%s", shard, at, filepath.Base(folder))
	stop := store.KeepFolder(f.Context, folder, copiedEvery)
	sendErr := f.send(part, folder, settings)
	stop()
	if _, err := os.Stat(filepath.Join(folder, "run.json")); errors.Is(err, fs.ErrNotExist) {
		return sendErr // it was refused before it began
	}
	// A pod that is told to end has half a minute for it, and what it measured counts.
	return errors.Join(sendErr, store.PutFolder(context.WithoutCancel(f.Context), folder))
}

// fetchedPlan is the plan as a file, fetched where it is in a bucket. drop removes that file.
func fetchedPlan(ctx context.Context, what string) (path string, drop func(), err error) {
	if !objects.IsAddress(what) {
		return what, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "tidemark-plan-")
	if err != nil {
		return "", nil, err
	}
	drop = func() { os.RemoveAll(folder) }
	name, _, _ := strings.Cut(what, "?")
	path = filepath.Join(folder, filepath.Base(name))
	if err := objects.FetchFile(ctx, what, path); err != nil {
		drop()
		return "", nil, err
	}
	return path, drop, nil
}

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
	startAt, err := time.Parse(time.RFC3339Nano, f.startAt)
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
