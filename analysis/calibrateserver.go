package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/analysis/regression"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// CalibrateServer fits what the terms of a time per token cannot tell apart: the constants of a whole server, API server and host with it.
// The requests of the runs are played on the engine model, step by step, and the constants are moved until first tokens and times per token
// come as they were measured. Like every calibration it keeps each constant near its prior, and says which the runs do not tell.
//
// Residuals are logarithms of played over measured, of four figures of each class of requests of each run: median and 90th percentile of TTFT,
// mean and 95th percentile of TPOT. Far ones count linearly (pseudo-Huber loss, Charbonnier et al. 1997). The steps are Gauss-Newton's, with
// differences of whole plays for derivatives.

// serverConstants are those that a play depends on. spread is the prior: the standard deviation of the logarithm around the constant before.
// What belongs to the machine of the server, and not to its GPU, is free: half and double are nothing unusual.
var serverConstants = []struct {
	term, name string
	spread     float64
	isOf       string // "kv": of the cache's format; empty: of any
	scale      func(c *StepCost, factor float64)
}{
	{"weights", "weight_bandwidth_ratio", 0.08, "weights", func(c *StepCost, f float64) { c.weightsS /= f }},
	{"layers", "layer_s", 0.1, "", func(c *StepCost, f float64) { c.fixedS *= f }},
	{"sequences", "sequence_s", 0.7, "", func(c *StepCost, f float64) { c.sequenceS *= f }},
	{"kv", "kv_bandwidth_ratio", 0.06, "kv", func(c *StepCost, f float64) { c.contextS /= f; c.windowS /= f }},
	{"prompts", "mixed_prompt_ratio", 0.15, "", func(c *StepCost, f float64) { c.mixedPromptRatio *= f }},
	{"launches", "launch_layer_s", 0.5, "", func(c *StepCost, f float64) { c.launchS *= f }},
	{"prompts", "chunk_s", 0.5, "", func(c *StepCost, f float64) { c.promptS *= f }},
	{"way in", "request_s", 0.5, "", func(c *StepCost, f float64) { scaleTime(&c.frontend.Way, f) }},
	{"admission", "admission_s", 0.5, "", func(c *StepCost, f float64) { scaleTime(&c.frontend.Admission, f) }},
	{"admission", "admission_token_s", 0.5, "", func(c *StepCost, f float64) { scaleTime(&c.frontend.AdmissionToken, f) }},
	{"sending", "send_s", 0.5, "", func(c *StepCost, f float64) { scaleTime(&c.frontend.Send, f) }},
	{"sending", "send_token_s", 0.5, "", func(c *StepCost, f float64) { scaleTime(&c.frontend.SendToken, f) }},
	{"sending", "send_crowd_s", 0.5, "", func(c *StepCost, f float64) { scaleTime(&c.frontend.SendCrowd, f) }},
}

func scaleTime(d *time.Duration, factor float64) {
	*d = time.Duration(math.Round(float64(*d) * factor))
}

// playedFigures are the figures of a class, and how far each may be off by chance: the deviation of its logarithm.
var playedFigures = [...]struct {
	tolerance float64
	of        func(ttft, tpot []float64) float64 // of sorted values
}{
	{0.06, func(ttft, _ []float64) float64 { return stat.Quantile(ttft, 0.5) }},
	{0.08, func(ttft, _ []float64) float64 { return stat.Quantile(ttft, 0.9) }},
	{0.02, func(_, tpot []float64) float64 { return stat.Mean(tpot) }},
	{0.03, func(_, tpot []float64) float64 { return stat.Quantile(tpot, 0.95) }},
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
	measured map[string][]float64
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
	if c.After.Median > mostOff {
		return c, hint.Errorf("calibrate: at its best the model is off by %.0f %% of these runs (median): no constant describes what is wrong", 100*c.After.Median).
			Hint(`ask "tidemark diagnose", and see whether the run's GPU, model and formats are the server's`)
	}
	return c, nil
}

// PlayedFigures are the names of the figures of a PlayedClass.
var PlayedFigures = [...]string{"TTFT p50", "TTFT p90", "TPOT mean", "TPOT p95"}

// PlayedClass is what a play of a run says of a class of its requests beside what was measured, seconds.
type PlayedClass struct {
	Class            string
	Measured, Played [len(playedFigures)]float64
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
		all = append(all, PlayedClass{class, [len(playedFigures)]float64(r.measured[class]), [len(playedFigures)]float64(played[class])})
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
	r = &serverRun{id: run, closed: t.MaxConcurrency, measured: map[string][]float64{}}
	ttft, tpot := map[string][]float64{}, map[string][]float64{}
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
			ttft[q.Class] = append(ttft[q.Class], first)
			if q.OutputTokens >= leastAnswer {
				tpot[q.Class] = append(tpot[q.Class], each)
			}
		}
		return err
	})
	if err != nil {
		return nil, t, fmt.Errorf("run %s: %w", run, err)
	}
	shareBlocks(r.requests)
	r.measured = figuresOf(ttft, tpot)
	if len(r.measured) == 0 {
		return nil, t, hint.Errorf("run %s: no class has %d requests of more than one token to go by", run, leastPlayed).Hint("send more of them")
	}
	return r, t, nil
}

