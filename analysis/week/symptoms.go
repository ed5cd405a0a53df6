package week

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// Symptoms of a week: the rules of a diagnosis applied to the figures of every hour. A figure that no metric of the hour tells fires nothing, so
// a rule that needs a figure which only a run has, such as the client's lateness, is not looked for.
//
// A quantile is known to its bucket. The figure is the bucket's lower bound: all rules ask whether a latency is too long, and only that is
// certain.

// Symptoms looks for all symptoms in all hours. It reads the report's Hours, Felt and Steps, which must be filled already; servers may be empty.
// looked is how many symptoms could be looked for in one hour at least.
func Symptoms(ctx context.Context, db *sql.DB, servers []ServerHour, r *Report, d deployment.Deployment) (found []Symptom, looked int, err error) {
	rules, err := readRules(ctx, db)
	if err != nil {
		return nil, 0, err
	}
	resolved, err := analysis.Resolve(ctx, db, d)
	var mistake *hint.Error
	if err != nil && !errors.As(err, &mistake) {
		return nil, 0, err
	}
	if err != nil { // a deployment that the catalogue does not know has no limits that could be looked at
		resolved = d
	}
	zone, err := time.LoadLocation(r.TimeZone)
	if err != nil {
		return nil, 0, fmt.Errorf("symptoms: time zone %s: %w", r.TimeZone, err)
	}
	found, looked = symptomsOf(rules, figuresOf(servers, r, resolved), zone)
	return found, looked, nil
}

// hourFigures are the figures of one hour, by their names in seeds.evidence_figures.
type hourFigures struct {
	start     time.Time
	figures   map[string]float64
	slowest   string // GPU; empty: not known
	isBroken  bool   // production broke the SLO
	isTooFew  bool   // more replicas were needed than paid for, by capacity’s low end
	needKnown bool
}

// figuresOf are the figures of all hours of the report of which anything is known.
func figuresOf(servers []ServerHour, r *Report, d deployment.Deployment) []hourFigures {
	places := map[int64]int{}
	all := make([]hourFigures, len(r.Hours))
	for i, h := range r.Hours {
		places[h.Start.Unix()] = i
		all[i] = hourFigures{start: h.Start, figures: map[string]float64{}, needKnown: h.HighNeeded != nil}
		all[i].isTooFew = h.HighNeeded != nil && *h.HighNeeded > h.PaidReplicas
	}
	for _, s := range servers {
		if i, isKnown := places[s.Start.Unix()]; isKnown {
			all[i].server(s, d)
		}
	}
	for _, s := range r.Steps {
		if i, isKnown := places[s.Start.Unix()]; isKnown {
			all[i].step(s)
		}
	}
	for _, f := range r.Felt {
		if i, isKnown := places[f.Start.Unix()]; isKnown {
			all[i].felt(f, r.Hours[i])
		}
	}
	for i := range all {
		if len(all[i].figures) > 0 {
			all[i].figures["tensor_parallel"] = float64(max(d.TensorParallelSize, 1))
		}
	}
	return slices.DeleteFunc(all, func(h hourFigures) bool { return len(h.figures) == 0 })
}

// server adds what the engines and their GPUs say.
func (h *hourFigures) server(s ServerHour, d deployment.Deployment) {
	put := func(name, above, below string) {
		if value, isKnown := s.ratio(above, below); isKnown {
			h.figures[name] = value
		}
	}
	same := func(name, column string) {
		if value, isKnown := s.Sums[column]; isKnown {
			h.figures[name] = value
		}
	}
	same("kv_usage_max_ratio", "max_kv_used_ratio")
	same("preemptions", "preemptions")
	same("server_rejections", "rejections")
	same("requests_rejected", "rejections") // the engine's own answer 503
	same("max_queue_depth", "max_waiting")
	put("queue_depth", "waiting", "waiting_looks")
	put("queued_ratio", "queued_looks", "waiting_looks")
	put("running_while_queued", "running_while_queued", "queued_looks")
	put("batch_size_avg", "running", "engine_looks")
	if kept, isKnown := s.ratio("accepted_tokens", "drafts"); isKnown {
		h.figures["acceptance_length"] = 1 + kept
	}
	if d.MaxNumSeqs > 0 {
		h.figures["slots"] = float64(d.MaxNumSeqs)
	}
	h.climb(s.Waiting)
	h.gpus(s.GPUs)
}

