package endings

import (
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/replay/experiment"
)

// at is a level with a TPOT and a TTFT, in ms, against bounds of 20 and 200 ms.
func at(value string, outcome experiment.Outcome, tpot, ttft float64) level {
	of := func(metric string, ms, most float64) analysis.ObjectiveVerdict {
		o := analysis.ObjectiveVerdict{Objective: analysis.Objective{Metric: metric, Percentile: 99, AtMost: most / 1e3}, Observed: new(ms / 1e3), Outcome: analysis.Met}
		if ms > most {
			o.Outcome = analysis.NotMet
		} else if outcome == experiment.Undecided {
			o.Outcome = analysis.Undecided
		}
		return o
	}
	return level{value: value, outcome: outcome, objectives: []analysis.ObjectiveVerdict{of("tpot", tpot, 20), of("ttft_from_due", ttft, 200)}}
}

// Nobody can plan with a multiple: the rate that was sent stands beside it, unless it is of a few requests or the level is a rate itself.
func TestTheRateThatWasSentStandsBesideAMultiple(t *testing.T) {
	levels := []level{at("1.5", experiment.Met, 15, 60), at("2", experiment.NotMet, 30, 60)}
	levels[0].figures = map[string]any{"sent_per_s": 31.4, "requests": int64(400)}
	levels[1].figures = map[string]any{"sent_per_s": 3880.0, "requests": int64(4)}
	if got := largest("speed", levels); !strings.HasPrefix(got, "Largest speed within the SLO: 1.5, 31.4 requests/s sent (p99 TPOT") || !strings.Contains(got, "; not met at 2: ") {
		t.Error(got)
	}
	if got := largest("request-rate", levels); !strings.HasPrefix(got, "Largest request-rate within the SLO: 1.5 (p99") {
		t.Error(got)
	}
}

func TestTheConclusionOfAnExperiment(t *testing.T) {
	rising := []level{at("10", experiment.NotMet, 30, 500), at("1", experiment.Met, 10, 50), at("2", experiment.Met, 15, 60), at("5", experiment.Undecided, 19, 70)}
	for _, c := range []struct {
		why     string
		levels  []level
		expect  experiment.Expect
		verdict string
		largest string
	}{
		{"rows in any order; TTFT is further beyond", rising, experiment.Expect{MetAt: "2", Binds: "ttft"},
			"Hypothesis held: h (met at 2: p99 TPOT 15.0 ms of at most 20.0 ms, 25.0 % to spare; at 10, p99 TTFT from due 500 ms of at most 200 ms, 150 % beyond, and p99 TPOT 30.0 ms of at most 20.0 ms, 50.0 % beyond)",
			"Largest rate within the SLO: 2 (p99 TPOT 15.0 ms of at most 20.0 ms, 25.0 % to spare); undecided at 5: p99 TPOT 19.0 ms of at most 20.0 ms, 5.00 % to spare"},
		{"one claim that does not hold is enough", rising, experiment.Expect{NotMetAt: "10", Binds: "tpot"}, "Hypothesis not held: h (not met at 10: ", "Largest rate"},
		{"a level that is undecided decides nothing", rising, experiment.Expect{MetAt: "5"}, "Hypothesis undecided: h (undecided at 5: ", "Largest rate"},
		{"nothing misses", rising[1:3], experiment.Expect{Binds: "tpot"}, "Hypothesis undecided: h (no level misses the SLO)",
			"Largest rate within the SLO: 2 (p99 TPOT 15.0 ms of at most 20.0 ms, 25.0 % to spare); no larger one was tried"},
		{"stopped before", rising[1:2], experiment.Expect{NotMetAt: "10"}, "Hypothesis undecided: h (the experiment did not come to 10)", "Largest rate within the SLO: 1 ("},
		{"all miss", rising[:1], experiment.Expect{MetAt: "10"}, "Hypothesis not held: h (not met at 10: p99 TTFT from due", "No rate is shown to be within the SLO; not met at 10: p99 TTFT from due 500 ms"},
		{"levels without an order", []level{at("on", experiment.Met, 10, 50), at("off", experiment.NotMet, 30, 50)}, experiment.Expect{MetAt: "on"},
			"Hypothesis held: h (met at on: ", "SLO by rate: met: on; not met: off"},
	} {
		said := hypothesis(experiment.File{Hypothesis: "h", SLO: "slo.yaml", Expect: c.expect}, c.levels)
		if len(said) != 1 || !strings.HasPrefix(said[0], c.verdict) {
			t.Errorf("%s: got %q, want %q", c.why, said, c.verdict)
		}
		if got := largest("rate", c.levels); !strings.HasPrefix(got, c.largest) {
			t.Errorf("%s: got %q, want %q", c.why, got, c.largest)
		}
	}
}

// Of repeats the worst counts: not met before undecided before met, and of these the slower.
func TestTheWorstRepeatCounts(t *testing.T) {
	of := func(outcome string, observed float64) analysis.ObjectiveVerdict {
		return analysis.ObjectiveVerdict{Outcome: outcome, Observed: &observed}
	}
	for _, c := range []struct{ worse, better analysis.ObjectiveVerdict }{
		{of(analysis.NotMet, 1), of(analysis.Undecided, 2)},
		{of(analysis.Undecided, 1), of(analysis.Met, 2)},
		{of(analysis.Met, 2), of(analysis.Met, 1)},
		{of(analysis.Met, 1), of(analysis.Invalid, 9)},
	} {
		if !isWorse(c.worse, c.better) || isWorse(c.better, c.worse) {
			t.Errorf("%s %v is worse than %s %v", c.worse.Outcome, *c.worse.Observed, c.better.Outcome, *c.better.Observed)
		}
	}
}
