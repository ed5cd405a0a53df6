package tune

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/engine"
	"tidemark/internal/hint"
	"tidemark/internal/parallel"
	"tidemark/replay/plan"
)

// Stage one. Every candidate is first rehearsed shortly: on the busiest minute of the window, with few draws. Those near the best of their
// price are then asked about by capacity.Rehearse, with the question that the verb capacity asks, so that both say one number.
//
// Most candidates of a large space cannot be told apart: a limit that is never reached changes nothing. So the largest limits are played
// first, and what was reached a little above the largest rate is kept; the result is that of every candidate whose limits lie beyond.

const (
	shortWindow = time.Minute
	shortPlays  = 1    // requests asked for at a point: two draws, the least
	nearBest    = 0.08 // of the best short rate: these are rehearsed in full
	mostFull    = 12   // of one price
)

// isBase is why a combination is left out that the baseline is already.
const isBase = "is the deployment itself"

// Row is a candidate with what stage one says of it.
type Row struct {
	Candidate
	Why   string  // why it is rejected; empty: it is not
	Short float64 // rate of the short rehearsal, requests/s: to rank by, not to plan with
	Class int     // those of one class cannot be told apart by the engine
	Full  *capacity.Answer

	RatePerS      float64  // of Full; 0: none
	USDPerHour    float64  // 0: no price is known
	USDPerMillion *float64 // accepted output tokens, at that rate
	IsOnFront     bool
	IsKnee        bool
}

// Modelled is a candidate's engine, asked of the caller.
type Modelled struct {
	Question   capacity.Question // the verb capacity's for this candidate
	USDPerHour float64
	Why        string // it does not fit
}

// Told hears of progress: shortly, over groups of candidates that only differ in limits, then in full.
type Told func(doing string, done, of int)

// variant is a candidate while it is ranked.
type variant struct {
	row *Row
	q   capacity.Question
}

// Rehearse ranks candidates. The order of the rows is that of the candidates. bands is asked once how far real servers may be from the
// model, for those that are rehearsed in full. told hears how many rehearsals are done, of how many; one goroutine at a time calls it.
func (f File) Rehearse(ctx context.Context, candidates []Candidate, model func(i int, c *Candidate) (Modelled, error), bands func([]Candidate) ([]float64, error), told Told) ([]Row, error) {
	rows := make([]Row, len(candidates))
	groups := map[string][]variant{}
	var order []string
	seen := map[string]bool{}
	valid := 0
	var shares *bool // the traffic, which is the same for all, shares prefixes
	for i, c := range candidates {
		m, err := model(i, &c)
		if err != nil {
			return nil, err
		}
		rows[i] = Row{Candidate: c, Why: m.Why, USDPerHour: m.USDPerHour}
		r := &rows[i]
		if broken := c.breaks(f.Constraints); r.Why == "" && broken != "" {
			r.Why = "breaks " + broken
		}
		if key := fmt.Sprintf("%+v %t %v", c.Deployment, c.IsCached, c.unknown()); r.Why == "" && seen[key] {
			r.Why = isBase
		} else {
			seen[key] = true
		}
		if r.Why == "" {
			r.Why = DoesNotStart(m.Question.Twin.Engine)
		}
		if r.Why != "" {
			continue
		}
		if !c.IsBaseline {
			valid++
		}
		if shares == nil {
			shares = new(bool)
			*shares = repeats(m.Question.Window)
		}
		key := groupOf(c, *shares)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], variant{r, m.Question})
	}
	if valid == 0 && !f.wasRanged {
		return nil, f.noneValid(rows)
	}
	if err := shorten(ctx, order, groups, told); err != nil {
		return nil, err
	}
	if err := fully(ctx, order, groups, bands, told); err != nil {
		return nil, err
	}
	price(groups)
	f.markFront(rows)
	return rows, nil
}

// DoesNotStart is why an engine refuses its settings; empty: it does not.
func DoesNotStart(e engine.Config) string {
	if e.MaxNumBatchedTokens > 0 && e.MaxNumBatchedTokens < e.MaxNumSeqs {
		return "does not start: max_num_batched_tokens is below max_num_seqs"
	}
	return ""
}

