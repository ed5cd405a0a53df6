//go:build duckdb_arrow

package fleet

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/workload"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// ErrNoLatency marks an SLO that limits no rate.
var ErrNoLatency = errors.New("no objective is a latency")

// ServerOf is one replica of a deployment, with the objectives of an SLO. A share of failures is no objective here: no rate follows from it.
func ServerOf(ctx context.Context, db *sql.DB, d deployment.Deployment, slo analysis.SLO) (Server, error) {
	s, err := ServerWithin(ctx, db, d, slo, 0)
	if err == nil {
		s.Band, err = analysis.ServerBand(ctx, db, d)
	}
	return s, err
}

// ServerWithin is ServerOf where the band is known.
func ServerWithin(ctx context.Context, db *sql.DB, d deployment.Deployment, slo analysis.SLO, band float64) (Server, error) {
	cost, err := analysis.LoadStepCost(ctx, db, d)
	if err != nil {
		return Server{}, err
	}
	resolved := cost.Deployment
	s := Server{Engine: cost.Engine(), Band: band, Objectives: slo.SearchedLatencies()}
	s.Engine.MaxModelLen = min(cmp.Or(resolved.MaxModelLen, 131072), s.Engine.KVBlocks*s.Engine.BlockSize)
	if len(s.Objectives) == 0 {
		return Server{}, hint.Errorf("slo %s: no objective is a latency: a share of failures alone is no limit to a rate", slo.Name).
			Hint("add an objective such as {metric: ttft_from_due, percentile: 99, at_most: 1s} to the SLO file").Mark(ErrNoLatency)
	}
	return s, nil
}

