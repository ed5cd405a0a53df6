// A rehearsal kept as a run: the folder has the same files in the same format, so that it is ingested, judged and reported
// like any other. Its addresses are in the domain .invalid, which no network resolves, and run.json says that it was
// rehearsed. What only sockets have (headers, reads, the client's own state) is not there.

package replay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/vllmsim"
	"tidemark/replay/engines"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
	"tidemark/replay/secrets"
	"tidemark/replay/wire"
)

// OriginRehearsed is run.json's word for a run that was never sent.
const OriginRehearsed = "rehearsed"

// Rehearse plays the plan in virtual time and fills folder, which must not exist, as Run does. Of the settings it takes mode,
// concurrency, history, cache, warm-up, SLO, names and the environment; servers are those of r.
func Rehearse(ctx context.Context, planned *plan.Plan, s Settings, r rehearsal.Settings, folder string) (Result, error) {
	for i := range max(r.Replicas, 1) {
		s.BaseURLs = append(s.BaseURLs, fmt.Sprintf("http://replica%d.invalid", i+1))
	}
	s, targets, err := s.settled(planned)
	if err != nil {
		return Result{}, err
	}
	if err := makeFolder(folder); err != nil {
		return Result{}, err
	}
	k := keeper{settings: s, targets: targets, engine: r.Engine, folder: folder}
	r.Mode, r.MaxConcurrency = s.Mode, s.MaxConcurrency
	r.IsAnswered, r.IsCold = s.History == historyAnswered, s.Cache == cacheCold
	r.KeepsTokens, r.Sample = true, k.sample
	return k.keep(ctx, planned, r)
}

// keeper writes what a rehearsal says.
type keeper struct {
	settings Settings
	targets  []target
	engine   engine.Config
	folder   string
	journal  *journal
	samples  *lineLog
	offsets  []int64
	counts   []int32
}

func (k *keeper) keep(ctx context.Context, planned *plan.Plan, r rehearsal.Settings) (result Result, err error) {
	d := newDocument(k.settings, k.targets, planned, k.servers())
	d.Origin, d.Client = OriginRehearsed, clientRecord{}
	d.StartedAt = stamp(k.settings.Wall())
	if err := d.write(k.folder, k.settings.create); err != nil {
		return result, err
	}
	if planned, err = copyPlan(planned, k.folder, k.settings.create); err != nil {
		return result, err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	rows, err := openLog(filepath.Join(k.folder, "requests.jsonl.zst"), k.settings.create, giveUp)
	if err != nil {
		return result, err
	}
	if k.samples, err = openLog(filepath.Join(k.folder, "samples.jsonl.zst"), k.settings.create, giveUp); err != nil {
		return result, errors.Join(err, rows.close())
	}
	slots := 0
	if r.Mode == schedule.Closed {
		slots = r.MaxConcurrency
	}
	k.journal = newJournal(rows, slots)
	for i := range k.targets {
		k.sample(0, i, engine.Counts{})
	}
	err = errors.Join(rehearsal.Play(ctx, r, planned.Requests(), k.add), rows.close(), k.samples.close())
	result = k.journal.outcome.finish(planned.Header().Requests, limits{k.settings.MaxLateness, k.settings.MaxStall}, observed{}, nil)
	result.Client, result.Status = nil, statusDone
	if err != nil {
		result.Status, result.IsValid = statusAborted, false
		result.InvalidReason = "the rehearsal ended early: " + err.Error()
		d.StopReason, d.StoppedBy = err.Error(), stoppedByClient
	}
	d.Status, d.EndedAt, d.Result = result.Status, stamp(k.settings.Wall()), &result
	return result, errors.Join(err, d.write(k.folder, k.settings.create))
}

// servers is what the replicas would say of themselves.
func (k *keeper) servers() prepared {
	c := k.engine
	isCaching := c.EnablePrefixCaching
	p := prepared{effective: engines.Configuration{
		EngineVersion: c.Version, Model: c.Model, MaxModelLen: int64(c.MaxModelLen), BlockSize: int64(c.BlockSize), NumGPUBlocks: int64(c.KVBlocks),
		KVCacheTokens: int64(c.KVBlocks * c.BlockSize), EnablePrefixCaching: &isCaching, MaxNumSeqs: int64(c.MaxNumSeqs), MaxNumBatchedTokens: int64(c.MaxNumBatchedTokens),
	}}
	p.readiness.Cache = cacheRecord{Asked: k.settings.Cache, Method: "none"}
	for _, t := range k.targets {
		p.servers = append(p.servers, Server{Version: c.Version, IsSimulated: true, Simulates: k.settings.Environment, Engine: engines.VLLM.Name, EngineBy: "rehearsed",
			engine: engines.VLLM, target: t, record: serverRecord{BaseURL: t.shown(), Version: c.Version, IsSimulated: true}})
	}
	return p
}

// add writes the row of a request that has ended.
func (k *keeper) add(r *rehearsal.Request) error {
	row := newRow(r.Request)
	row.sent, row.written, row.held = r.Sent, r.Sent, r.Held
	row.isWarmUp = r.Due < k.settings.WarmUp
	if len(k.targets) > 1 {
		row.endpoint = k.targets[r.Replica].shown()
	}
	if r.Failure != "" {
		row.done, row.status, row.failure, row.detail = r.Sent, 400, "http_400", r.Failure
		k.journal.add(&row)
		return nil
	}
	row.first, row.last, row.done, row.status, row.finish = r.First, r.Last, r.Last, 200, "length"
	row.usage.Prompt, row.usage.Completion, row.counted = int64(r.InputTokens), int64(r.OutputTokens), int64(r.OutputTokens)
	row.usage.Cached = int64(r.Cached)
	row.timing = wire.Timing{Queue: (r.Scheduled - r.Entered).Seconds(), Ttft: (r.First - r.Scheduled).Seconds(), Generation: (r.Last - r.First).Seconds(), Itl: row.timing.Itl}
	row.engineS, row.recomputed = r.EngineS, int64(r.Recomputed)
	k.offsets, k.counts = k.offsets[:0], k.counts[:0]
	for _, at := range r.Tokens {
		k.offsets, k.counts = append(k.offsets, (at-r.Sent).Microseconds()), append(k.counts, 1)
	}
	row.offsets, row.counts, row.reads = k.offsets, k.counts, len(k.offsets)
	k.journal.add(&row)
	return nil
}

// sample writes what a replica's /metrics would say.
func (k *keeper) sample(at time.Duration, replica int, c engine.Counts) {
	exposition := string(vllmsim.Exposition(c, k.engine))
	address := secrets.ShownURL(k.targets[replica].base.String() + "/metrics")
	k.samples.add(func(dst []byte) []byte {
		dst = plan.AppendSeconds(append(dst, `{"at_s":`...), at)
		dst = plan.AppendString(append(dst, `,"origin":"server","url":`...), address)
		return append(plan.AppendString(append(dst, `,"exposition":`...), exposition), '}', '\n')
	})
}
