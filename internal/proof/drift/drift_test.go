//go:build duckdb_arrow

package drift

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/analysis/week"
	"tidemark/fixtures/seeded"
	"tidemark/internal/deployment"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// truth is a service on one replica, and what changes in it.
type truth struct {
	rnd            *rand.Rand
	begin, change  time.Time
	days           int
	perS           float64 // in the busiest hour
	input, output  float64 // mean tokens
	cached         float64 // share of the prompts' tokens
	byBatch, byCtx float64 // powers by which the server's law differs from any of the model's form

	// From the change on.
	slower                             float64 // all steps, a factor
	moreRate, moreIn, moreOut, cached2 float64
}

// A step reads weights in 6.4 ms and a token of context in 45 ns, a sequence costs 25 us and a token of a prompt 42 us: of the size of an H100 with Llama
// 3.1 8B, and none of them the model's.
const fixedS, sequenceS, contextS, promptS = 6.4e-3, 25e-6, 45e-9, 42e-6

// tpotAt is the time per token at a rate, and the batch that goes with it: by Little's law, rate * tokens * time per token.
func (s *truth) tpotAt(perS, input, output, cached, slower float64) (tpot, batch float64) {
	context := input + output/2
	for batch = 1; ; {
		decode := (fixedS + sequenceS*batch + contextS*context*batch) * math.Pow(max(batch, 1)/20, s.byBatch) * math.Pow(context/1000, s.byCtx)
		busy := min(0.8, perS*input*(1-cached)*promptS*slower)
		tpot = decode * slower / (1 - busy)
		next := perS * output * tpot
		if math.Abs(next-batch) < 1e-6*batch || batch > 2000 {
			return tpot, next
		}
		batch = (batch + next) / 2
	}
}

// draw draws a service of two to four weeks. kind is system, workload, both or none.
func draw(kind string, seed uint64) truth {
	rnd := rand.New(rand.NewPCG(seed, 0xd21f7))
	between := func(low, high float64) float64 { return low + (high-low)*rnd.Float64() }
	either := func(x float64) float64 {
		if rnd.IntN(2) == 0 {
			return 1 / x
		}
		return x
	}
	s := truth{rnd: rnd, begin: time.Date(2026, 9, 28, 0, 0, 0, 0, time.UTC), days: 14 + rnd.IntN(15), perS: between(2, 5), input: between(500, 1500), output: between(150, 350), cached: between(0.1, 0.4),
		byBatch: between(-0.06, 0.06), byCtx: between(-0.06, 0.06), slower: 1, moreRate: 1, moreIn: 1, moreOut: 1}
	s.cached2 = s.cached
	day := 3 + rnd.IntN(s.days-5) // three days before it and three from it on
	s.change = s.begin.AddDate(0, 0, day).Add(time.Duration(rnd.IntN(24)) * time.Hour)
	if kind == "system" || kind == "both" {
		s.slower = either(between(1.08, 1.3))
	}
	if kind == "workload" || kind == "both" {
		switch rnd.IntN(4) {
		case 0:
			s.moreRate = either(between(1.25, 1.6))
		case 1:
			s.moreIn = either(between(1.15, 1.6))
		case 2:
			s.moreOut = either(between(1.15, 1.5))
		default:
			s.cached2 = s.cached + between(0.15, 0.35)
		}
	}
	return s
}

// hours are what servers and counters say of it. Days have noise that lasts, a fifth of it until the next day.
func (s *truth) hours() (hours []week.Hour, servers []week.ServerHour) {
	shape := seeded.OfficeHours(0.27)
	var rate, tpot, input, output, cached float64 // noise of the day, ln
	for at := s.begin; at.Before(s.begin.AddDate(0, 0, s.days)); at = at.Add(time.Hour) {
		if at.Hour() == 0 {
			for _, of := range []struct {
				noise *float64
				sd    float64
			}{{&rate, 0.04}, {&tpot, 0.012}, {&input, 0.012}, {&output, 0.012}, {&cached, 0.02}} {
				*of.noise = 0.2**of.noise + of.sd*s.rnd.NormFloat64()
			}
		}
		in := func(mean, ofDay, sd float64) float64 { return mean * math.Exp(ofDay+sd*s.rnd.NormFloat64()) }
		perS, i, o, k, slower := in(s.perS*shape[seeded.HourOfWeek(at)], rate, 0.05), in(s.input, input, 0.02), in(s.output, output, 0.02), in(s.cached, cached, 0.03), in(1, tpot, 0.02)
		if !at.Before(s.change) {
			perS, i, o, k, slower = perS*s.moreRate, i*s.moreIn, o*s.moreOut, k*s.cached2/s.cached, slower*s.slower
		}
		took, batch := s.tpotAt(perS, i, o, k, slower)
		n := int64(perS*3600 + math.Sqrt(perS*3600)*s.rnd.NormFloat64())
		prompts, answers := int64(float64(n)*i), int64(float64(n)*o)
		hours = append(hours, week.Hour{Start: at, Requests: &n, InputTokens: &prompts, OutputTokens: &answers})
		servers = append(servers, week.ServerHour{Start: at, Sums: map[string]float64{
			"gap_s": took * float64(answers), "gaps": float64(answers), "running": 60 * batch, "running_squares": 60 * (batch*batch + batch), "engine_looks": 60,
			"finished_requests": float64(n), "prompt_tokens": float64(prompts), "generation_tokens": float64(answers), "cached_tokens": k * float64(prompts),
		}})
	}
	return hours, servers
}

// TestDriftOnSeededServices draws services whose system changes, whose workload does, both or neither, at an hour of some day. make drift-weeks draws
// twenty of each and prints the table of docs/drift.md.
func TestDriftOnSeededServices(t *testing.T) {
	const first = 35_000 // the constants of analysis/week/changed.go were chosen on 1,000 to 2,400
	all := proof.Many(1, 20)
	db := warehousetest.Open(t).DB()
	on := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", Engine: "vllm", EngineVersion: "0.26.0"}
	dated, near := 0, 0
	for k, kind := range []string{"system", "workload", "both", "none"} {
		right, within := 0, 0
		for n := range all {
			s := draw(kind, first+uint64(100*k+n))
			hours, servers := s.hours()
			steps := must.Get(week.StepsOf(t.Context(), db, servers, &week.Report{}, on))(t)
			got := week.ChangedIn(hours, steps, servers, time.UTC)
			if got.Verdict == kind {
				right++
			} else {
				t.Logf("%s %d is wrong: %s", kind, n, got.Sentence)
			}
			if kind == "none" {
				continue
			}
			dated++
			if f := got.First(); f != nil && !f.IsGradual && math.Abs(f.Day.Sub(s.change.Truncate(24*time.Hour)).Hours()) <= 24 {
				within++
			} else {
				t.Logf("%s %d is of %s: %s", kind, n, s.change.Format(time.DateOnly), got.Sentence)
			}
		}
		near += within
		date := fmt.Sprintf("%d of %d", within, all)
		if kind == "none" {
			date = "-"
		}
		fmt.Printf("| %s | %d of %d | %s |\n", kind, right, all, date)
		if right < all-all/20 {
			t.Errorf("%s: %d of %d right", kind, right, all)
		}
	}
	if near < dated-dated/10 {
		t.Errorf("%d of %d dates within a day", near, dated)
	}
}
