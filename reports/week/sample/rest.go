package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"tidemark/analysis/week"
	"tidemark/analysis/week/fleet"
	"tidemark/analysis/week/forecast"
)

const serviceFile = `service: chat
time_zone: Europe/Berlin
traffic: [chat-*]
metrics: http://prometheus:9090
metrics_selector: 'model_name="llama-3.1-70b"'
deployment: {gpu: H100, model: llama-3.1-70b, quantization: fp8, tensor_parallel_size: 2, max_num_seqs: 256}
replicas: 6
slo: slo.yaml
price: {usd_per_gpu_hour: 2.90, source: "contract 2026-04"}
growth: {weeks: 8}
capacity: auto
`

var notes = []string{
	"chat-2026-47b-copy.csv.gz holds the same rows as chat-2026-47b.csv.zst and is counted once.",
	"The times of chat-2026-47a.csv.zst name no zone and are read as UTC.",
}

func hash(of string) string {
	sum := sha256.Sum256([]byte("sample " + of))
	return hex.EncodeToString(sum[:])
}

func isoWeek(day time.Time) string {
	year, n := day.ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, n)
}

func deployment() week.Deployment {
	return week.Deployment{GPU: "H100", Model: "llama-3.1-70b", ModelName: "Llama 3.1 70B", Quantization: "fp8", GPUsPerReplica: gpusPerReplica, TensorParallel: 2,
		MaxNumSeqs: 256, Engine: "vllm", EngineVersion: "0.11.2", InWords: "2 × H100, Llama 3.1 70B FP8, vLLM 0.11.2", IsSaidByTheFile: true}
}

func slo() week.SLO {
	return week.SLO{Name: "chat", Allowed: 0.01, Objectives: []week.Objective{
		{Name: "p99 ttft_from_due", Metric: "ttft_from_due", Percent: 99, AtMost: 1},
		{Name: "p99 tpot of interactive", Metric: "tpot", Percent: 99, AtMost: 0.05, Class: "interactive"},
	}}
}

func (p plan) sources() []week.Source {
	at := func(hour int) *time.Time { return ptr(p.start().Add(time.Duration(hour) * time.Hour)) }
	out := []week.Source{
		{Name: "chat-2026-47a.csv.zst", Role: "traffic", Format: "csv", SHA256: hash("a"), Rows: 5961204, From: at(0), Until: at(74), Covers: "rows", Note: "no zone given, read as UTC"},
		{Name: "chat-2026-47b.csv.zst", Role: "traffic", Format: "csv", SHA256: hash("b"), Rows: 4871926, From: at(77), Until: at(168), Covers: "day"},
		{Name: "chat-2026-47b-copy.csv.gz", Role: "traffic", Format: "csv", SHA256: hash("b copy"), Rows: 4871926, From: at(77), Until: at(168), Covers: "rows", DuplicateOf: "chat-2026-47b.csv.zst"},
		{Name: "chat-search-2026-11-11", Role: "capacity", Format: "run", SHA256: hash("search"), Rows: 8502, From: at(-118), Until: at(-117), Covers: "rows"},
	}
	if p.metrics {
		out = append(out, week.Source{Name: "chat.prometheus.jsonl", Role: "metrics", Format: "prometheus", SHA256: hash("prometheus"), Rows: 161280, From: at(-24), Until: at(168), Covers: "rows"})
	}
	return out
}

// weeksBefore shrinks this week by its growth, one week at a time.
func (p plan) weeksBefore(this week.Sums) []week.Sums {
	var out []week.Sums
	for back := p.before; back >= 1; back-- {
		s := this
		f := math.Pow(1+p.growth, -float64(back)) * (1 + 0.012*noise(30, back))
		s.Week, s.Hours, s.MissingHours, s.BrokenHours, s.IsMet, s.Sentence = isoWeek(p.day(-7*back)), 168, 0, 0, ptr(true), ""
		s.Requests, s.InputTokens, s.OutputTokens = int64(float64(s.Requests)*f), int64(float64(s.InputTokens)*f), int64(float64(s.OutputTokens)*f)
		s.GPUHoursCovered = s.GPUHoursPaid
		if s.BusiestHourStart != nil {
			s.BusiestHourStart, s.PeakRatePerS = ptr(s.BusiestHourStart.Add(-time.Duration(back)*7*24*time.Hour)), ptr(round(*s.PeakRatePerS*f, 3))
		}
		if s.HeadroomRatio != nil {
			s.HeadroomRatio, s.LowHeadroom, s.HighHeadroom = ptr(round((1+*s.HeadroomRatio)/f-1, 6)), ptr(round((1+*s.LowHeadroom)/f-1, 6)), ptr(round((1+*s.HighHeadroom)/f-1, 6))
			s.GPUHoursNeeded = ptr(math.Round(*s.GPUHoursNeeded * f))
		}
		s.WithinSLO, s.LowWithinSLO, s.HighWithinSLO = ptr(0.9986), ptr(0.9983), ptr(0.9989)
		s.USDPerMillion, s.LowUSDPerMillion, s.HighUSDPerM = ptr(round(*s.USDPerMillion/f, 4)), ptr(round(*s.LowUSDPerMillion/f, 4)), ptr(round(*s.HighUSDPerM/f, 4))
		if s.TPOTRatio != nil {
			s.TPOTRatio = ptr(1.02)
		}
		out = append(out, s)
	}
	return out
}

