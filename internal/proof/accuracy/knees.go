//go:build duckdb_arrow

package accuracy

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// Stage is one load that somebody sent to a server: what was measured, and the same load as requests for a rehearsal.
type Stage struct {
	Name       string
	Level      float64 // requests/s asked for; of batch limits the limit, of offline batches their size
	Measured   Figures
	Requests   []plan.Request
	InFlight   int     // the client had no more at once; 0: no cap
	MaxNumSeqs int     // where it differs from stage to stage
	KVBlocks   int     // as the server said; 0: not known
	PerStep    float64 // tokens that a step yields for a sequence: 1 without speculation
}

// Figures are what a stage came to; NaN: the file does not say.
type Figures struct {
	PerS             float64 // requests completed per second, from the first sent to the last ended
	P50TTFT, P99TTFT float64 // seconds from sending
	P50TPOT, P99TPOT float64 // seconds
}

// Most is the largest throughput of a sweep.
func Most(stages []Figures) float64 {
	most := math.Inf(-1)
	for _, s := range stages {
		most = max(most, s.PerS)
	}
	return most
}

// Crossing is the level at which a figure first passes a bound, upwards, on straight lines through the logarithms of both. NaN: it never does,
// or is beyond it from the start.
func Crossing(levels, values []float64, bound float64) float64 {
	for i := 1; i < len(levels); i++ {
		before, after := values[i-1], values[i]
		if before <= bound && after > bound {
			share := math.Log(bound/before) / math.Log(after/before)
			return levels[i-1] * math.Pow(levels[i]/levels[i-1], share)
		}
	}
	return math.NaN()
}

// inferencePerf is a stage report of inference-perf.
type inferencePerf struct {
	Load struct {
		Count int     `json:"count"`
		Rate  float64 `json:"requested_rate"`
	} `json:"load_summary"`
	Successes struct {
		Latency struct {
			E2E  map[string]float64 `json:"request_latency"`
			TPOT map[string]float64 `json:"time_per_output_token"`
			TTFT map[string]float64 `json:"time_to_first_token"`
		} `json:"latency"`
		Throughput struct {
			RequestsPerS float64 `json:"requests_per_sec"`
		} `json:"throughput"`
		PromptLen map[string]float64 `json:"prompt_len"`
	} `json:"successes"`
}

// What inference-perf's sweep sent (config.yaml beside the results): 64 tokens with ignore_eos, for 60 s, from 44 workers of ten
// requests each. The reports give the retokenized length of an answer, 62.4, which is not what the server generated.
const (
	sweepAnswer   = 64
	sweepSeconds  = 60.0
	sweepInFlight = 440
)

// ReadSweep reads the stages of an inference-perf report. Its client counts two gaps a chunk, one of them of a few microseconds, so its
// time_per_output_token is half of what it should be: its distribution is kept and its mean set to (mean latency - mean TTFT) / 63.
func ReadSweep(folder string, seed uint64) (stages []Stage, err error) {
	for i := range 7 {
		var report inferencePerf
		if err := readJSON(filepath.Join(folder, fmt.Sprintf("stage_%d_lifecycle_metrics.json", i)), &report); err != nil {
			return nil, err
		}
		of := report.Successes.Latency
		mean := (of.E2E["mean"] - of.TTFT["mean"]) / (sweepAnswer - 1)
		scale := mean / of.TPOT["mean"]
		stages = append(stages, Stage{
			Name: fmt.Sprintf("%.1f/s", report.Load.Rate), Level: report.Load.Rate, InFlight: sweepInFlight,
			Measured: Figures{
				PerS: report.Successes.Throughput.RequestsPerS, P50TTFT: of.TTFT["median"], P99TTFT: of.TTFT["p99"],
				P50TPOT: scale * of.TPOT["median"], P99TPOT: scale * of.TPOT["p99"],
			},
			Requests: sweepRequests(report, rand.New(rand.NewPCG(seed, uint64(i)))),
			// A step of a speculating engine yields one chunk; the tool sees two gaps for each, and 1.4 at the end.
			PerStep: max(1, sweepAnswer/((mean*(sweepAnswer-1)/of.TPOT["mean"]-1.4)/2)),
		})
	}
	return stages, nil
}

// sweepRequests has gaps as the tool's "constant" load draws them: exponential, scaled to fill the stage.
func sweepRequests(report inferencePerf, rng *rand.Rand) []plan.Request {
	gaps, sum := make([]float64, report.Load.Count), 0.0
	for i := range gaps {
		gaps[i] = rng.ExpFloat64()
		sum += gaps[i]
	}
	at, requests := 0.0, make([]plan.Request, report.Load.Count)
	for i := range requests {
		at += gaps[i] / sum * sweepSeconds
		requests[i] = plan.Request{
			Seq: int64(i), Due: time.Duration(at * 1e9),
			InputTokens: int(math.Round(drawn(report.Successes.PromptLen, rng.Float64()))), OutputTokens: sweepAnswer,
		}
	}
	return requests
}

// SharePrefixes makes the prompts those of the sweep's data set: ten system prompts of 128 tokens, each with ten questions.
func SharePrefixes(requests []plan.Request, rng *rand.Rand) {
	for i := range requests {
		r := &requests[i]
		question := uint64(rng.IntN(100))
		r.BlockTokens = 16
		for block := range (r.InputTokens + 15) / 16 {
			id := question%10<<8 | uint64(block)
			if block >= 8 {
				id = 1<<32 | question<<8 | uint64(block)
			}
			r.Blocks = append(r.Blocks, id)
		}
	}
}

