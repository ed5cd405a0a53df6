package ingest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// Steps are joined to a run by its prompts: a step computes prompt tokens shortly before the run receives the first tokens of
// their answers. The offset between both clocks is the one at which most prompt tokens find each other. It is searched where
// both clocks are right to within a minute, whatever the zone of the server's.

// StepJoin says which steps of a source are a run's.
type StepJoin struct {
	RunID        string
	OffsetS      float64 // of the run's beginning, since the source's
	MissingRatio float64 // prompt tokens of the run that no step of their time has, of all
	ForeignRatio float64 // prompt tokens of the steps that are not the run's, of all
	ApartS       float64 // mean distance from a step to the first token of its prompts
	Steps        int64

	beginS, endS float64 // of its steps, since the run began
}

// String says how well the join fits.
func (j StepJoin) String() string {
	said := fmt.Sprintf("%s of run %s, which began %.1f s after the first line: %s of its prompt tokens are in a step of their time, %.2f s from the first token in the mean",
		show.Things(j.Steps, "step", "steps"), j.RunID, j.OffsetS, percent(1-j.MissingRatio), math.Abs(j.ApartS))
	if j.ForeignRatio > mostForeign {
		said += fmt.Sprintf("; %s of the steps' prompt tokens are of others, so that contexts are not known", percent(j.ForeignRatio))
	}
	return said
}

func percent(ratio float64) string { return fmt.Sprintf("%.3g %%", 100*ratio) }

const (
	mostMissing = 0.1  // of the run's prompt tokens
	mostOthers  = 0.5  // of the steps' prompt tokens, where the server is not known to be shared
	mostForeign = 0.05 // up to here the run's own requests say what decoded
	earliestS   = 1.0  // a first token may come so much before its step, whose instant may be a whole second
	latestS     = 3.0  // and so much after it, where an API server sends many at once
	mostSkewS   = 60.0 // between clocks that are both right
	clockStepS  = 0.25 // to which both are compared
)

// flow are prompt tokens over time, in order.
type flow struct {
	atS, tokens []float64
	upTo        []float64 // sums of tokens before each
}

func (f *flow) add(atS, tokens float64) {
	f.atS, f.tokens, f.upTo = append(f.atS, atS), append(f.tokens, tokens), append(f.upTo, f.sum())
}

func (f *flow) sum() float64 {
	if n := len(f.tokens); n > 0 {
		return f.upTo[n-1] + f.tokens[n-1]
	}
	return 0
}

// sort puts the tokens of several sources in order.
func (f *flow) sort() {
	order := make([]int, len(f.atS))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.atS[a], f.atS[b]) })
	sorted := flow{}
	for _, i := range order {
		sorted.add(f.atS[i], f.tokens[i])
	}
	*f = sorted
}

// between sums the tokens from one instant to another.
func (f *flow) between(fromS, untilS float64) float64 {
	before := func(atS float64) float64 {
		if i := sort.SearchFloat64s(f.atS, atS); i < len(f.upTo) {
			return f.upTo[i]
		}
		return f.sum()
	}
	return before(untilS) - before(fromS)
}

// fit compares the run's prompts with the steps at one offset: each token of the run takes the earliest token of the steps that is near
// enough, which leaves the fewest without one.
func fit(steps, run *flow, offsetS float64) (j StepJoin) {
	first, last := run.atS[0]+offsetS-earliestS, run.atS[len(run.atS)-1]+offsetS+earliestS
	i := sort.SearchFloat64s(steps.atS, run.atS[0]+offsetS-latestS)
	var found, apart, left float64
	if i < len(steps.atS) {
		left = steps.tokens[i]
	}
	for k := range run.atS {
		atS, wanted := run.atS[k]+offsetS, run.tokens[k]
		for wanted > 0 && i < len(steps.atS) && steps.atS[i] <= atS+earliestS {
			if steps.atS[i] >= atS-latestS {
				taken := min(wanted, left)
				wanted, left, found, apart = wanted-taken, left-taken, found+taken, apart+taken*(atS-steps.atS[i])
				if left > 0 {
					break
				}
			}
			if i++; i < len(steps.atS) {
				left = steps.tokens[i]
			}
		}
	}
	j.OffsetS, j.MissingRatio, j.ForeignRatio = offsetS, 1-found/run.sum(), 1
	if found > 0 {
		j.ApartS = apart / found
		j.ForeignRatio = max(0, 1-found/max(found, steps.between(first-latestS/2, last)))
	}
	return j
}