func (p plan) changes(this week.Sums) []week.Change {
	if p.before == 0 {
		return nil
	}
	g := p.growth * 1.6
	change := func(figure string, now *float64, ratio, half float64) week.Change {
		c := week.Change{Figure: figure}
		if now == nil {
			return c
		}
		c.Before, c.Ratio, c.Low, c.High = ptr(*now/(1+ratio)), ptr(round(ratio, 5)), ptr(round(ratio-half, 5)), ptr(round(ratio+half, 5))
		c.IsTold = math.Abs(ratio) > half
		return c
	}
	whole := func(n int64) *float64 { return ptr(float64(n)) }
	return []week.Change{
		change("requests", whole(this.Requests), g, 0.012), change("input_tokens", whole(this.InputTokens), g, 0.014), change("output_tokens", whole(this.OutputTokens), g, 0.013),
		change("peak_rate_per_s", this.PeakRatePerS, g, 0.02), change("headroom_ratio", this.HeadroomRatio, -g*5, 0.1), change("gpu_hours_needed", this.GPUHoursNeeded, g/4, 0.02),
		change("cost_usd", this.CostUSD, 0, 0), change("usd_per_million_accepted", this.USDPerMillion, -g, 0.012), change("within_slo_ratio", this.WithinSLO, -0.0012, 0.0004),
		change("tpot_over_predicted_ratio", this.TPOTRatio, 0.02, 0.03),
	}
}

// capacity is a search of eleven days ago, or none.
func (p plan) capacity() week.Basis {
	if p.basis == "none" {
		return week.Basis{Sentence: "Nothing says what a replica handles: no search fits this deployment and it could not be rehearsed."}
	}
	b := week.Basis{Kind: p.basis, RatePerS: ptr(replicaRate), LowRatePerS: ptr(lowReplicaRate), HighRatePerS: ptr(highReplicaRate), Binding: "p99 ttft_from_due",
		Correction: ptr(0.992), Rehearsals: 7, AnchorWeek: "2026-W45", AllowedRatio: ptr(0.01), WindowRatePerS: ptr(6.83), Constants: hash("constants")[:12],
		Fleets: []fleet.Fleet{{Replicas: 1, Ratio: 0.93}, {Replicas: 2, Ratio: 0.96}, {Replicas: 4, Ratio: 1}, {Replicas: 6, Ratio: 1}, {Replicas: 8, Ratio: 1}}}
	for rate := 5.5; rate < 10.6; rate += 0.25 {
		missed := 0.01 * math.Exp((rate-8.41)*1.25)
		b.Curve = append(b.Curve, week.Share{RatePerS: round(rate, 3), Missed: round(missed, 6), Low: round(missed*0.62, 6), High: round(math.Min(1, missed*1.6), 6)})
	}
	if p.basis == "predicted" {
		b.LowRatePerS, b.HighRatePerS, b.Model = ptr(7.38), ptr(9.49), ptr(0.12)
		b.Sentence = "Rehearsed for this page at the shape of each hour; nothing was measured, so the band is ± 12 %."
		return b
	}
	b.Search, b.SourceName, b.EndedAt, b.AgeDays = "chat-search-2026-11-11", "chat-search-2026-11-11", ptr(p.start().Add(-117*time.Hour)), ptr(11.9)
	b.ShapeDistance, b.Model = ptr(0.05), ptr(0.04)
	b.Sentence = "Measured Wed 11 Nov with the slice Tue 10 Nov 14:00 on one replica; corrected by −0.8 % for this week's shape (rehearsed at both)."
	for i, at := range []struct{ rate, sent, missed float64 }{{6.28, 1540, 2}, {8.13, 1420, 10}, {8.40, 1470, 16}, {8.47, 1482, 14}, {8.74, 1530, 21}, {9.29, 1060, 33}} {
		share, half := at.missed/at.sent, 1.64*math.Sqrt(at.missed)/at.sent
		b.Points = append(b.Points, week.Point{Share: week.Share{RatePerS: at.rate, Missed: round(share, 6), Low: round(math.Max(share-half, 0), 6), High: round(share+half, 6)},
			IsValid: i != 2, Run: fmt.Sprintf("chat-search-2026-11-11-%d", i+1)})
	}
	return b
}

