package analysis

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// CalibrateServer fits what the terms of a time per token cannot tell apart: the constants of a whole server, API server and host with it.
// The requests of the runs are played on the engine model, step by step, and the constants are moved until first tokens and times per token
// come as they were measured. Like every calibration it keeps each constant near its prior, and says which the runs do not tell.
//
// Residuals are logarithms of played over measured, of the figures of each class of requests of each run (calibratefit.go).

// serverConstants are those that a play depends on. spread is the prior: the standard deviation of the logarithm around the constant before.
// What belongs to the machine of the server, and not to its GPU, is free: half and double are nothing unusual. The first has no name: a GPU that
// is slower than the one that constants are of, or has one slow rank, does everything slower, and the constants of the engine go with it.
var serverConstants = []struct {
	term, name string
	spread     float64
	slower     float64                   // how it goes with an engine that is slower: 1 a time, -1 a rate, 0 not at all
	formats    func(d deployed) []string // nil: of any
	scale      func(c *StepCost, factor float64)
}{
	{"", "", 0.1, 1, nil, (*StepCost).slow},
	{"weights", "weight_bandwidth_ratio", 0.06, -1, func(d deployed) []string { return []string{"bf16", d.Quantization} }, func(c *StepCost, f float64) { c.weightsS /= f }},
	{"experts", "expert_time_ratio", 0.12, 1, nil, (*StepCost).scaleExperts},
	{"kv", "kv_bandwidth_ratio", 0.06, -1, func(d deployed) []string { return []string{d.KVCacheDtype} }, func(c *StepCost, f float64) { c.contextS /= f; c.windowS /= f }},
	{"arithmetic", "compute_ratio", 0.1, -1, func(d deployed) []string { return []string{"bf16", d.Compute} }, func(c *StepCost, f float64) {
		c.decodeS, c.prefillS, c.chunkS = c.decodeS/f, c.prefillS/f, c.chunkS/f
	}},
	{"prompts", "attention_compute_ratio", 0.2, -1, nil, func(c *StepCost, f float64) { c.pairS /= f; c.windowedPairS /= f }},
	{"prompts", "mixed_prompt_ratio", 0.15, 0, nil, func(c *StepCost, f float64) { c.mixedPromptRatio *= f }},
	{"prompts", "chunk_s", 0.5, 1, nil, func(c *StepCost, f float64) { c.promptS *= f }},
	{"layers", "layer_s", 0.1, 1, nil, func(c *StepCost, f float64) { c.fixedS *= f }},
	{"launches", "launch_layer_s", 0.5, 1, nil, func(c *StepCost, f float64) { c.launchS *= f }},
	{"sequences", "sequence_s", 0.7, 1, nil, func(c *StepCost, f float64) { c.sequenceS *= f }},
	{"way in", "request_s", 0.5, 0, nil, func(c *StepCost, f float64) { scaleTime(&c.frontend.Way, f) }},
	{"admission", "admission_s", 0.5, 0, nil, func(c *StepCost, f float64) { scaleTime(&c.frontend.Admission, f) }},
	{"admission", "admission_token_s", 0.5, 0, nil, func(c *StepCost, f float64) { scaleTime(&c.frontend.AdmissionToken, f) }},
	{"sending", "send_s", 0.5, 0, nil, func(c *StepCost, f float64) { scaleTime(&c.frontend.Send, f) }},
	{"sending", "send_token_s", 0.5, 0, nil, func(c *StepCost, f float64) { scaleTime(&c.frontend.SendToken, f) }},
	{"sending", "send_crowd_s", 0.5, 0, nil, func(c *StepCost, f float64) { scaleTime(&c.frontend.SendCrowd, f) }},
}

