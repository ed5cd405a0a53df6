package capacity

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// steps is a server's step time: a + b*sequences + c*context + d*prefill + e*pairs, in seconds.
type steps struct{ a, b, c, d, e float64 }

// Llama 8B on an H100 and 70B in FP8 on an H200: weights over bandwidth, KV bytes over bandwidth, FLOPs over what is reached.
var (
	llama8B  = steps{6.5e-3, 20e-6, 0.045e-6, 30e-6, 0.9e-9}
	llama70B = steps{19e-3, 40e-6, 0.08e-6, 150e-6, 2.8e-9}
)

// off are these constants with some wrong by a factor.
func (s steps) off(decode, context, prefill, pairs float64) steps {
	return steps{s.a * decode, s.b * decode, s.c * context, s.d * prefill, s.e * pairs}
}

func (s steps) time(step engine.Step) time.Duration {
	return time.Duration(1e9 * (s.a + s.b*float64(step.DecodeSequences) + s.c*float64(step.ContextTokens) + s.d*float64(step.PrefillTokens) + s.e*step.PrefillPairs))
}

// poisson is a window with exponential gaps and lengths like those of conversations.
func poisson(perS float64, length time.Duration, seed uint64) []plan.Request {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var window []plan.Request
	for at := rnd.ExpFloat64() / perS; at < length.Seconds(); at += rnd.ExpFloat64() / perS {
		window = append(window, plan.Request{
			Seq: int64(len(window)), Due: time.Duration(at * 1e9),
			InputTokens: 20 + int(math.Exp(6.5+0.9*rnd.NormFloat64())), OutputTokens: 2 + int(math.Exp(5+0.6*rnd.NormFloat64())),
		})
	}
	return window
}

// conversations have turns with think times and prompts that grow by what was said.
func conversations(perS float64, length time.Duration, seed uint64) []plan.Request {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var window []plan.Request
	n := 0
	for at := 0.0; at < length.Seconds(); at += rnd.ExpFloat64() / perS {
		n++
		due, prompt := at, 0
		for turn := 0; turn < 8 && due < length.Seconds(); turn++ {
			think := time.Duration(1e9 * (4 + 20*rnd.ExpFloat64()))
			if turn > 0 {
				due += think.Seconds()
			}
			prompt += 100 + rnd.IntN(700)
			r := plan.Request{Due: time.Duration(due * 1e9), InputTokens: prompt, OutputTokens: 20 + rnd.IntN(300), Session: fmt.Sprint("s", n), Turn: turn, BlockTokens: 64}
			if turn > 0 {
				r.Think = &think
			}
			for b := range (prompt + 63) / 64 {
				r.Blocks = append(r.Blocks, uint64(n*1000+b))
			}
			prompt += r.OutputTokens
			if due < length.Seconds() {
				window = append(window, r)
			}
			if rnd.Float64() < 0.25 {
				break
			}
		}
	}
	sorted, err := plan.Scaled(byDue(window), plan.Choices{Mode: "sessions"})
	if err != nil {
		panic(err)
	}
	return sorted
}

func byDue(window []plan.Request) []plan.Request {
	for i := range window { // sessions one after the other: insertion is enough for a test
		for j := i; j > 0 && window[j].Due < window[j-1].Due; j-- {
			window[j], window[j-1] = window[j-1], window[j]
		}
	}
	for i := range window {
		window[i].Seq = int64(i)
	}
	return window
}

func shared(t testing.TB, name string) string {
	folder := os.Getenv("TIDEMARK_SHARED")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(folder, "traces", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the trace is not there: %v", err)
	}
	return path
}

// azure is a window of a trace of 2023, from and for so long.
func azure(t testing.TB, name string, from, length time.Duration) []plan.Request {
	file := must.Get(os.Open(shared(t, "azure-2023/AzureLLMInferenceTrace_"+name+".csv")))(t)
	defer file.Close()
	var window []plan.Request
	var zero time.Time
	for lines := bufio.NewScanner(file); lines.Scan(); {
		cells := strings.Split(strings.TrimSpace(lines.Text()), ",")
		at, err := time.Parse("2006-01-02 15:04:05.9999999", cells[0])
		if err != nil {
			continue // the header
		}
		if zero.IsZero() {
			zero = at
		}
		input, _ := strconv.Atoi(cells[1])
		output, _ := strconv.Atoi(cells[2])
		if due := at.Sub(zero) - from; due >= 0 && due < length && output > 0 {
			window = append(window, plan.Request{Seq: int64(len(window)), Due: due, InputTokens: max(input, 1), OutputTokens: output})
		}
	}
	return window
}

// mooncake is a window of the conversation trace, spread over its ticks of 3 s.
func mooncake(t testing.TB, from, length time.Duration) []plan.Request {
	file := must.Get(os.Open(shared(t, "mooncake/conversation_trace.jsonl")))(t)
	defer file.Close()
	var window []plan.Request
	lines := bufio.NewScanner(file)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var row struct {
			Timestamp    int64    `json:"timestamp"`
			InputLength  int      `json:"input_length"`
			OutputLength int      `json:"output_length"`
			HashIDs      []uint64 `json:"hash_ids"`
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &row))
		if due := time.Duration(row.Timestamp)*time.Millisecond - from; due >= 0 && due < length && row.OutputLength > 0 {
			window = append(window, plan.Request{Seq: int64(len(window)), Due: due, InputTokens: row.InputLength, OutputTokens: row.OutputLength, Blocks: row.HashIDs, BlockTokens: 512})
		}
	}
	spread := must.Get(plan.Scaled(window, plan.Choices{SpreadTicks: 3 * time.Second}))(t)
	return spread
}