// JoinSteps finds when runs were in the steps of sources, and keeps it. Several sources are those of a run's several servers, or
// the parts of one trace. What is kept of the runs is computed again.
func JoinSteps(ctx context.Context, w *warehouse.Warehouse, names, runIDs []string) (joins []StepJoin, err error) {
	s, err := stepsOf(ctx, w.DB(), names)
	if err != nil {
		return nil, err
	}
	for _, runID := range runIDs {
		r, err := promptsOf(ctx, w.DB(), runID)
		if err != nil {
			return nil, err
		}
		j, err := s.place(r)
		if err != nil {
			return nil, fmt.Errorf("steps of %s: %w", strings.Join(names, ", "), err)
		}
		joins = append(joins, j)
	}
	err = warehouse.Sparingly(ctx, w.DB(), func(ctx context.Context) error {
		return w.Write(ctx, func(tx *warehouse.Tx) error {
			for i := range joins {
				if err := s.insert(ctx, tx, &joins[i]); err != nil {
					return err
				}
			}
			return tx.Recompute(ctx, runIDs...)
		})
	})
	return joins, err
}

// insert keeps one join and counts its steps. It takes the place of an earlier one of the run, of other logs too: a join has all of a run's
// steps, and those of another copy of the log would count twice.
func (s *steps) insert(ctx context.Context, tx *warehouse.Tx, j *StepJoin) error {
	j.Steps = 0
	if err := tx.Exec(ctx, "delete from raw.step_joins where run_id = ?", j.RunID); err != nil {
		return err
	}
	for _, source := range s.sources {
		offsetS := j.OffsetS - source.laterS
		var steps int64
		err := tx.QueryRow(ctx, "select count(*) from raw.steps where source_id = ? and at_ns / 1e9 - ? between ? and ? and not is_dummy",
			source.id, offsetS, j.beginS, j.endS).Scan(&steps)
		if err != nil {
			return err
		}
		if steps == 0 {
			continue
		}
		j.Steps += steps
		err = tx.Exec(ctx, "insert into raw.step_joins (run_id, source_id, offset_s, begin_s, end_s, missing_ratio, foreign_ratio) values (?, ?, ?, ?, ?, ?, ?)",
			j.RunID, source.id, offsetS, j.beginS, j.endS, j.MissingRatio, j.ForeignRatio)
		if err != nil {
			return err
		}
	}
	return nil
}

// steps are those of one or several sources, as far as prompts go, on the clock of the first one.
type steps struct {
	sources []stepSource
	prompt  flow
}

// stepSource is one of them.
type stepSource struct {
	id      int64
	isDated bool
	zeroS   float64 // of its clock at its begin: Unix seconds where it is dated, and else seconds of a leap year
	laterS  float64 // that it began after the first
}

func stepsOf(ctx context.Context, db *sql.DB, names []string) (s steps, err error) {
	for _, name := range names {
		if err := s.add(ctx, db, name); err != nil {
			return s, fmt.Errorf("steps of %s: %w", name, err)
		}
	}
	s.prompt.sort()
	return s, nil
}

func (s *steps) add(ctx context.Context, db *sql.DB, name string) error {
	var one stepSource
	var zeroS sql.NullFloat64
	err := db.QueryRowContext(ctx, `
select
    source_id,
    origin_at is not null,
    coalesce(epoch(origin_at), zero_of_year_s::double)
from raw.sources
inner join raw.step_sources using (source_id)
where name = ?`, name).Scan(&one.id, &one.isDated, &zeroS)
	switch {
	case err == sql.ErrNoRows:
		return hint.Errorf("it has none").
			Hint("start vllm serve with --enable-logging-iteration-details, or a Dynamo worker with --fpm-trace, and measure again; without --run the rest of the file is taken in")
	case err != nil:
		return err
	case !zeroS.Valid:
		return hint.Errorf("they have no instants").Hint("take the trace in as Dynamo writes it, with its envelopes")
	}
	one.zeroS = zeroS.Float64
	if len(s.sources) > 0 {
		if one.isDated != s.sources[0].isDated {
			return hint.Errorf("they have a date, and those of another file have none, or the other way round").Hint("name the files one after the other")
		}
		one.laterS = one.zeroS - s.sources[0].zeroS
	}
	s.sources = append(s.sources, one)
	// Stamps of whole seconds stand for the middle of their second.
	return s.prompt.read(ctx, db, `
select
    at_ns // width * width / 1e9 + width / 2e9 + $2,
    sum(prefill_tokens)
from raw.steps
cross join (select case when max(at_ns % 1000000000) = 0 then 1000000000 else 50000000 end as width from raw.steps where source_id = $1) as widths
where source_id = $1
    and prefill_tokens > 0
group by all
order by 1`, one.id, one.laterS)
}

// promptTimes are the prompts that a run saw answered.
type promptTimes struct {
	runID        string
	startedAt    time.Time
	beginS, endS float64
	isShared     bool
	prompt       flow
}

