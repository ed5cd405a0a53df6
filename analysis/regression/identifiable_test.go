package regression

import (
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// Two runs of batches 1 to 64 at one context, the second of twice the batch: caches and sequences take 30 and 20 us of each
// request in both, so that only their sum is seen. At another context they part.
func TestRunsThatDifferInWhatCannotTellAreRefused(t *testing.T) {
	priors := map[string]float64{"kv": 0.2, "sequences": 0.3}
	runs := func(contexts ...float64) (rows []Row) {
		for i := range 40 {
			batch := float64(int(1)<<(i%6)) * float64(1+i/20)
			context := contexts[i/20]
			rows = append(rows, Row{
				Run: []string{"first", "second"}[i/20], TPOT: 5e-3 + batch*(1.1*30e-6*context+20e-6),
				Terms: map[string]float64{"weights": 5e-3, "kv": batch * 30e-6 * context, "sequences": batch * 20e-6},
			})
		}
		return rows
	}
	fit, held, err := FitIdentifiable(runs(1, 1), priors)
	must.Do(t, err)
	if len(fit.Terms) != 0 || !strings.Contains(held["kv"], "cannot be told from sequences") || !strings.Contains(held["sequences"], "from kv") {
		t.Errorf("at one context: fitted %v, held %v; want both held", fit.Terms, held)
	}
	if fit.Scales["kv"] != 1 || fit.Scales["sequences"] != 1 {
		t.Errorf("held, they moved to %v", fit.Scales)
	}
	fit, held, err = FitIdentifiable(runs(1, 4), priors)
	must.Do(t, err)
	if i := fit.Intervals["kv"]; len(held) != 0 || i[0] > 1.1 || i[1] < 1.1 {
		t.Errorf("at two contexts: held %v, kv %v in %v, truly 1.1", held, fit.Scales["kv"], fit.Intervals["kv"])
	}
}

// 3 us of 10 ms, a spread of 0.3: no measurement of 1 % can say more of it.
func TestWhatIsTooSmallToSeeKeepsItsLength(t *testing.T) {
	var rows []Row
	for range 20 {
		rows = append(rows, Row{TPOT: 11e-3, Terms: map[string]float64{"weights": 10e-3, "step": 3e-6}})
	}
	fit, held, err := FitIdentifiable(rows, map[string]float64{"weights": 0.1, "step": 0.3})
	must.Do(t, err)
	if !strings.Contains(held["step"], "as uncertain as before (100 %") || fit.Scales["step"] != 1 {
		t.Errorf("step is %v, held %v", fit.Scales["step"], held)
	}
	if got := fit.Scales["weights"]; got < 1.08 || got > 1.1 {
		t.Errorf("weights are %v times as long; want almost 1.1", got)
	}
}
