//go:build duckdb_arrow && coverage

package accuracy_test

import (
	"bufio"
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// The study plays pairs of runs whose latencies remember each other: the logarithm of a request's TTFT is that of its prompt, which both
// runs share if they have one plan, plus an AR(1) process of the run itself. The other run is slower by a known ratio, so that every mean
// and every percentile has this ratio. How often does the interval of marts.run_pairs hold it?
const (
	trueRatio    = 1.1
	spreadOfSeq  = 0.5 // standard deviation of what the request itself does to the logarithm
	spreadOfTime = 0.3 // of what its time does
)

func TestIntervalsOfPairs(t *testing.T) {
	const pairs, batch = 400, 5
	fmt.Println("| runs | memory | requests | statistic | intervals given % | of these right % | mean width of the interval % |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, study := range []struct {
		isPaired bool
		memory   float64 // of the AR(1) process from one request to the next
		requests int
	}{
		{true, 0, 2000}, {true, 0.9, 2000}, {true, 0.95, 4000},
		{false, 0, 2000}, {false, 0.9, 2000}, {false, 0.95, 4000},
	} {
		name := map[bool]string{true: "paired", false: "unpaired"}[study.isPaired]
		t.Run(fmt.Sprintf("%s, memory %v", name, study.memory), func(t *testing.T) {
			of := map[string]*covered{}
			for from := 0; from < pairs; from += batch {
				db := warehousetest.Open(t, pairStatements(t, study.isPaired, study.memory, study.requests, from, from+batch)...).DB()
				countCovered(t, db, of)
			}
			for _, statistic := range []string{"mean", "p50", "p90", "p95", "p99"} {
				o := of[statistic]
				share := float64(o.right) / float64(max(o.given, 1))
				fmt.Printf("| %s | %v | %d | %s | %.1f | %.1f | %.1f |\n", name, study.memory, study.requests, statistic,
					100*float64(o.given)/pairs, 100*share, 100*o.width/float64(max(o.given, 1)))
				// p99 of 2,000 rests on twenty samples, and its interval is a little too wide.
				if o.given >= pairs/4 && (share < 0.85 || share > 0.965) {
					t.Errorf("%s: %.1f %% of %d intervals hold the ratio, want 85 to 96.5", statistic, 100*share, o.given)
				}
			}
		})
	}
}

// covered counts the intervals of a statistic.
type covered struct {
	given, right int
	width        float64 // sum over those given
}

// countCovered asks for all pairs of the warehouse, each once.
func countCovered(t *testing.T, db *sql.DB, of map[string]*covered) {
	t.Helper()
	rows := must.Get(db.Query(`
		select statistic, low_ratio, high_ratio
		from marts.run_pairs
		where metric = 'ttft_s' and run_id like 'a%' and other_run_id = 'b' || run_id[2:]`))(t)
	defer rows.Close()
	for rows.Next() {
		var statistic string
		var low, high *float64
		must.Do(t, rows.Scan(&statistic, &low, &high))
		o := of[statistic]
		if o == nil {
			o = &covered{}
			of[statistic] = o
		}
		if low == nil {
			continue
		}
		o.given++
		o.width += *high - *low
		if *low <= trueRatio && trueRatio <= *high {
			o.right++
		}
	}
	must.Do(t, rows.Err())
}

// pairStatements put pairs of runs in: a0 and b0, a1 and b1, ... Runs that are not paired have prompts and plans of their own.
func pairStatements(t *testing.T, isPaired bool, memory float64, requests, from, until int) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.csv")
	file := must.Get(os.Create(path))(t)
	out := bufio.NewWriter(file)
	var statements []string
	for pair := from; pair < until; pair++ {
		rng := rand.New(rand.NewPCG(uint64(pair), 11))
		shared := make([]float64, requests)
		for i := range shared {
			shared[i] = spreadOfSeq * rng.NormFloat64()
		}
		for _, run := range []struct {
			name  string
			ratio float64
		}{{"a", 1}, {"b", trueRatio}} {
			plan := fmt.Sprintf("plan %d", pair)
			if !isPaired {
				plan += run.name
			}
			statements = append(statements, fmt.Sprintf(`insert into raw.runs values ('%s%d', %d,
				'{"status": "done", "ended_at": "2026-01-01T00:00:00Z", "result": {"is_valid": true}, "plan": {"fingerprint": "%s"}}')`,
				run.name, pair, 1+2*pair+len(statements)%2, plan))
			state := spreadOfTime * rng.NormFloat64()
			for seq := range requests {
				own := shared[seq]
				if !isPaired {
					own = spreadOfSeq * rng.NormFloat64()
				}
				fmt.Fprintf(out, "%s%d,%d,%d,%.9f\n", run.name, pair, seq, seq, 0.1*run.ratio*math.Exp(own+state))
				state = memory*state + spreadOfTime*math.Sqrt(1-memory*memory)*rng.NormFloat64()
			}
		}
	}
	must.Do(t, cmp.Or(out.Flush(), file.Close()))
	return append(statements, fmt.Sprintf(`insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
select run, seq, false, 1, 1, at_s, at_s, at_s + ttft_s, at_s + ttft_s, at_s + ttft_s, 1
from read_csv('%s', header = false, columns = {'run': 'varchar', 'seq': 'bigint', 'at_s': 'double', 'ttft_s': 'double'})`, path))
}
