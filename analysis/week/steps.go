package week

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/show"
)

// Time per token in production beside what memory bandwidth allows. The measured time is the mean gap between tokens of the engines' own
// histograms, a mean over tokens. The model is asked at the batch and the context of the same hour:
//
//   - Batch: the mean over tokens and not over time, sum of squares over sum, because a token is as late as the batch that it is in.
//   - Context: the share of the KV cache in use times its size, over those who run; a prefix that several share counts once, as on a shared
//     server (marts.server_steps). Without the cache's use it is the mean prompt and half of the mean answer.
//   - Prompts: as many tokens to compute for each token made as the counters say. Mean lengths are multiplied by one factor so that their mean
//     context is the hour's.
//
// The batch is handed over as a closed loop of as many clients: those that run, their prompts included, are given, whatever their rate.
// An open loop would find the batch itself, and a slow server's batch would look like a fast one's.

// An hour needs so many looks at an engine, and so many gaps between tokens or requests with a mean of their own.
const (
	leastLooks    = 10
	leastGaps     = 1000
	leastRequests = 100
)

// StepsOf predicts what the sources say of the week's hours. Hours without enough data are left out. What a reader must know of them goes to the report's
// notes.
func StepsOf(ctx context.Context, db *sql.DB, hours []ServerHour, r *Report, d deployment.Deployment) ([]StepTime, error) {
	cache, err := cacheOf(ctx, db, hours, d)
	if err != nil {
		return nil, err
	}
	var points []analysis.Point
	var found []StepTime
	var speculating, byRequest int
	for _, h := range hours {
		if h.Sums["drafts"] > 0 {
			speculating++
			continue
		}
		loaded, isEnough := h.loaded(cache)
		if !isEnough {
			continue
		}
		if loaded.isByRequest {
			byRequest++
		}
		found = append(found, StepTime{Start: h.Start, Measured: loaded.tpotS, Running: loaded.running, Context: loaded.context})
		loaded.load.Clients *= float64(max(d.DataParallelSize, 1)) // Predict shares them out among the engines of a server
		points = append(points, analysis.Point{Deployment: d, Load: loaded.load})
	}
	if len(points) == 0 {
		return nil, nil
	}
	predictions, err := analysis.Predict(ctx, db, points)
	if err != nil {
		return nil, fmt.Errorf("time per token: %w", err)
	}
	if speculating > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("In %s the engine guessed tokens ahead; how many at a time it does not say, so time per token is not compared with a prediction there.",
			show.Things(speculating, "hour", "hours")))
	}
	if byRequest > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("In %s the engine says the time per token of requests and not of tokens: short answers weigh as much as long ones.",
			show.Things(byRequest, "hour", "hours")))
	}
	steps, why := withPredictions(found, predictions)
	if why != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("Time per token has no prediction in %s: %s.", show.Things(len(found)-len(steps), "hour", "hours"), why))
	}
	return steps, nil
}

// cacheOf is the size of an engine's KV cache in tokens: as the server says, else as predicted; 0 where neither is known.
func cacheOf(ctx context.Context, db *sql.DB, hours []ServerHour, d deployment.Deployment) (float64, error) {
	said, isNeeded := 0.0, false
	for _, h := range hours {
		said = max(said, h.Sums["kv_cache_tokens"])
		isNeeded = isNeeded || h.Sums["kv_running"] > 0
	}
	if said > 0 || !isNeeded {
		return said, nil
	}
	predicted, err := analysis.Predict(ctx, db, []analysis.Point{{Deployment: d, Load: analysis.Load{Clients: 1, InputTokens: 1, OutputTokens: 1}}})
	if err != nil {
		return 0, fmt.Errorf("time per token: %w", err)
	}
	if predicted[0].Why != "" {
		return 0, nil
	}
	return predicted[0].KVCapacityTokens, nil
}

// loadedHour is an hour as the model is asked about it.
type loadedHour struct {
	tpotS, running, context float64
	isByRequest             bool // the time is a mean over requests
	load                    analysis.Load
}

// loaded is the hour's time per token and its load; false without enough data. cache is the size of an engine's KV cache where the hour does not say it, tokens;
// 0: not known.
func (h ServerHour) loaded(cache float64) (l loadedHour, isEnough bool) {
	switch {
	case h.Sums["gaps"] >= leastGaps:
		l.tpotS, _ = h.ratio("gap_s", "gaps")
	case h.Sums["tpot_requests"] >= leastRequests:
		l.tpotS, _ = h.ratio("tpot_s", "tpot_requests")
		l.isByRequest = true
	}
	running, isRunning := h.ratio("running_squares", "running")
	output, hasOutput := h.ratio("generation_tokens", "finished_requests")
	input, hasInput := h.ratio("prompt_tokens", "finished_requests")
	if !(l.tpotS > 0) || !isRunning || !hasOutput || !hasInput || h.Sums["engine_looks"] < leastLooks {
		return l, false
	}
	l.running, l.context = running, input+output/2
	cache = cmp.Or(h.Sums["kv_cache_tokens"], cache)
	if used, isKnown := h.ratio("kv_used_ratio", "kv_running"); isKnown && used*cache > 0 {
		l.context = used * cache
	}
	cached, _ := h.ratio("cached_tokens", "finished_requests")
	factor := l.context / (input + output/2)
	l.load = analysis.Load{Clients: l.running, OutputTokens: max(1, factor*output), InputTokens: max(1, factor*input)}
	l.load.CachedTokens = min(l.load.InputTokens, factor*cached)
	return l, true
}

// withPredictions puts the predictions beside the measured hours. Hours without one are left out, and why says the first reason.
func withPredictions(measured []StepTime, predictions []analysis.Prediction) (steps []StepTime, why string) {
	var isUsed [len(analysis.Prediction{}.Terms)]bool
	for _, p := range predictions {
		for i, seconds := range p.Terms {
			isUsed[i] = isUsed[i] || p.Why == "" && math.Abs(seconds) > 1e-9
		}
	}
	for i, p := range predictions {
		if p.Why != "" {
			if why == "" {
				why = p.Why
			}
			continue
		}
		s := measured[i]
		s.Floor, s.Predicted, s.Low, s.High = p.FloorTPOT, p.TPOT, p.Low, p.High
		for j, name := range analysis.TermNames() {
			if isUsed[j] {
				s.Terms = append(s.Terms, Term{Name: strings.TrimSuffix(name, "_s"), Seconds: p.Terms[j]})
			}
		}
		s.IsOut = s.Measured < s.Low || s.Measured > s.High
		steps = append(steps, s)
	}
	return steps, why
}

// term is the seconds of a term; 0 where the prediction has none.
func (s StepTime) term(name string) float64 {
	for _, t := range s.Terms {
		if t.Name == name {
			return t.Seconds
		}
	}
	return 0
}

// ratio is how many times as long as predicted a token takes.
func (s StepTime) ratio() float64 { return s.Measured / s.Predicted }