var quantileNames = []struct {
	at   float64
	name string
}{{0, "min"}, {0.001, "p0.1"}, {0.01, "p1"}, {0.05, "p5"}, {0.1, "p10"}, {0.25, "p25"}, {0.5, "median"}, {0.75, "p75"}, {0.9, "p90"}, {0.95, "p95"}, {0.99, "p99"}, {0.999, "p99.9"}, {1, "max"}}

// drawn is the value at a share of a distribution of which a report gives the quantiles.
func drawn(of map[string]float64, share float64) float64 {
	for i := 1; i < len(quantileNames); i++ {
		if low, high := quantileNames[i-1], quantileNames[i]; share <= high.at {
			return of[low.name] + (share-low.at)/(high.at-low.at)*(of[high.name]-of[low.name])
		}
	}
	return of["max"]
}

// ReadBatchLimits reads seven runs of 2,000 requests at once, which differ in the server's max-num-seqs.
func ReadBatchLimits(folder string) (stages []Stage, err error) {
	for _, limit := range []int{1, 4, 16, 64, 128, 256, 512} {
		run := filepath.Join(folder, fmt.Sprintf("h100-64gb-llama-2-7b-out260-maxseqs%d", limit))
		reports, err := filepath.Glob(filepath.Join(run, "openai-*.json"))
		if err != nil || len(reports) != 1 {
			return nil, fmt.Errorf("%s: want one openai-*.json: %d, %w", run, len(reports), err)
		}
		var r struct {
			PerS       float64 `json:"request_throughput"`
			MedianTTFT float64 `json:"median_ttft_ms"`
			P99TTFT    float64 `json:"p99_ttft_ms"`
			MedianTPOT float64 `json:"median_tpot_ms"`
			P99TPOT    float64 `json:"p99_tpot_ms"`
		}
		if err := readJSON(reports[0], &r); err != nil {
			return nil, err
		}
		said, err := os.ReadFile(filepath.Join(run, "cache_config.txt"))
		if err != nil {
			return nil, err
		}
		blocks := regexp.MustCompile(`num_gpu_blocks="(\d+)"`).FindSubmatch(said)
		if blocks == nil {
			return nil, fmt.Errorf("%s: cache_config.txt: no num_gpu_blocks", run)
		}
		s := Stage{Name: fmt.Sprint(limit), Level: float64(limit), MaxNumSeqs: limit, PerStep: 1, Requests: atOnce(2000, 250, 261)}
		s.KVBlocks, _ = strconv.Atoi(string(blocks[1]))
		s.Measured = Figures{r.PerS, 1e-3 * r.MedianTTFT, 1e-3 * r.P99TTFT, 1e-3 * r.MedianTPOT, 1e-3 * r.P99TPOT}
		stages = append(stages, s)
	}
	return stages, nil
}

func atOnce(n, input, output int) []plan.Request {
	requests := make([]plan.Request, n)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), InputTokens: input, OutputTokens: output}
	}
	return requests
}

// ReadOffline reads benchmark_throughput.py's batches of one prompt length: all requests at once, no latencies.
func ReadOffline(folder string, input int, batches ...int) (stages []Stage, err error) {
	const output = 2048
	for _, n := range batches {
		var r struct {
			PerS float64 `json:"requests_per_second"`
		}
		if err := readJSON(filepath.Join(folder, fmt.Sprintf("nvidia-throughput_test_ip%d_op%d_np%d.json", input, output, n)), &r); err != nil {
			return nil, err
		}
		s := Stage{Name: fmt.Sprint(n), Level: float64(n), PerStep: 1, Requests: atOnce(n, input, output)}
		s.Measured = Figures{r.PerS, math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		stages = append(stages, s)
	}
	return stages, nil
}

// ReadServing reads a result of benchmark_serving.py with an array for each request. Its TTFT and TPOT quantiles are computed anew over the
// requests that have tokens: an answer whose first token ended it is recorded with a TTFT of 0.
func ReadServing(pattern string, seed uint64) (s Stage, err error) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) != 1 {
		return s, fmt.Errorf("%s: want one file: %d, %w", pattern, len(paths), err)
	}
	var r struct {
		Rate    float64     `json:"request_rate"`
		PerS    float64     `json:"request_throughput"`
		Inputs  []int       `json:"input_lens"`
		Outputs []int       `json:"output_lens"`
		TTFTs   []float64   `json:"ttfts"`
		Gaps    [][]float64 `json:"itls"`
	}
	if err := readJSON(paths[0], &r); err != nil {
		return s, err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	var ttfts, tpots []float64
	at := 0.0
	for i, input := range r.Inputs {
		s.Requests = append(s.Requests, plan.Request{Seq: int64(i), Due: time.Duration(at * 1e9), InputTokens: input, OutputTokens: max(1, len(r.Gaps[i])+1)})
		at += rng.ExpFloat64() / r.Rate
		if r.TTFTs[i] > 0 {
			ttfts = append(ttfts, r.TTFTs[i])
		}
		if len(r.Gaps[i]) > 0 {
			tpots = append(tpots, stat.Mean(r.Gaps[i]))
		}
	}
	slices.Sort(ttfts)
	slices.Sort(tpots)
	s.Name, s.Level, s.PerStep = fmt.Sprintf("%.0f/s", r.Rate), r.Rate, 1
	s.Measured = Figures{r.PerS, stat.Quantile(ttfts, 0.5), stat.Quantile(ttfts, 0.99), stat.Quantile(tpots, 0.5), stat.Quantile(tpots, 0.99)}
	return s, nil
}

func readJSON(path string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	if filepath.Ext(path) == ".gz" {
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		decoder = json.NewDecoder(unzipped)
	}
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