// figuresOf are those of each class that is large enough.
func figuresOf(ttft, tpot map[string][]float64) map[string][]float64 {
	all := map[string][]float64{}
	for class := range ttft {
		if len(ttft[class]) < leastPlayed {
			continue
		}
		if len(tpot[class]) < leastPlayed {
			tpot[class] = []float64{math.NaN()}
		}
		slices.Sort(ttft[class])
		slices.Sort(tpot[class])
		for _, figure := range playedFigures {
			all[class] = append(all[class], figure.of(ttft[class], tpot[class]))
		}
	}
	return all
}

// play gives the figures of a run on a server of these costs.
func (r *serverRun) play(ctx context.Context, cost StepCost) (map[string][]float64, error) {
	s := rehearsal.Settings{Engine: cost.Engine()}
	s.Engine.MaxModelLen, s.Engine.EnablePrefixCaching = s.Engine.KVBlocks*s.Engine.BlockSize, true
	if r.closed > 0 {
		s.Mode, s.MaxConcurrency = "closed", r.closed
	}
	ttft, tpot := map[string][]float64{}, map[string][]float64{}
	err := rehearsal.Play(ctx, s, func(yield func(plan.Request, error) bool) {
		for _, q := range r.requests {
			if !yield(q, nil) {
				return
			}
		}
	}, func(q *rehearsal.Request) error {
		if r.isFirst[q.Seq] || q.Failure != "" {
			return nil
		}
		ttft[q.Class] = append(ttft[q.Class], (q.First - q.Sent).Seconds())
		if q.OutputTokens >= leastAnswer {
			tpot[q.Class] = append(tpot[q.Class], q.TPOT().Seconds())
		}
		return nil
	})
	return figuresOf(ttft, tpot), err
}

// serverFit is a fit in progress. at has the logarithm of each constant over its prior.
type serverFit struct {
	cost          StepCost // with the constants before
	runs          []*serverRun
	known         []int // places in serverConstants of those that the engine's version has
	free          []int // of these, which are fitted
	at            []float64
	covariance    [][]float64
	before, after []float64 // residuals
}

// solve fits all constants that the engine's version has, and then again without those of which the runs tell no more than was known, so that
// what is kept is what was fitted.
func (f *serverFit) solve(ctx context.Context) error {
	for i, of := range serverConstants {
		moved := f.cost
		if of.scale(&moved, 1.5); !moved.isAs(f.cost) {
			f.known = append(f.known, i)
		}
	}
	f.free = f.known
	if err := f.move(ctx); err != nil {
		return err
	}
	var told []int
	for a, i := range f.free {
		if math.Sqrt(f.covariance[a][a]) <= mostOfSpread*serverConstants[i].spread {
			told = append(told, i)
		}
	}
	switch len(told) {
	case len(f.free):
		return nil
	case 0:
		return hint.Errorf("these runs determine no constant").Hint("send the workload of --plan, or runs that differ in batch and prompt length")
	}
	f.free = told
	return f.move(ctx)
}

// mostOfSpread is how much of a prior's spread may be left of a constant that the runs tell.
const mostOfSpread = 0.8

// move moves the free constants until nothing gets better, with finer and finer slopes: a play is not smooth.
func (f *serverFit) move(ctx context.Context) (err error) {
	f.at = make([]float64, len(f.free))
	if f.before, err = f.residuals(ctx, f.at); err != nil {
		return err
	}
	f.after = f.before
	by := 0.2
	for range 16 {
		slopes, err := f.slopes(ctx, by)
		if err != nil {
			return err
		}
		step, err := f.step(slopes)
		if err != nil {
			return err
		}
		better := false
		for share := 1.0; share > 0.1 && !better; share /= 2 {
			next := make([]float64, len(f.at))
			for a := range next {
				next[a] = f.at[a] + share*max(-1, min(1, step[a]))
			}
			residuals, err := f.residuals(ctx, next)
			if err != nil {
				return err
			}
			if better = f.loss(residuals, next) < f.loss(f.after, f.at)-1e-3; better {
				f.at, f.after = next, residuals
			}
		}
		if !better {
			if by /= 2; by < 0.02 {
				break
			}
		}
	}
	return nil
}

// isAs says whether two costs are the same in what serverConstants change.
func (c StepCost) isAs(o StepCost) bool {
	return c.weightsS == o.weightsS && c.fixedS == o.fixedS && c.sequenceS == o.sequenceS && c.contextS == o.contextS && c.mixedPromptRatio == o.mixedPromptRatio &&
		c.launchS == o.launchS && c.promptS == o.promptS && c.frontend == o.frontend
}