// twoSided is the 97.5th percentile of Student's t with two degrees of freedom: four quarters less two.
const twoSided = 4.303

// climb adds how an engine's queue grows, by a straight line through its four quarters; growth is over their hour.
func (h *hourFigures) climb(waiting []float64) {
	if len(waiting) != 4 {
		return
	}
	usual := 0.0
	for _, w := range waiting {
		usual += w / 4
	}
	var slope, left float64 // per quarter; squares around the line
	const spread = 5.0      // of -1.5, -0.5, 0.5, 1.5, squared and summed
	for i, w := range waiting {
		slope += (float64(i) - 1.5) * (w - usual) / spread
	}
	for i, w := range waiting {
		off := w - usual - slope*(float64(i)-1.5)
		left += off * off
	}
	low := slope - twoSided*math.Sqrt(left/2/spread)
	h.figures["queue_low_slope_per_s"], h.figures["queue_growth"], h.figures["queue_growth_ratio"] = low/900, 4*slope, 0
	if usual > 0 {
		h.figures["queue_growth_ratio"] = 4 * slope / usual
	}
}

// gpus adds what the GPUs say. Clocks are compared among those of the commonest memory clock: others are of another kind.
func (h *hourFigures) gpus(all []gpuHour) {
	kinds := map[float64]int{}
	commonest := 0.0
	for _, g := range all {
		if g.ClockHz == nil {
			continue
		}
		kind := 0.0
		if g.MemoryHz != nil {
			kind = *g.MemoryHz
		}
		kinds[kind]++
		if kinds[kind] > kinds[commonest] || kinds[kind] == kinds[commonest] && kind > commonest {
			commonest = kind
		}
	}
	var dram, throttled mean
	var gpus, slowest, fastest float64
	for _, g := range all {
		dram.add(g.DRAMActive)
		throttled.add(g.Throttled)
		if g.Temperature != nil {
			h.figures["max_temperature_c"] = max(h.figures["max_temperature_c"], *g.Temperature)
		}
		if g.ClockHz == nil || g.MemoryHz != nil && *g.MemoryHz != commonest || g.MemoryHz == nil && commonest != 0 {
			continue
		}
		gpus++
		fastest = max(fastest, *g.ClockHz)
		if slowest == 0 || *g.ClockHz < slowest {
			slowest, h.slowest = *g.ClockHz, g.Name
		}
	}
	if gpus > 0 && fastest > 0 {
		h.figures["gpus"], h.figures["slowest_clock_ratio"] = gpus, slowest/fastest
	}
	if dram.n > 0 {
		h.figures["dram_active_ratio"] = dram.sum / dram.n
	}
	if throttled.n > 0 {
		h.figures["throttled_ratio"] = throttled.sum / throttled.n
	}
}

// mean of the values that are known.
type mean struct{ sum, n float64 }

func (m *mean) add(value *float64) {
	if value != nil {
		m.sum, m.n = m.sum+*value, m.n+1
	}
}

// step adds the time per token beside its prediction.
func (h *hourFigures) step(s StepTime) {
	h.figures["tpot_s"], h.figures["mean_batch"] = s.Measured, s.Running
	h.figures["slowdown_ratio"] = s.ratio()
	h.figures["band_high_ratio"], h.figures["band_low_ratio"] = s.High/s.Predicted, s.Low/s.Predicted
	h.figures["floor_share_ratio"], h.figures["predicted_floor_share_ratio"] = s.Floor/s.Measured, s.Floor/s.Predicted
	h.figures["memory_term_ratio"] = (s.term("weights") + s.term("experts") + s.term("kv")) / s.Predicted
	h.figures["prefill_term_ratio"] = s.term("prefill") / s.Predicted
	h.figures["allreduce_term_ratio"] = s.term("allreduce") / s.Predicted
}