// unknown are the values of knobs that no model knows: a server can tell them apart.
func (c Candidate) unknown() (values []string) {
	for i, k := range c.knobs {
		if k.field == nil && k.Name != caching {
			values = append(values, c.Values[i])
		}
	}
	return values
}

// groupOf is the name of all that share a step cost and, where that matters, a prefix cache: within it only limits differ. The largest
// captured graph follows from max_num_seqs where that is small.
func groupOf(c Candidate, sharesPrefixes bool) string {
	d := c.Deployment
	graph := min(d.MaxNumSeqs, 256)
	d.MaxNumSeqs, d.MaxNumBatchedTokens, d.GPUMemoryUtilization = 0, 0, 0
	return fmt.Sprintf("%+v %t %d", d, c.IsCached && sharesPrefixes, graph)
}

func (f File) noneValid(rows []Row) error {
	counts := map[string]int{}
	for _, r := range rows {
		if r.Why != isBase && !r.IsBaseline {
			counts[r.Why]++
		}
	}
	why := "every combination is the deployment itself"
	for _, one := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Compare(counts[b], counts[a]) }) {
		why = fmt.Sprintf("%d of %d: %s", counts[one], len(rows)-1, one)
		break
	}
	return hint.Misuse("tune: line %d: space: no valid candidate: %s", f.spaceLine, why).Hint("other values, or a weaker constraint")
}

// reached is the most of each limit that steps used.
type reached struct{ sequences, tokens, kvTokens int }

// watched has a twin note what its steps reach. The longest request is counted for each prompt in a step, and for two that wait for room.
func watched(q capacity.Question, into *reached) capacity.Question {
	longest := 0
	for _, r := range q.Window {
		longest = max(longest, r.InputTokens+r.OutputTokens+16)
	}
	inner := q.Twin.StepTime
	q.Twin.StepTime = func(s capacity.Shift) func(engine.Step) time.Duration {
		step := inner(s)
		return func(at engine.Step) time.Duration {
			into.sequences = max(into.sequences, at.DecodeSequences+at.PrefillChunks)
			into.tokens = max(into.tokens, at.DecodeSequences+at.PrefillTokens)
			into.kvTokens = max(into.kvTokens, int(at.ContextTokens)+16*at.DecodeSequences+(at.PrefillChunks+2)*longest)
			return step(at)
		}
	}
	return q
}

// areAlike says that two engines of one group play alike: each limit is the same, or beyond what was reached. Of traffic that shares prefixes
// a larger KV cache always holds more.
func (r reached) areAlike(a, b engine.Config, sharesPrefixes bool) bool {
	return (a.MaxNumSeqs == b.MaxNumSeqs || r.sequences < min(a.MaxNumSeqs, b.MaxNumSeqs)) &&
		(a.MaxNumBatchedTokens == b.MaxNumBatchedTokens || r.tokens < min(a.MaxNumBatchedTokens, b.MaxNumBatchedTokens)) &&
		(a.KVBlocks == b.KVBlocks || !sharesPrefixes && r.kvTokens < min(a.KVTokens(), b.KVTokens()))
}

// shorten fills in Short and Class, groups in parallel.
func shorten(ctx context.Context, order []string, groups map[string][]variant, told Told) error {
	first := make([]int, len(order)) // class of each group
	for i := range order[1:] {
		first[i+1] = first[i] + len(groups[order[i]])
	}
	return parallel.Told(len(order), told.of("ranking groups of candidates"), func(i int) error { return shortenGroup(ctx, groups[order[i]], first[i]) })
}

func (t Told) of(doing string) func(done, of int) {
	return func(done, of int) { t(doing, done, of) }
}

func shortenGroup(ctx context.Context, group []variant, class int) error {
	largest := slices.Clone(group)
	slices.SortStableFunc(largest, func(a, b variant) int {
		x, y := a.q.Twin.Engine, b.q.Twin.Engine
		return cmp.Or(cmp.Compare(y.KVBlocks, x.KVBlocks), cmp.Compare(y.MaxNumSeqs, x.MaxNumSeqs), cmp.Compare(y.MaxNumBatchedTokens, x.MaxNumBatchedTokens))
	})
	sharesPrefixes := group[0].row.IsCached && repeats(group[0].q.Window)
	isDone := make([]bool, len(largest))
	guess := 0.0
	for i, v := range largest {
		if isDone[i] {
			continue
		}
		rate, ln, most, err := short(ctx, v.q, guess)
		if err != nil {
			return err
		}
		if !math.IsInf(ln, 0) {
			guess = ln
		}
		for j := i; j < len(largest); j++ {
			if isDone[j] || !most.areAlike(v.q.Twin.Engine, largest[j].q.Twin.Engine, sharesPrefixes) {
				continue
			}
			isDone[j] = true
			largest[j].row.Short, largest[j].row.Class = rate, class+i
		}
	}
	return nil
}