// slow lets all of the engine take so many times as long.
func (c *StepCost) slow(factor float64) {
	for _, s := range []*float64{&c.weightsS, &c.contextS, &c.windowS, &c.decodeS, &c.prefillS, &c.chunkS, &c.pairS, &c.windowedPairS, &c.promptS,
		&c.fixedS, &c.launchS, &c.sequenceS} {
		*s *= factor
	}
	c.scaleExperts(factor)
}

func (c *StepCost) scaleExperts(factor float64) {
	c.expertsS, c.fewExpertsS = slices.Clone(c.expertsS), slices.Clone(c.fewExpertsS)
	for _, curve := range [][]float64{c.expertsS, c.fewExpertsS} {
		for i := range curve {
			curve[i] *= factor
		}
	}
}

// isAs says whether two costs are the same in what serverConstants change.
func (c StepCost) isAs(o StepCost) bool {
	return c.fixedS == o.fixedS && c.sequenceS == o.sequenceS && c.contextS == o.contextS && c.mixedPromptRatio == o.mixedPromptRatio &&
		c.launchS == o.launchS && c.promptS == o.promptS && c.frontend == o.frontend && c.weightsS == o.weightsS && c.prefillS == o.prefillS &&
		c.pairS == o.pairS && slices.Equal(c.expertsS, o.expertsS)
}

func scaleTime(d *time.Duration, factor float64) {
	*d = time.Duration(math.Round(float64(*d) * factor))
}

// Places in playedFigures.
const (
	lateTTFT = 1
	meanTPOT = 3
)

// playedFigures are what a fit compares of a class, and how far each may be off by chance: the deviation of its logarithm. Those of TPOT are means
// of parts: the fastest have the steps without prompts, of which KV is a part, and a mean moves smoothly. So do the halves of bursts' first tokens,
// of which a median jumps where half of a burst just misses a step.
var playedFigures = [...]struct {
	tolerance float64
	of        func(c *classTimes, isClosed bool) float64
}{
	{0.06, func(c *classTimes, isClosed bool) float64 {
		if isClosed {
			return stat.Quantile(c.ttft, 0.5)
		}
		return meanBetween(c.ttft, 0, 0.5)
	}},
	{0.08, func(c *classTimes, isClosed bool) float64 {
		if isClosed {
			return stat.Quantile(c.ttft, 0.9)
		}
		return meanBetween(c.ttft, 0.5, 1)
	}},
	{0.03, func(c *classTimes, _ bool) float64 { return meanBetween(c.tpot, 0, 0.25) }},
	{0.02, func(c *classTimes, _ bool) float64 { return meanBetween(c.tpot, 0, 1) }},
	{0.03, func(c *classTimes, _ bool) float64 { return meanBetween(c.tpot, 0.9, 1) }},
}

// PlayedFigures are the names of the figures of a PlayedClass.
var PlayedFigures = [...]string{"TTFT p50", "TTFT p90", "TPOT mean", "TPOT p95"}

// figures are those, of sorted values.
func (c *classTimes) figures() [len(PlayedFigures)]float64 {
	return [...]float64{stat.Quantile(c.ttft, 0.5), stat.Quantile(c.ttft, 0.9), stat.Mean(c.tpot), stat.Quantile(c.tpot, 0.95)}
}

// meanBetween is the geometric mean of the sorted values between two quantiles.
func meanBetween(sorted []float64, from, to float64) float64 {
	n := float64(len(sorted))
	sum, part := 0.0, sorted[int(from*n):int(math.Ceil(to*n))]
	for _, v := range part {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(part)))
}

// mostOff is the median error above which a fit is none.
const mostOff = 0.3

// leastPlayed is the smallest class of requests whose figures count.
const leastPlayed = 8

// leastAnswer is the shortest answer, in tokens, whose time per token counts: of a shorter one it is mostly how late the first token was.
const leastAnswer = 8

// serverRun is a run to be played: its requests, how they were sent, and what was measured of each class.
type serverRun struct {
	id       string
	closed   int // clients of a closed loop; 0: the requests come when they came
	requests []plan.Request
	isFirst  []bool // warm-up: played, not compared
	measured byClass
	count    int
}