func (p plan) classes(s week.Sums) []week.Class {
	part := func(name string, requests, input, output, growth float64) week.Class {
		c := week.Class{Name: name, Requests: int64(float64(s.Requests) * requests), InputTokens: int64(float64(s.InputTokens) * input), OutputTokens: int64(float64(s.OutputTokens) * output)}
		if p.before > 0 {
			c.Growth = ptr(round(growth+p.growth, 4))
		}
		return c
	}
	return []week.Class{part("interactive", 0.74, 0.55, 0.66, 0.018), part("agent", 0.16, 0.36, 0.22, 0.011), part("batch", 0.1, 0.09, 0.12, -0.02)}
}

// shape is one hill of chats and a small one of long prompts with short answers.
func (p plan) shape(s week.Sums) week.Shape {
	hill := func(x, y, atX, atY, wideX, wideY float64) float64 {
		dx, dy := (x-math.Log(atX))/wideX, (y-math.Log(atY))/wideY
		return math.Exp(-(dx*dx + dy*dy) / 2)
	}
	var out week.Shape
	edge := func(k int) float64 { return round(math.Pow(2, float64(k)/2), 3) }
	for x := 8; x < 29; x++ {
		for y := 6; y < 23; y++ {
			midX, midY := (math.Log(edge(x))+math.Log(edge(x+1)))/2, (math.Log(edge(y))+math.Log(edge(y+1)))/2
			share := 0.0225*hill(midX, midY, 470, 205, 1.02, 0.72) + 0.0062*hill(midX, midY, 5800, 96, 0.42, 0.45)
			if n := int64(float64(s.Requests) * share); float64(n) > 0.00002*float64(s.Requests) {
				tokens := math.Exp(midX) + math.Exp(midY)
				out.Cells = append(out.Cells, week.Cell{InputFrom: edge(x), InputTo: edge(x + 1), OutputFrom: edge(y), OutputTo: edge(y + 1), Requests: n, Tokens: int64(float64(n) * tokens)})
			}
		}
	}
	quantile := func(name string, now, before, half float64) week.Quantile {
		q := week.Quantile{Name: name, This: &now}
		if p.before > 0 {
			ratio := now/before - 1
			q.Before, q.Ratio, q.Low, q.High = &before, ptr(round(ratio, 4)), ptr(round(ratio-half, 4)), ptr(round(ratio+half, 4))
		}
		return q
	}
	out.Quantiles = []week.Quantile{quantile("p50 input_tokens", 490, 486, 0.021), quantile("p99 input_tokens", 7910, 8050, 0.046), quantile("p50 output_tokens", 200, 195, 0.018), quantile("p99 output_tokens", 1040, 1034, 0.045)}
	if p.before > 0 {
		out.Input, out.Output = &week.Distance{What: "input_tokens", KS: 0.011, Wasserstein: 0.02}, &week.Distance{What: "output_tokens", KS: 0.018, Wasserstein: 0.03, IsMoved: true}
	}
	out.Slice = []week.Distance{{What: "w47-tue14 input_tokens", KS: 0.04, Wasserstein: 0.05}, {What: "w47-tue14 output_tokens", KS: 0.05, Wasserstein: 0.06}}
	return out
}

func (p plan) symptoms(hours []week.Hour) []week.Symptom {
	if len(p.slow) == 0 || !p.metrics {
		return nil
	}
	first, last := 4*24+9, 4*24+12
	return []week.Symptom{{Name: "A GPU runs slow", First: &hours[first].Start, Last: &hours[last].Start, Hours: last - first + 1,
		Found: "time per token 1.25× the prediction (band to 1.08) at a batch of 25 to 30", Confirmed: "confirmed: DCGM: replica 4, GPU 1 at 1,215 MHz, the others at 1,980; throttle reason thermal",
		Try: "drain replica 4 and have GPU 1's cooling looked at", Symptom: "one_gpu_slow", IsBroken: true}}
}