// felt adds what users felt.
func (h *hourFigures) felt(f Felt, hour Hour) {
	h.isBroken = h.isBroken || f.IsBroken
	switch f.Metric {
	case "ttft":
		if f.P50 != nil {
			h.figures["p50_ttft_s"] = f.P50.Low
		}
		if f.P99 != nil {
			h.figures["p99_ttft_s"] = f.P99.Low
			if f.P50 != nil && f.P50.High != nil && *f.P50.High > 0 {
				h.figures["ttft_tail_ratio"] = f.P99.Low / *f.P50.High
			}
		}
		requests := float64(f.Count)
		if hour.Requests != nil {
			requests = float64(*hour.Requests)
		}
		if f.Errors != nil && requests > 0 {
			h.figures["failed_ratio"] = min(1, *f.Errors*3600/requests)
		}
		if _, isKnown := h.figures["requests_rejected"]; !isKnown && f.Rejected != nil {
			h.figures["requests_rejected"] = *f.Rejected * 3600
		}
	case "tpot":
		if f.Limit != nil {
			h.figures["tpot_objectives_missed"] = map[bool]float64{true: 1}[f.IsBroken]
		}
	case "queue":
		if _, isKnown := h.figures["queue_depth"]; !isKnown && f.Waiting != nil {
			h.figures["queue_depth"] = *f.Waiting
		}
		if _, isKnown := h.figures["preemptions"]; !isKnown && f.Preempt != nil {
			h.figures["preemptions"] = *f.Preempt * 3600
		}
	}
}

// moreGPUs are the symptoms of load: with more replicas each has less of it.
var moreGPUs = []string{"overload", "rejected", "preemption", "kv_full", "slot_limited"}

// symptomsOf gathers what fired in the hours. The gravest come first: what broke the SLO, then by the order in which symptoms are read.
func symptomsOf(rules []rule, hours []hourFigures, zone *time.Location) (found []Symptom, looked int) {
	isLooked := map[string]bool{}
	places := map[string]int{}
	seq := map[string]int{}
	strongest := map[string]float64{}
	for _, h := range hours {
		for _, one := range rules {
			isLooked[one.symptom] = isLooked[one.symptom] || one.canBeLookedFor(h.figures)
		}
		for _, one := range firing(rules, h.figures) {
			at, isKnown := places[one.symptom]
			if !isKnown {
				at = len(found)
				places[one.symptom], seq[one.symptom] = at, one.seq
				found = append(found, Symptom{Name: one.title, Symptom: one.symptom, First: &h.start, Try: one.firstTry})
			}
			s := &found[at]
			s.Last = &h.start
			s.Hours++
			s.IsBroken = s.IsBroken || h.isBroken
			// GPUs would have helped against load, unless what was paid for was enough in each of the hours.
			s.IsForGPUs = s.IsForGPUs || slices.Contains(moreGPUs, one.symptom) && (h.isTooFew || !h.needKnown)
			if strength := one.strength(h.figures); !isKnown || strength > strongest[one.symptom] {
				strongest[one.symptom] = strength
				s.Found, s.Confirmed = h.evidence(one, zone), one.confirmed(h.figures)
			}
		}
	}
	for _, could := range isLooked {
		if could {
			looked++
		}
	}
	slices.SortStableFunc(found, func(a, b Symptom) int {
		if a.IsBroken != b.IsBroken {
			return map[bool]int{true: -1, false: 1}[a.IsBroken]
		}
		return cmp.Or(cmp.Compare(seq[a.Symptom], seq[b.Symptom]), cmp.Compare(a.Symptom, b.Symptom))
	})
	return found, looked
}

// strength is how far beyond its bound the first condition is: the hour in which it is largest is told.
func (r rule) strength(figures map[string]float64) float64 {
	for _, c := range r.fired(figures) {
		value, limit := figures[c.figure], c.limit(figures)
		if value == limit {
			return 0
		}
		return math.Abs(value-limit) / max(math.Abs(limit), 1e-9)
	}
	return 0
}

// evidence is the figures that fired a rule, with the hour.
func (h hourFigures) evidence(r rule, zone *time.Location) string {
	text := h.start.In(zone).Format("Mon 15:04") + ": "
	for i, c := range r.fired(h.figures) {
		if i > 0 {
			text += "; "
		}
		text += c.told(h.figures)
	}
	if r.symptom == "one_gpu_slow" && h.slowest != "" {
		text += "; the slowest is " + h.slowest
	}
	return text
}