// CalibrateServer fits the constants of a server to runs on it. It stores nothing; Keep does. It refuses what Calibrate refuses.
func CalibrateServer(ctx context.Context, db *sql.DB, runs []string, now time.Time) (Calibration, error) {
	warnings, err := checkRuns(ctx, db, runs)
	if err != nil {
		return Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	read, err := readUncalibrated(ctx, db, runs)
	if err != nil {
		return Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	builtIn := map[string]float64{}
	for name, formats := range read.constants {
		for format, value := range formats {
			builtIn[name+" "+format] = value
		}
	}
	var fit serverFit
	c := Calibration{MadeAt: now.UTC(), Runs: runs, Deployment: read.deployments[0].Deployment, Warnings: warnings}
	for _, run := range runs {
		r, t, err := readServerRun(ctx, db, run)
		if err != nil {
			return c, fmt.Errorf("calibrate: %w", err)
		}
		if len(fit.runs) == 0 {
			if fit.cost, err = loadStepCost(ctx, db, t.Deployment, builtIn); err != nil {
				return c, fmt.Errorf("calibrate: %w", err)
			}
		}
		fit.runs = append(fit.runs, r)
		c.Requests += int64(r.count)
	}
	if err := fit.solve(ctx); err != nil {
		return c, fmt.Errorf("calibrate: %w", err)
	}
	c.Weight = float64(len(fit.before))
	c.Before, c.After = figureError(fit.before), figureError(fit.after)
	c.Constants = fit.constants(read)
	c.Warnings = append(append(c.Warnings, fit.unlikely()...), fit.unplayable()...)
	if c.After.Median > leastOff {
		c.Warnings = append(c.Warnings, fmt.Sprintf(`with these constants the model is still off by %.0f %% of these runs (median), and so are predictions: ask "tidemark diagnose" what is wrong, and calibrate again`, 100*c.After.Median))
	}
	if c.After.Median > mostOff {
		return c, hint.Errorf("calibrate: at its best the model is off by %.0f %% of these runs (median): no constant describes what is wrong", 100*c.After.Median).
			Hint(`ask "tidemark diagnose", and see whether the run's GPU, model and formats are the server's`)
	}
	return c, nil
}

// PlayedClass is what a play of a run says of a class of its requests beside what was measured, seconds.
type PlayedClass struct {
	Class            string
	Measured, Played [len(PlayedFigures)]float64
	P99TTFT          [2]float64 // measured and played
}

// PlayRun plays the requests of a run on the engine model of its deployment. constants, by "name format", come before those of the warehouse.
func PlayRun(ctx context.Context, db *sql.DB, run string, constants map[string]float64) (all []PlayedClass, err error) {
	r, t, err := readServerRun(ctx, db, run)
	if err != nil {
		return nil, err
	}
	cost, err := loadStepCost(ctx, db, t.Deployment, constants)
	if err != nil {
		return nil, err
	}
	played, err := r.play(ctx, cost)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	for _, class := range slices.Sorted(maps.Keys(r.measured)) {
		if played[class] == nil {
			return nil, refusedByModel(run, class)
		}
		late := [2]float64{stat.Quantile(r.measured[class].ttft, 0.99), stat.Quantile(played[class].ttft, 0.99)}
		all = append(all, PlayedClass{class, r.measured[class].figures(), played[class].figures(), late})
	}
	return all, nil
}

// refusedByModel is the error where the model's server has no room for requests that the real one answered.
func refusedByModel(run, class string) error {
	return hint.Errorf("run %s: class %q was answered, and by the model it does not fit into the server's memory", run, class).
		Hint("say what the run really had: its GPU, formats and gpu_memory_utilization")
}

// readServerRun reads what a run sent and saw.
func readServerRun(ctx context.Context, db *sql.DB, run string) (r *serverRun, t RunTraffic, err error) {
	if err := t.readManifest(ctx, db, run); err != nil {
		return nil, t, err
	}
	r = &serverRun{id: run, closed: t.MaxConcurrency, measured: byClass{}}
	err = each(ctx, db, `
select
    sent_s,
    coalesce(input_tokens_reported, input_tokens),
    received_tokens,
    coalesce(cached_tokens, 0),
    coalesce(class, ''),
    coalesce(session_id, ''),
    coalesce(turn, 0),
    is_warm_up,
    ttft_s,
    coalesce(tpot_s, 0)
from staging.requests
where run_id = ?
    and is_success
    and received_tokens > 0
order by
    case when ? > 0 then seq else sent_s end,
    seq`, []any{run, r.closed}, func(scan func(...any) error) error {
		var q plan.Request
		var sentS, first, each float64
		var isFirst bool
		err := scan(&sentS, &q.InputTokens, &q.OutputTokens, &q.SharedTokens, &q.Class, &q.Session, &q.Turn, &isFirst, &first, &each)
		q.Seq = int64(len(r.requests))
		if r.closed == 0 {
			q.Due = time.Duration(sentS * float64(time.Second))
		}
		r.requests, r.isFirst = append(r.requests, q), append(r.isFirst, isFirst)
		if !isFirst {
			r.count++
			r.measured.add(&q, first, each)
		}
		return err
	})
	if err != nil {
		return nil, t, fmt.Errorf("run %s: %w", run, err)
	}
	shareBlocks(r.requests)
	if len(r.measured.sorted()) == 0 {
		return nil, t, hint.Errorf("run %s: no class has %d requests of %d tokens or more to go by", run, leastPlayed, leastAnswer).Hint("send more of them")
	}
	return r, t, nil
}

// classTimes are the first tokens and times per token of a class of requests, seconds, sorted.
type classTimes struct{ ttft, tpot []float64 }

// byClass are those of all classes.
type byClass map[string]*classTimes

func (all byClass) add(q *plan.Request, ttft, tpot float64) {
	of := all[q.Class]
	if of == nil {
		of = &classTimes{}
		all[q.Class] = of
	}
	of.ttft = append(of.ttft, ttft)
	if q.OutputTokens >= leastAnswer {
		of.tpot = append(of.tpot, tpot)
	}
}

// sorted leaves the classes that are large enough.
func (all byClass) sorted() byClass {
	for class, c := range all {
		if len(c.ttft) < leastPlayed || len(c.tpot) < leastPlayed {
			delete(all, class)
			continue
		}
		slices.Sort(c.ttft)
		slices.Sort(c.tpot)
	}
	return all
}

// play gives the times of a run on a server of these costs.
func (r *serverRun) play(ctx context.Context, cost StepCost) (byClass, error) {
	s := cost.alone()
	if r.closed > 0 {
		s.Mode, s.MaxConcurrency = "closed", r.closed
	}
	played := byClass{}
	err := rehearsal.PlayAll(ctx, s, r.requests, func(q *rehearsal.Request) error {
		if r.isFirst[q.Seq] || q.Failure != "" {
			return nil
		}
		played.add(&q.Request, (q.First - q.Sent).Seconds(), q.TPOT().Seconds())
		return nil
	})
	return played.sorted(), err
}

// toldNothing is why a constant keeps its value that another run might tell.
const toldNothing = "these runs tell no more of it than was known"

// constants are the fitted ones, with 90 % intervals. One that the runs tell no more of than its prior did keeps its value.
func (f *serverFit) constants(read calibrated) (all []CalibratedConstant) {
	fitted := f.costAt(f.at)
	for i, of := range serverConstants {
		if of.name == "" {
			continue
		}
		formats := []string{"*"}
		if of.formats != nil {
			formats = slices.Compact(of.formats(read.deployments[0]))
		}
		for _, format := range formats {
			before := read.constant(of.name, format)
			if before == 0 {
				continue // this version has no such constant
			}
			c := CalibratedConstant{Term: of.term, Name: of.name, Format: format, Before: before, Value: before, Low: math.NaN(), High: math.NaN()}
			way := f.way(i)
			switch {
			case !slices.Contains(f.known, i):
				c.Held = "not known of this version of the engine"
			case slices.ContainsFunc(way, func(w float64) bool { return w != 0 }) || of.name == "request_s" && fitted.frontend != f.cost.frontend:
				value := func(at float64) float64 { return before * math.Exp(at) }
				if of.name == "request_s" { // all that a lone request takes beside its steps, of which only its way in is scaled
					front := fitted.frontend
					rest := (front.Admission + front.Send + front.SendToken).Seconds()
					value = func(at float64) float64 { return f.cost.frontend.Way.Seconds()*math.Exp(at) + rest }
				}
				c.Value, c.Low, c.High = value(stat.Dot(way, f.at)), value(f.ends[i][0]), value(f.ends[i][1])
			default:
				c.Held = toldNothing
			}
			all = append(all, c)
			if of.name == "admission_token_s" { // the thread's time for a token of a prompt is all that there is
				c.Name = "request_token_s"
				all = append(all, c)
			}
			if experts := read.constant("launch_experts_s", format); of.name == "launch_layer_s" && experts > 0 { // it goes with the layers'
				c.Name, c.Before, c.Value, c.Low, c.High = "launch_experts_s", experts, c.Value*experts/before, c.Low*experts/before, c.High*experts/before
				all = append(all, c)
			}
		}
	}
	return all
}

// leastOff is an error of a class's figures that is worth a word, where it is also farther off than most.
const leastOff = 0.05

// unplayable names the classes whose times per token, or first tokens, no constants explain: there the server does what the law does not know.
func (f *serverFit) unplayable() (all []string) {
	var of []string
	for _, r := range f.runs {
		for _, class := range slices.Sorted(maps.Keys(r.measured)) {
			of = append(of, strings.TrimSpace(fmt.Sprintf("run %s %s", r.id, class)))
		}
	}
	for i, class := range of {
		for _, figure := range []struct {
			k    int
			name string
		}{{meanTPOT, "TPOT"}, {lateTTFT, "TTFT"}} {
			r := f.after[i*len(playedFigures)+figure.k]
			if off := math.Expm1(r * playedFigures[figure.k].tolerance); math.Abs(off) > leastOff && math.Abs(r) > 2.5*f.scale[figure.k] {
				all = append(all, fmt.Sprintf("what the law cannot play: %s: its %s comes out %+.0f %% off", class, figure.name, 100*off))
			}
		}
	}
	return all
}

// mostSpreads is how many spreads of its prior a constant may go without a word.
const mostSpreads = 2.5

// unlikely names what went further than constants of servers differ. What only the priors tell apart is then hardly told: most of all which constants
// make all of the engine slower.
func (f *serverFit) unlikely() (all []string) {
	for a, i := range f.free {
		of := serverConstants[i]
		if away := math.Abs(f.at[a]) / of.spread; away > mostSpreads {
			all = append(all, fmt.Sprintf(`%s: %.2f times what it was is %.1f spreads away, and which constants it is these runs may not tell; see whether the run's GPU, model and formats are the server's, and ask "tidemark diagnose" what is wrong`,
				cmp.Or(of.name, "the time of all of the engine"), math.Exp(f.at[a]), away))
		}
	}
	return all
}

// figureError says how far the figures were off, as errors of a fit.
func figureError(residuals []float64) FitError {
	var off []float64
	bias := 0.0
	for i, r := range residuals {
		error := math.Exp(r*playedFigures[i%len(playedFigures)].tolerance) - 1
		off = append(off, math.Abs(error))
		bias += error / float64(len(residuals))
	}
	slices.Sort(off)
	return FitError{stat.Median(off), bias}
}