func promptsOf(ctx context.Context, db *sql.DB, runID string) (r promptTimes, err error) {
	r.runID = runID
	var begin, end sql.NullFloat64
	err = db.QueryRowContext(ctx, `
select
    any_value(runs.started_at),
    min(requests.sent_s),
    max(coalesce(requests.done_s, requests.last_token_s)),
    coalesce(any_value(shared.is_shared), false)
from staging.runs
left join staging.requests on requests.run_id = runs.run_id
left join marts.shared_servers as shared on shared.run_id = runs.run_id
where runs.run_id = ?
group by runs.run_id`, runID).Scan(&r.startedAt, &begin, &end, &r.isShared)
	if err == sql.ErrNoRows {
		return r, hint.Misuse("no run %s", runID).Hint(`take its folder in first; "tidemark runs" lists the runs`)
	}
	if err != nil {
		return r, err
	}
	r.beginS, r.endS = begin.Float64, end.Float64
	err = r.prompt.read(ctx, db, `
select
    (floor(first_token_s / $2) + 0.5e0) * $2 as at_s,
    sum(greatest(coalesce(input_tokens_reported, input_tokens) - coalesce(cached_tokens, 0), 1))
from staging.requests
where run_id = $1
    and first_token_s is not null
group by at_s
order by at_s`, runID, clockStepS)
	if err == nil && len(r.prompt.atS) == 0 {
		return r, hint.Errorf("run %s has no first token, by which steps could be found", runID).Hint("see how its requests failed: tidemark diagnose %s", runID)
	}
	return r, err
}

func (f *flow) read(ctx context.Context, db *sql.DB, query string, args ...any) error {
	return warehouse.Each(ctx, db, query, args, func(scan func(...any) error) error {
		var atS, tokens float64
		if err := scan(&atS, &tokens); err != nil {
			return err
		}
		f.add(atS, tokens)
		return nil
	})
}

// place finds the offset at which the run fits best, or says why it fits nowhere.
func (s *steps) place(r promptTimes) (StepJoin, error) {
	if len(s.prompt.atS) == 0 {
		return StepJoin{}, hint.Errorf("no step of it computes a prompt").Hint("take the whole log in")
	}
	best, cost := StepJoin{MissingRatio: 1, ForeignRatio: 1}, math.Inf(1)
	try := func(offsetS, skewS float64) {
		if s.prompt.between(r.prompt.atS[0]+offsetS-latestS, r.prompt.atS[len(r.prompt.atS)-1]+offsetS+latestS) < (1-mostMissing)*r.prompt.sum() && best.MissingRatio < 1 {
			return
		}
		j := fit(&s.prompt, &r.prompt, offsetS)
		paid := j.MissingRatio + 0.05*math.Abs(j.ApartS) + 0.002*math.Abs(skewS)
		if !r.isShared {
			paid += j.ForeignRatio
		}
		if paid < cost {
			best, cost = j, paid
		}
	}
	for _, rightS := range s.offsetsOf(r.startedAt) {
		for skewS := -mostSkewS; skewS <= mostSkewS; skewS += clockStepS {
			try(rightS+skewS, skewS)
		}
		if best.MissingRatio <= mostForeign && best.ForeignRatio <= mostForeign {
			break // the zones are in the order of how likely they are
		}
	}
	best.RunID, best.beginS, best.endS = r.runID, r.beginS-earliestS, r.endS+earliestS
	if best.MissingRatio <= mostMissing && (r.isShared || best.ForeignRatio <= mostOthers) {
		return best, nil
	}
	// For the message: where it would fit, if a clock were wrong.
	nearest := s.offsetsOf(r.startedAt)
	for offsetS := s.prompt.atS[0] - r.prompt.atS[0]; offsetS < s.prompt.atS[len(s.prompt.atS)-1]; offsetS++ {
		try(offsetS, 0)
	}
	skewS := math.Inf(1)
	for _, rightS := range nearest {
		if d := best.OffsetS - rightS; math.Abs(d) < math.Abs(skewS) {
			skewS = d
		}
	}
	said := fmt.Sprintf("they are not those of run %s: where they fit best, %.0f s after the first line, %s of the run's prompt tokens are in no step of their time, and %s of the steps' prompt tokens are not the run's",
		r.runID, best.OffsetS, percent(best.MissingRatio), percent(best.ForeignRatio))
	if math.Abs(skewS) > mostSkewS {
		said += fmt.Sprintf("; the server's clock would be %.0f s off there", skewS)
	}
	return best, hint.Errorf("%s", said).Hint("name the log of the server that the run was sent to, with the time of the run in it")
}

// offsetsOf are the seconds from the source's begin to an instant, for each zone that the source's clock may be in, the likeliest first.
func (s *steps) offsetsOf(at time.Time) []float64 {
	at = at.UTC()
	if s.sources[0].isDated {
		return []float64{float64(at.UnixNano())/1e9 - s.sources[0].zeroS}
	}
	const leapYear = 2024
	ofYear := time.Date(leapYear, at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
	utc := ofYear.Sub(time.Date(leapYear, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds() - s.sources[0].zeroS
	const yearS, quarterS = 366 * dayS, 900
	offsets := []float64{}
	for zone := range 14*4 + 1 {
		for _, sign := range []float64{1, -1} {
			offset := utc + sign*float64(zone)*quarterS
			if offset < -yearS/2 { // the log began before the turn of the year
				offset += yearS
			}
			offsets = append(offsets, offset)
		}
	}
	return offsets
}

const dayS = 86_400