// Choose finds the search for capacity that a week rests on. It must have found what this deployment takes of some window within these
// objectives, in an open loop. A measured search goes before a simulated one, and the newest of each kind is taken. A rehearsed one counts for
// nothing: the page rehearses its own hours. found is nil where none fits, and why says what was in the way.
func Choose(ctx context.Context, db *sql.DB, d deployment.Deployment, slo analysis.SLO, weekEnd time.Time) (found *Search, why string, err error) {
	wanted, err := analysis.Resolve(ctx, db, d)
	if err != nil {
		return nil, "", err
	}
	var all []*Search
	err = warehouse.Each(ctx, db, `
select
    capacities.search_id,
    capacities.source_id,
    capacities.source_name,
    coalesce(capacities.source_sha256, ''),
    coalesce(capacities.from_s, 0),
    coalesce(capacities.until_s, 0),
    capacities.window_rate_per_s,
    capacities.origin,
    capacities.outcome,
    capacities.replicas,
    capacities.rate_per_replica_per_s,
    capacities.rate_low_per_replica_per_s,
    capacities.rate_high_per_replica_per_s,
    coalesce(capacities.binding_objective, ''),
    capacities.allowed_ratio,
    coalesce(capacities.is_weak, false),
    capacities.ended_at,
    searches.header::varchar
from marts.capacities
inner join raw.capacities as searches using (search_id, source_id)
where capacities.outcome in ('found', 'above_max')
    and capacities.mode <> 'closed'
    and capacities.lengths = 'own'
    and capacities.origin in ('measured', 'simulated')
    and coalesce(capacities.confirmed, true)
    and capacities.window_rate_per_s > 0
order by
    capacities.origin,
    capacities.ended_at desc,
    capacities.search_id`, nil, func(scan func(...any) error) error {
		s := &Search{}
		var rate, low, high sql.NullFloat64
		var allowed sql.NullFloat64
		var header string
		if err := scan(&s.ID, &s.sourceID, &s.SourceName, &s.sourceSHA256, &s.fromS, &s.untilS, &s.WindowPerS, &s.Origin, &s.outcome, &s.replicas,
			&rate, &low, &high, &s.Binding, &allowed, &s.IsWeak, &s.EndedAt, &header); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(header), &s.asked); err != nil {
			return fmt.Errorf("search %s: %w", s.ID, err)
		}
		s.WindowPerS /= float64(s.replicas)
		s.PerS, s.LowPerS = rate.Float64, low.Float64
		if s.outcome == capacity.AboveMax { // only a lower bound is known
			s.PerS = low.Float64
		} else if high.Valid {
			s.HighPerS = &high.Float64
		}
		if allowed.Valid {
			s.Allowed = &allowed.Float64
		}
		if s.PerS > 0 && s.LowPerS > 0 {
			all = append(all, s)
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("capacities: %w", err)
	}
	unlike := ""
	for _, s := range all {
		had, err := analysis.Resolve(ctx, db, s.asked.Deployment)
		if err != nil { // its GPU or model was not said, or the catalogue no longer has it
			unlike = cmp.Or(unlike, "the newest says nothing of its GPUs that the catalogue knows")
			continue
		}
		if why := s.differs(had, wanted, slo); why != "" {
			unlike = cmp.Or(unlike, why)
			continue
		}
		if err := s.read(ctx, db); err != nil {
			return nil, "", err
		}
		return s, "", nil
	}
	if unlike == "" {
		return nil, "no search for capacity is in the warehouse", nil
	}
	return nil, "no search for capacity fits: " + unlike, nil
}

// differs says in what a search is about something else; empty: it fits. Both deployments have the catalogue's names. What a search does not say of an engine's version or limits it may
// have had, so only what both say is compared there.
func (s *Search) differs(had, wanted deployment.Deployment, slo analysis.SLO) string {
	for _, f := range []struct {
		name, had, wanted string
	}{
		{"GPU", had.GPU, wanted.GPU},
		{"model", had.CatalogModel, wanted.CatalogModel},
		{"format of the weights", had.Quantization, wanted.Quantization},
		{"format of the KV cache", had.KVCacheDtype, wanted.KVCacheDtype},
		{"engine", had.Engine, wanted.Engine},
		{"tensor parallel size", fmt.Sprint(max(had.TensorParallelSize, 1)), fmt.Sprint(max(wanted.TensorParallelSize, 1))},
		{"data parallel size", fmt.Sprint(max(had.DataParallelSize, 1)), fmt.Sprint(max(wanted.DataParallelSize, 1))},
		{"expert parallel size", fmt.Sprint(max(had.ExpertParallelSize, 1)), fmt.Sprint(max(wanted.ExpertParallelSize, 1))},
	} {
		if f.had != f.wanted {
			return fmt.Sprintf("the newest is of another %s, %s", f.name, f.had)
		}
	}
	if a, b := s.asked.Deployment.EngineVersion, wanted.EngineVersion; a != "" && b != "" && a != b {
		return fmt.Sprintf("the newest is of version %s of %s", a, had.Engine)
	}
	for _, limit := range []struct {
		name             string
		said, had, other int
	}{{"max_num_seqs", s.asked.Deployment.MaxNumSeqs, had.MaxNumSeqs, wanted.MaxNumSeqs},
		{"max_num_batched_tokens", s.asked.Deployment.MaxNumBatchedTokens, had.MaxNumBatchedTokens, wanted.MaxNumBatchedTokens}} {
		if limit.said != 0 && limit.had != limit.other {
			return fmt.Sprintf("the newest has a %s of %d", limit.name, limit.had)
		}
	}
	if !isSame(s.inSecondSchema().SearchedLatencies(), slo.SearchedLatencies()) {
		return "the newest is for other objectives"
	}
	return ""
}

// inSecondSchema is the search's SLO with words of the first schema translated: there ttft and e2e began when a request was due.
func (s *Search) inSecondSchema() analysis.SLO {
	slo := s.asked.SLO
	if slo.Schema != "tidemark.slo/1" {
		return slo
	}
	slo.Objectives = slices.Clone(slo.Objectives)
	for i, o := range slo.Objectives {
		if o.Metric == "ttft" || o.Metric == "e2e" {
			slo.Objectives[i].Metric += "_from_due"
		}
	}
	return slo
}

// isSame says that two lists hold the same bounds, in any order.
func isSame(a, b []capacity.Objective) bool {
	key := func(o capacity.Objective) string {
		return fmt.Sprintf("%s %.6g %s %.6g", o.Metric, o.Quantile, o.Class, o.AtMost)
	}
	keys := func(all []capacity.Objective) (keys []string) {
		for _, o := range all {
			keys = append(keys, key(o))
		}
		slices.Sort(keys)
		return keys
	}
	return slices.Equal(keys(a), keys(b))
}

// mostOfWindow bounds the requests of a window that is read: whole sessions are kept of a larger one.
const mostOfWindow = 20_000

// read takes the curve and the runs of the search, and the requests of its window where their source is still there.
func (s *Search) read(ctx context.Context, db *sql.DB) error {
	if err := s.readCurve(ctx, db); err != nil {
		return err
	}
	requests, err := s.arrivals(ctx, db)
	if err == nil && len(requests) == 0 {
		requests, err = s.drawn(ctx, db)
	}
	if err != nil {
		return err
	}
	if len(requests) == 0 {
		return nil
	}
	window := Shape{Requests: requests, Span: plan.FromSeconds(s.untilS - s.fromS), IsWindow: true}.usable()
	if n := float64(len(window.Requests)); n > mostOfWindow {
		window.Requests = slices.DeleteFunc(window.Requests, func(r plan.Request) bool { return !isKept(&r, mostOfWindow/n) })
	}
	if len(window.Requests) > 0 {
		s.Window = &window
	}
	return nil
}

// arrivals of the window, due from its start.
func (s *Search) arrivals(ctx context.Context, db *sql.DB) ([]plan.Request, error) {
	var all []plan.Request
	err := warehouse.Each(ctx, db, `
select
    arrivals.offset_s,
    coalesce(arrivals.input_tokens, 0),
    coalesce(arrivals.output_tokens, 0),
    coalesce(arrivals.session_id, ''),
    coalesce(arrivals.turn, 0),
    coalesce(arrivals.class, ''),
    coalesce(arrivals.block_tokens, 0),
    coalesce(to_json(arrivals.blocks)::varchar, '[]')
from staging.arrivals
inner join staging.sources using (source_id)
where sources.sha256 = $1
    and sources.source_name = $2
    and arrivals.offset_s >= $3
    and arrivals.offset_s < $4
order by arrivals.seq`, []any{s.sourceSHA256, s.SourceName, s.fromS, s.untilS}, func(scan func(...any) error) error {
		var r plan.Request
		var offset float64
		var blocks string
		if err := scan(&offset, &r.InputTokens, &r.OutputTokens, &r.Session, &r.Turn, &r.Class, &r.BlockTokens, &blocks); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(blocks), &r.Blocks); err != nil {
			return err
		}
		r.Seq, r.Due = int64(len(all)), plan.FromSeconds(offset-s.fromS)
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search %s: its window: %w", s.ID, err)
	}
	return all, nil
}

// drawn is the window of a source of histograms, drawn as a plan draws it.
func (s *Search) drawn(ctx context.Context, db *sql.DB) ([]plan.Request, error) {
	isHistogram, err := workload.IsHistogram(ctx, db, s.SourceName)
	if err != nil || !isHistogram {
		return nil, err
	}
	perS := s.WindowPerS * float64(s.replicas)
	window := workload.Window{From: fmt.Sprintf("+%gs", s.fromS), Until: fmt.Sprintf("+%gs", s.untilS)}
	drawn, sampled, err := workload.Sample(ctx, db, s.SourceName, window, workload.SampleOptions{Seed: 1, RatePerS: perS, Duration: plan.FromSeconds(s.untilS - s.fromS)})
	if err != nil || sampled.Stats.SHA256 != s.sourceSHA256 {
		return nil, nil // another source has the name now, or it has no such window
	}
	var all []plan.Request
	for r, err := range drawn {
		if err != nil {
			return nil, fmt.Errorf("search %s: its window: %w", s.ID, err)
		}
		if all = append(all, r); len(all) > 10*mostOfWindow {
			return nil, errors.New("search " + s.ID + ": its window draws too many requests")
		}
	}
	return all, nil
}

// readCurve reads the share of misses over the rate of one replica, and the runs.
func (s *Search) readCurve(ctx context.Context, db *sql.DB) error {
	err := warehouse.Each(ctx, db, `
select
    '' as run_id,
    scale,
    missed_ratio,
    low_missed_ratio,
    high_missed_ratio,
    true as is_valid
from marts.capacity_curves
where search_id = $1
    and source_id = $2
union all
select
    run_id,
    scale,
    missed_ratio,
    null,
    null,
    is_valid
from marts.capacity_runs
where search_id = $1
    and source_id = $2
    and missed_ratio is not null
    and (is_of_binding or not is_valid)
order by
    run_id,
    scale`, []any{s.ID, s.sourceID}, func(scan func(...any) error) error {
		var run string
		var scale, missed float64
		var low, high sql.NullFloat64
		var isValid bool
		if err := scan(&run, &scale, &missed, &low, &high, &isValid); err != nil {
			return err
		}
		at := Share{PerS: scale * s.WindowPerS, Missed: missed, Low: missed, High: missed}
		if run != "" {
			s.Points = append(s.Points, Point{at, isValid, run})
			return nil
		}
		if low.Valid && high.Valid {
			at.Low, at.High = low.Float64, high.Float64
		}
		s.Curve = append(s.Curve, at)
		return nil
	})
	if err != nil {
		return fmt.Errorf("search %s: its curve: %w", s.ID, err)
	}
	return nil
}
