//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"database/sql"
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
	"tidemark/internal/proof/must"
)

// The formulas against their own queue, event by event, where they are exact: 400,000 Poisson arrivals at a
// utilization of 0.8.
func TestFormulasAgainstEvents(t *testing.T) {
	w := open(t)
	random := rand.New(rand.NewPCG(7, 8))
	const n, serviceS = 400_000, 0.2
	equal := func() float64 { return serviceS }
	exponential := func() float64 { return serviceS * random.ExpFloat64() }
	for _, test := range []struct {
		model   string
		servers int
		cv      float64
		service func() float64
	}{
		{"M/M/1", 1, 1, exponential}, {"M/G/1", 1, 0, equal}, {"M/M/c", 4, 1, exponential},
	} {
		rate := 0.8 * float64(test.servers) / serviceS
		arrivals, services := make([]float64, n), make([]float64, n)
		now := 0.0
		for i := range arrivals {
			now += random.ExpFloat64() / rate
			arrivals[i], services[i] = now, test.service()
		}
		got := queueing.Serve(arrivals, services, test.servers).MeanWaitS
		want := modelWait(t, w.DB(), test.model, queueing.Load{RatePerS: rate, ServiceS: serviceS, Servers: test.servers, ArrivalCV: 1, ServiceCV: test.cv})
		if math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: events wait %.4g s, the formula says %.4g", test.model, got, want)
		}
	}
}

func TestQueueOfNonsense(t *testing.T) {
	w := open(t)
	good := queueing.Load{RatePerS: 1, ServiceS: 0.1, Servers: 1}
	for what, spoil := range map[string]func(*queueing.Load){
		"-1 is no arrival rate":            func(l *queueing.Load) { l.RatePerS = -1 },
		"0 is no service time":             func(l *queueing.Load) { l.ServiceS = 0 },
		"NaN is no service time":           func(l *queueing.Load) { l.ServiceS = math.NaN() },
		"0 is no number of servers":        func(l *queueing.Load) { l.Servers = 0 },
		"+Inf is no cv of the arrivals":    func(l *queueing.Load) { l.ArrivalCV = math.Inf(1) },
		"-2 is no cv of the service times": func(l *queueing.Load) { l.ServiceCV = -2 },
	} {
		load := good
		spoil(&load)
		must.Refuse(analysis.QueueModels(context.Background(), w.DB(), load))(t, what, "not negative")
	}
	flow, err := analysis.Overloaded(context.Background(), w.DB(), 6, 5, 600, 4)
	if err != nil || flow.BacklogRequests != 600 || flow.WaitS != 120 || flow.RecoveryS == nil || *flow.RecoveryS != 600 {
		t.Errorf("Overloaded: got %+v, %v", flow, err)
	}
	if flow, _ = analysis.Overloaded(context.Background(), w.DB(), 6, 5, 600, 5); flow.RecoveryS != nil {
		t.Errorf("Overloaded: a backlog at capacity goes after %v s", *flow.RecoveryS)
	}
}

func modelWait(t *testing.T, db *sql.DB, model string, load queueing.Load) float64 {
	t.Helper()
	table := must.Get(analysis.QueueModels(context.Background(), db, load))(t)
	for _, row := range table.Rows {
		if row[0] == model {
			return row[9].(float64)
		}
	}
	t.Fatalf("no row of %s", model)
	return 0
}