func (p plan) alternatives(s week.Sums) []week.Alternative {
	row := func(name, kind string, gpus, replicas int, headroom, usd float64, isDominated bool, why string) week.Alternative {
		return week.Alternative{Name: name, Kind: kind, GPUs: gpus, Replicas: replicas, Headroom: &headroom, USDPerWeek: &usd, USDPerM: ptr(round(usd / *s.AcceptedTokens * 1e6, 3)), IsDominated: isDominated, Why: why}
	}
	return []week.Alternative{
		row("6 × 2 H100 FP8", "today", 12, 6, 0.17, 5846, false, "holds every covered hour"),
		row("6 × 2 H100 FP8, by the table", "measured", 12, 6, 0.17, 3289, false, "cheapest that holds; needs start-up below 60 min"),
		row("7 × 2 H100 FP8", "measured", 14, 7, 0.36, 6821, false, "holds 99.9 % in place of 99 %"),
		row("3 × 4 H100 FP8", "rehearsed", 12, 3, 0.07, 5846, false, "fastest tokens for the same money, least room"),
		row("3 × 2 B200 FP8", "rehearsed", 6, 3, 0.25, 6250, false, "needs a contract; price from the catalogue"),
		row("5 × 2 H200 FP8", "predicted", 10, 5, 0.15, 6048, true, "loses to today's: dearer, less room, no faster"),
		row("5 × 2 H100 FP8", "measured", 10, 5, -0.03, 4872, true, "does not hold Tue 14:00"),
		otherFormat(row("6 × 2 H100 BF16", "rehearsed", 12, 6, -0.55, 5846, true, "KV cache has room for 21 sequences a replica")),
	}
}

// otherFormat marks a row whose weights are in another format than today's.
func otherFormat(a week.Alternative) week.Alternative {
	a.IsOther = true
	return a
}

// drift is told where there are weeks to compare with and a prediction to divide by.
func (p plan) drift(steps []week.StepTime) *week.Drift {
	if p.before == 0 || len(steps) == 0 {
		return nil
	}
	return &week.Drift{Weeks: min(p.before, 4), Hours: len(steps), Measured: week.DriftPart{Ratio: 0.021, Low: 0.012, High: 0.03}, Traffic: week.DriftPart{Ratio: 0.004, Low: -0.003, High: 0.011},
		Hardware: week.DriftPart{Ratio: 0.017, Low: 0.009, High: 0.025}, Sentence: "Time per token grew by 2.1 %, and the hardware explains it: the traffic asks for no more than before."}
}

func (p plan) week(ahead int, peak float64) week.ForecastWeek {
	day := p.day(7 * ahead)
	return week.ForecastWeek{Week: isoWeek(day), Monday: day.Format(time.DateOnly), Peak: round(peak, 3)}
}

func (p plan) banded(ahead int, peak, half float64) week.ForecastWeek {
	w := p.week(ahead, peak)
	w.Low, w.High = ptr(round(peak*(1-half), 3)), ptr(round(peak*(1+half), 3))
	return w
}

func (p plan) forecast(s week.Sums) week.Forecast {
	if s.PeakRatePerS == nil {
		return week.Forecast{Why: "no hour of this week has data"}
	}
	peak := *s.PeakRatePerS
	f := week.Forecast{Weeks: p.before + 1}
	for back := p.before; back >= 1; back-- {
		f.History = append(f.History, p.week(-back, peak*math.Pow(1+p.growth, -float64(back))*(1+0.012*noise(30, back))))
	}
	f.History = append(f.History, p.week(0, peak))
	if f.Weeks < 3 {
		f.Why = "a forecast needs at least three weeks of history, and there is 1"
		return f
	}
	f.Method, f.HoldsUntilWeeks = "seasonal with a damped trend", 12
	level := peak
	for ahead := 1; ahead <= 12; ahead++ {
		level *= 1 + p.growth*math.Pow(0.97, float64(ahead))
		half := 0.035 * math.Sqrt(float64(ahead))
		f.Ahead = append(f.Ahead, p.banded(ahead, level, half))
		f.Naive = append(f.Naive, p.banded(ahead, peak, half*1.5))
	}
	f.PeakAhead, f.NaivePeakAhead = &f.Ahead[0], &f.Naive[0]
	f.RequestsAhead = ptr(p.banded(1, float64(s.Requests)*(1+p.growth), 0.03))
	f.GrowthRatio, f.LowGrowth, f.HighGrowth = ptr(p.growth), ptr(round(p.growth-0.028, 4)), ptr(round(p.growth+0.028, 4))
	f.Error, f.NaiveError = ptr(0.023), ptr(0.041)
	f.Month = &forecast.Check{MadeAfter: isoWeek(p.day(-28)), Forecast: round(peak*0.98, 2), Low: round(peak*0.92, 2), High: round(peak*1.04, 2), Came: peak}
	for n := p.replicas + 1; n <= p.replicas+3; n++ {
		needs := forecast.Need{Replicas: n}
		for _, w := range f.Ahead {
			if limit := lowReplicaRate * float64(n-1); needs.Week == "" && w.Peak > limit {
				needs.Week = w.Week
			}
			if limit := lowReplicaRate * float64(n-1); needs.Earliest == "" && *w.High > limit {
				needs.Earliest = w.Week
			}
		}
		f.Needs = append(f.Needs, needs)
	}
	f.NextReplicaWeek, f.EarliestReplica = f.Needs[0].Week, f.Needs[0].Earliest
	return f
}

