//go:build duckdb_arrow

package gate_test

import (
	"bufio"
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

// A gate of 5 % over three repeats on each side: a simulator that takes 8 % longer for every step makes it red in 19 of 20 nights, and one
// that has not changed in at most 1 of 20. Every run of every night has traffic of its own: 3,000 requests of 5 minutes, played in virtual time.
//
// Noise is small beside 5 %. So the unchanged one is judged with a bound of nearly nothing too: then only the width of the intervals stands
// between noise and a false alarm, and of 20 nights one may be red on average. Four or more would be so in 1.6 % of series.
//
// One run on each side is asked as well, three times a night.
func TestASlowerServerIsRedAndItsNoiseIsNot(t *testing.T) {
	nights := proof.Many(1, 20)
	red := map[string]int{}
	for night := range nights {
		w, sides := measuredNight(t, uint64(100*night))
		count := func(what, bound string, before, after []string) {
			decision := decide(t, w.DB(), before, after, question(t, bound, ""))
			if len(before) > 1 || decision.IsRed() {
				t.Logf("night %d, %s: %s", night+1, what, decision.FirstLine())
			}
			if decision.IsRed() {
				red[what]++
			}
		}
		count("unchanged", "5%", sides["before"], sides["same"])
		count("unchanged, no bound", "0.001%", sides["before"], sides["same"])
		count("slower", "5%", sides["before"], sides["slower"])
		for i := range proof.Many(1, 3) {
			one := func(side string) []string { return sides[side][i : i+1] }
			count("one run, unchanged", "5%", one("before"), one("same"))
			count("one run, unchanged, no bound", "0.001%", one("before"), one("same"))
			count("one run, slower", "5%", one("before"), one("slower"))
		}
	}
	t.Logf("of %d nights, red: %v", nights, red)
	for what, most := range map[string]int{"unchanged": nights / 20, "unchanged, no bound": 3, "one run, unchanged": 3 * nights / 20, "one run, unchanged, no bound": 7} {
		if red[what] > most {
			t.Errorf("%s: %d are red, want at most %d", what, red[what], most)
		}
	}
	if want := int(math.Ceil(0.95 * float64(nights))); red["slower"] < want {
		t.Errorf("8 %% slower: red in %d of %d nights, want %d", red["slower"], nights, want)
	}
}

// measuredNight is a warehouse with three runs of each side.
func measuredNight(t *testing.T, seed uint64) (*warehouse.Warehouse, map[string][]string) {
	t.Helper()
	w := warehousetest.Open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.26.0"}
	cost := must.Get(analysis.LoadStepCost(t.Context(), w.DB(), d))(t)
	runs, sides := nightOf{seed: seed}, map[string][]string{}
	runs.open(t)
	for _, side := range []struct {
		name   string
		slower float64
	}{{"before", 1}, {"same", 1}, {"slower", 1.08}} {
		for range 3 {
			sides[side.name] = append(sides[side.name], runs.play(t, side.name, d, slowed(cost.Engine(), side.slower)))
		}
	}
	warehousetest.Put(t, w, runs.statements(t)...)
	return w, sides
}

// slowed takes longer for each step.
func slowed(c engine.Config, factor float64) engine.Config {
	own := c.StepTime
	c.StepTime = func(s engine.Step) time.Duration { return time.Duration(factor * float64(own(s))) }
	return c
}

// nightOf writes the runs of a night for one insert.
type nightOf struct {
	seed  uint64
	path  string
	file  *os.File
	out   *bufio.Writer
	heads []string
}

func (n *nightOf) open(t *testing.T) {
	t.Helper()
	n.path = filepath.Join(t.TempDir(), "requests.csv")
	n.file = must.Get(os.Create(n.path))(t)
	n.out = bufio.NewWriter(n.file)
}

// play is one run with traffic of its own.
func (n *nightOf) play(t *testing.T, side string, d deployment.Deployment, server engine.Config) string {
	t.Helper()
	n.seed++
	run := fmt.Sprint(side, "-", n.seed)
	count := 0
	settings := rehearsal.Settings{Engine: server, IsCold: true}
	settings.Engine.MaxModelLen = 32768
	must.Do(t, rehearsal.Play(t.Context(), settings, traffic(n.seed), func(r *rehearsal.Request) error {
		count++
		_, err := fmt.Fprintf(n.out, "%s,%d,%d,%d,%v,%v,%v\n", run, r.Seq, r.InputTokens, r.OutputTokens, r.Sent.Seconds(), r.First.Seconds(), r.Last.Seconds())
		return err
	}))
	n.heads = append(n.heads, fmt.Sprintf(`insert into raw.runs values ('%s', %d, '{"status": "done", "started_at": "2026-11-20T10:00:00Z", "ended_at": "2026-11-20T11:00:00Z",
		"plan": {"requests": %[3]d, "fingerprint": "%[1]s", "source": "chat"}, "result": {"planned": %[3]d, "is_valid": true}, "server": {"is_simulated": true},
		"environment": {"gpu": %[4]q, "catalog_model": %[5]q, "engine_version": %[6]q}}')`, run, len(n.heads)+1, count, d.GPU, d.CatalogModel, d.EngineVersion))
	return run
}

func (n *nightOf) statements(t *testing.T) []string {
	t.Helper()
	must.Do(t, cmp.Or(n.out.Flush(), n.file.Close()))
	return append(n.heads, fmt.Sprintf(`insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
select run, seq, false, input, output, sent_s, sent_s, first_s, last_s, last_s, output
from read_csv('%s', header = false, columns = {'run': 'varchar', 'seq': 'bigint', 'input': 'bigint', 'output': 'bigint', 'sent_s': 'double', 'first_s': 'double', 'last_s': 'double'})`, n.path))
}

// traffic is five minutes of a Poisson process of ten requests a second, with lengths as a chat has them.
func traffic(seed uint64) iter.Seq2[plan.Request, error] {
	return func(yield func(plan.Request, error) bool) {
		rng := rand.New(rand.NewPCG(seed, 33))
		due := 0.0
		for seq := int64(0); ; seq++ {
			due += rng.ExpFloat64() / 10
			length := func(median, spread float64) int {
				return int(max(2, min(median*math.Exp(spread*rng.NormFloat64()), 8000)))
			}
			r := plan.Request{Seq: seq, Due: time.Duration(due * 1e9), InputTokens: length(400, 0.8), OutputTokens: length(100, 0.65)}
			if due > 300 || !yield(r, nil) {
				return
			}
		}
	}
}