// repeats says that two requests have a block in common, so that what a prefix cache holds matters.
func repeats(requests []plan.Request) bool {
	seen := map[uint64]bool{}
	for _, r := range requests {
		for _, block := range r.Blocks {
			if seen[block] {
				return true
			}
			seen[block] = true
		}
	}
	return false
}

// short is the largest rate of the busiest minute by two draws, and what steps reached a little above it, in the whole window.
func short(ctx context.Context, whole capacity.Question, guess float64) (rate, ln float64, most reached, err error) {
	q := whole
	if w := capacity.BusiestWindow(q.Window, shortWindow, q.Mode == "sessions"); w.Until > 0 && q.Length > shortWindow+shortWindow/5 {
		q.Window, w, _ = w.Cut(q.Window, q.Mode == "sessions")
		q.Length = w.Length()
	}
	perScale := float64(len(q.Window)) / q.Length.Seconds()
	limits, err := capacity.NewLimits(ctx, q, shortPlays)
	if err != nil {
		return 0, 0, most, err
	}
	at, err := limits.At(capacity.Shift{}, guess, false)
	if err != nil || math.IsInf(at.Ln, 0) {
		if at.Ln > 0 {
			rate = limits.MostScale() * perScale
		}
		return rate, at.Ln, reached{math.MaxInt, math.MaxInt, math.MaxInt}, err
	}
	looked, err := capacity.NewLimits(ctx, watched(whole, &most), shortPlays)
	if err != nil {
		return 0, 0, most, err
	}
	_, err = looked.Missed(capacity.Shift{}, at.Objective, at.Ln+0.05)
	return math.Exp(at.Ln) * perScale, at.Ln, most, err
}

// fully rehearses the baseline, and of each price the classes near its best.
func fully(ctx context.Context, order []string, groups map[string][]variant, bands func([]Candidate) ([]float64, error), told Told) error {
	best := map[float64]float64{}
	classes := map[int]variant{}
	var baseline *variant
	for _, key := range order {
		for _, v := range groups[key] {
			best[v.row.USDPerHour] = max(best[v.row.USDPerHour], v.row.Short)
			if _, isThere := classes[v.row.Class]; !isThere || v.row.IsBaseline {
				classes[v.row.Class] = v
			}
			if v.row.IsBaseline {
				baseline = &v
			}
		}
	}
	byShort := slices.SortedFunc(maps.Keys(classes), func(a, b int) int {
		return cmp.Or(cmp.Compare(classes[b].row.Short, classes[a].row.Short), cmp.Compare(a, b))
	})
	taken := map[float64]int{}
	var chosen []int
	for _, class := range byShort {
		r := classes[class].row
		isNear := r.Short >= (1-nearBest)*best[r.USDPerHour] && taken[r.USDPerHour] < mostFull
		if isNear || baseline != nil && class == baseline.row.Class {
			taken[r.USDPerHour]++
			chosen = append(chosen, class)
		}
	}
	named := make([]Candidate, len(chosen))
	for i, class := range chosen {
		named[i] = classes[class].row.Candidate
	}
	band, err := bands(named)
	if err != nil {
		return err
	}
	answers := make([]capacity.Answer, len(chosen))
	err = parallel.Told(len(chosen), told.of("rehearsing the best"), func(i int) (err error) {
		q := classes[chosen[i]].q
		q.Twin.Band = band[i]
		answers[i], err = capacity.Rehearse(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	for i, class := range chosen {
		for _, group := range groups {
			for _, v := range group {
				if v.row.Class == class {
					v.row.Full = &answers[i]
				}
			}
		}
	}
	return nil
}
