package send

// Load from many clients: the flags that make a replay one shard of a plan.
// replay/plan splits the plan, replay keeps the start and looks at the clock, and ingest merges the folders.
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

	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
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
		if startAt, err = show.ReadInstant(text); err != nil {
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
	case !plan.IsFile(what):
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
