package tune

import (
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
)

// BenchmarkRank10000 is stage one over 10^4 candidates: 25 limits of sequences, 20 of tokens, 5 sizes of the KV cache, a prefix cache or
// none, one GPU or two.
func BenchmarkRank10000(b *testing.B) {
	list := func(from, by, n int) string {
		var values []string
		for i := range n {
			values = append(values, strconv.Itoa(from+i*by))
		}
		return "[" + strings.Join(values, ", ") + "]"
	}
	f := must.Get(Parse([]byte(head + "space:\n  max_num_seqs: " + list(16, 16, 25) + "\n  max_num_batched_tokens: " + list(512, 512, 20) +
		"\n  gpu_memory_utilization: [0.80, 0.84, 0.88, 0.92, 0.96]\n  enable_prefix_caching: [true, false]\n  tensor_parallel_size: [1, 2]\n")))(b)
	candidates, err := f.Candidates()
	if err != nil || len(candidates) != 10_001 {
		b.Fatal(len(candidates), err)
	}
	for b.Loop() {
		_, err := f.Rehearse(b.Context(), candidates, func(_ int, c *Candidate) (Modelled, error) {
			d := c.Deployment
			if c.IsBaseline {
				d.MaxNumSeqs, d.MaxNumBatchedTokens, d.GPUMemoryUtilization, d.TensorParallelSize = 256, 8192, 0.9, 1
			}
			q := question(d.MaxNumSeqs, d.MaxNumBatchedTokens, int(40_000*(d.GPUMemoryUtilization-0.5)))
			steps, faster := q.Twin.StepTime, -0.7*math.Log(float64(d.TensorParallelSize))
			q.Twin.StepTime = func(s capacity.Shift) func(engine.Step) time.Duration {
				return steps(capacity.Shift{Decode: s.Decode, Prefill: s.Prefill, All: s.All + faster})
			}
			return Modelled{Question: q, USDPerHour: 3 * float64(d.TensorParallelSize)}, nil
		}, func(chosen []Candidate) ([]float64, error) { return make([]float64, len(chosen)), nil }, func(string, int, int) {})
		if err != nil {
			b.Fatal(err)
		}
	}
	var used syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/ranking")
	b.ReportMetric(time.Duration(used.Utime.Nano()+used.Stime.Nano()).Seconds()/float64(b.N), "cpu-s/ranking") // others may use the cores
}