// residuals are ln(played / measured), each over its tolerance.
func (f *serverFit) residuals(ctx context.Context, at []float64) (all []float64, err error) {
	cost := f.costAt(at)
	for _, r := range f.runs {
		played, err := r.play(ctx, cost)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.id, err)
		}
		for _, class := range slices.Sorted(maps.Keys(r.measured)) {
			if played[class] == nil {
				return nil, refusedByModel(r.id, class)
			}
			for k, measured := range r.measured[class] {
				if math.IsNaN(measured) { // answers too short to have it
					all = append(all, 0)
					continue
				}
				all = append(all, math.Log(played[class][k]/measured)/playedFigures[k].tolerance)
			}
		}
	}
	return all, nil
}

// slopes are the derivatives of the residuals by each logarithm, from plays that far to both sides.
func (f *serverFit) slopes(ctx context.Context, by float64) ([][]float64, error) {
	slopes := make([][]float64, len(f.free))
	for a := range f.free {
		var ends [2][]float64
		for side, sign := range []float64{-1, 1} {
			at := slices.Clone(f.at)
			at[a] += sign * by
			residuals, err := f.residuals(ctx, at)
			if err != nil {
				return nil, err
			}
			ends[side] = residuals
		}
		for k := range ends[0] {
			slopes[a] = append(slopes[a], (ends[1][k]-ends[0][k])/(2*by))
		}
	}
	return slopes, nil
}

func (f *serverFit) loss(residuals, at []float64) (sum float64) {
	for _, r := range residuals {
		sum += 2 * (math.Sqrt(1+r*r) - 1)
	}
	for a, i := range f.free {
		sum += at[a] * at[a] / (serverConstants[i].spread * serverConstants[i].spread)
	}
	return sum
}

// step is a Gauss-Newton step, with the priors as further residuals.
func (f *serverFit) step(slopes [][]float64) ([]float64, error) {
	n := len(f.free)
	normal, right := make([][]float64, n), make([]float64, n)
	for a, i := range f.free {
		precision := 1 / (serverConstants[i].spread * serverConstants[i].spread)
		normal[a] = make([]float64, n)
		normal[a][a], right[a] = precision, -precision*f.at[a]
		for k, r := range f.after {
			weight := 1 / math.Sqrt(1+r*r)
			for b := range f.free {
				normal[a][b] += weight * slopes[a][k] * slopes[b][k]
			}
			right[a] -= weight * slopes[a][k] * r
		}
	}
	covariance, err := regression.Inverse(normal)
	if err != nil {
		return nil, err
	}
	f.covariance = covariance
	step := make([]float64, n)
	for a := range step {
		for b := range step {
			step[a] += covariance[a][b] * right[b]
		}
	}
	return step, nil
}

// constants are the fitted ones, with 90 % intervals. One that the runs tell no more of than its prior did keeps its value.
func (f *serverFit) constants(read calibrated) (all []CalibratedConstant) {
	for i, of := range serverConstants {
		format := "*"
		switch of.isOf {
		case "kv":
			format = read.deployments[0].KVCacheDtype
		case "weights":
			format = read.deployments[0].Quantization
		}
		before := read.constant(of.name, format)
		if format == "*" {
			before = read.constant(of.name, "bf16")
		}
		c := CalibratedConstant{Term: of.term, Name: of.name, Format: format, Before: before, Value: before, Low: math.NaN(), High: math.NaN()}
		place, fitted := slices.Index(f.free, i), f.fitted()
		switch {
		case !slices.Contains(f.known, i):
			c.Held = "not known of this version of the engine"
		case place >= 0 || of.name == "request_s" && fitted.frontend != f.cost.frontend:
			const spreads90 = 1.645
			at, deviation := 0.0, 0.0
			if place >= 0 {
				at, deviation = f.at[place], math.Sqrt(f.covariance[place][place])
			}
			value := func(away float64) float64 { return before * math.Exp(at+away) }
			if of.name == "request_s" { // all that a lone request takes beside its steps, of which only its way in is scaled
				front := fitted.frontend
				rest := (front.Admission + front.Send + front.SendToken).Seconds()
				value = func(away float64) float64 { return f.cost.frontend.Way.Seconds()*math.Exp(at+away) + rest }
			}
			c.Value, c.Low, c.High = value(0), value(-spreads90*deviation), value(spreads90*deviation)
		default:
			c.Held = "these runs tell no more of it than was known"
		}
		all = append(all, c)
		if of.name == "admission_token_s" { // the thread's time for a token of a prompt is all that there is
			c.Name = "request_token_s"
			all = append(all, c)
		}
	}
	return all
}

// fitted are the costs with the constants where they are now.
func (f *serverFit) fitted() StepCost { return f.costAt(f.at) }

func (f *serverFit) costAt(at []float64) StepCost {
	cost := f.cost
	for a, i := range f.free {
		serverConstants[i].scale(&cost, math.Exp(at[a]))
	}
	return cost
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