func runs() []week.Run {
	return []week.Run{
		{ID: "w47-tue14", Traffic: "Tue 14:00 to 14:10, × 1.0", Origin: "measured", P99TTFT: ptr(0.86), P99TPOT: ptr(0.0374), Ratio: ptr(1.03), IsValid: true, Met: ptr(true), Checks: 18},
		{ID: "w47-tue14-x1.28", Traffic: "the same, × 1.28", Origin: "simulated", P99TTFT: ptr(1.12), P99TPOT: ptr(0.0419), Ratio: ptr(1.05), IsValid: true, Met: ptr(false), Checks: 18},
		{ID: "w47-fri10", Traffic: "Fri 10:00 to 10:10, × 1.0", Origin: "measured", P99TTFT: ptr(0.71), P99TPOT: ptr(0.0368), Ratio: ptr(1.02), Why: "p99 lateness 14 ms, above 10 ms", Checks: 18, Broken: []string{"lateness: p99 14.0 ms, at most 10 ms"}},
	}
}

func scaling(s week.Sums) []week.Scaling {
	if s.GPUHoursNeeded == nil {
		return nil
	}
	row := func(name string, share float64, note string) week.Scaling {
		hours := math.Round(s.GPUHoursPaid * share)
		return week.Scaling{Name: name, GPUHours: hours, USD: ptr(round(hours*usdPerGPUHour, 2)), Saved: ptr(round(1-share, 4)), Note: note}
	}
	return []week.Scaling{
		row("as paid, all week", 1, ""), row("5 outside Tue 13:00 to 15:00", 0.8353, "one change a day"), row("by the table", 0.5625, "each hour's need or the next one's, whichever is more"),
		row("by the minute, start-up 4 min", 0.5397, "start-up measured on 14 starts: 3 min 10 s to 4 min 20 s"), row("needed, without start-up", 0.5218, "a bound, not a way to run"),
	}
}

// nines are of a week: one without metrics reaches 99.9 % by no number.
func (p plan) nines() []week.Nine {
	weekly, paid := 168.0*perHour, p.replicas
	more := week.Nine{Share: 0.999, Replicas: ptr(paid + 1), USD: ptr(round(float64(paid+1)*weekly, 2)), More: ptr(round(weekly, 2))}
	if !p.metrics {
		more = week.Nine{Share: 0.999}
	}
	return []week.Nine{{Share: 0.99, Replicas: ptr(paid), USD: ptr(round(float64(paid)*weekly, 2)), More: ptr(0.0)}, more}
}

func (p plan) do() week.Do {
	switch {
	case p.basis == "none":
		return week.Do{Verb: "measure", Text: "Search for the capacity of one replica with the slice of Tue 14:00; without it no hour can be told to hold.", Rule: week.RuleMeasure}
	case p.load > 1.2:
		return week.Do{Verb: "buy", Text: "Add two replicas before next Monday; they hold every hour of this week.", Rule: week.RuleBuy}
	}
	return week.Do{Verb: "scale", Text: "Scale by the table of hours, from 2 replicas at night to 6 on Tuesday at 14:00. It holds every covered hour.", SavesUS: ptr(2558.0), Rule: week.RuleScale}
}

func (p plan) sentence(s week.Sums) string {
	switch {
	case s.LowHeadroom == nil:
		return "Not known: nothing says what a replica handles"
	case *s.LowHeadroom < 0:
		return fmt.Sprintf("Buy GPUs: %d replicas are short by %.0f %%", p.replicas, -100**s.LowHeadroom)
	}
	return fmt.Sprintf("Buy no GPUs: %d replicas hold with %.0f %% to spare", p.replicas, 100**s.LowHeadroom)
}
