//go:build peers

package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// load is what every client is asked to send, each in its own words.
type load struct {
	name    string
	streams int     // all at once; 0: by rate or trace
	rate    float64 // requests per second, evenly
	trace   []arrival
	tokens  int // of each answer, where there is no trace
	count   int // requests in all
	// isRecorded marks the recorded trace, whose shared blocks a client must be able to read.
	isRecorded bool
	// hogs share the client's core with it.
	hogs int
	// limit ends a client that takes longer, from its first request on.
	limit time.Duration
	// untilFirst ends it at its first request: the time to there is what is wanted.
	untilFirst bool
}

// arrival is a row of a trace.
type arrival struct {
	Due    float64 // seconds from the first
	Input  int     // tokens
	Output int
	Blocks []int64 // prefix ids, one per 512 tokens
}

const (
	promptTokens = 100              // of a request without a trace
	blockTokens  = 512              // as in Mooncake's traces
	longest      = 75 * time.Second // from the first request to the end of the report
)

func loads(t *testing.T) []load {
	all := []load{
		{name: "streams-64", streams: 64, tokens: 1000, count: 64, limit: longest},
		{name: "streams-512", streams: 512, tokens: 1000, count: 512, limit: longest},
		{name: "rate-500", rate: 500, tokens: 16, count: 4000, limit: longest},
		{name: "rate-2000", rate: 2000, tokens: 16, count: 10_000, limit: longest},
		{name: "crowded", rate: 500, tokens: 16, count: 2000, hogs: 6, limit: longest},
		{name: "first-request", trace: evenTrace(2000), count: 2000, limit: longest, untilFirst: true},
	}
	if trace := conversation(t, 1000, 10); trace != nil {
		all = append(all, load{name: "mooncake", trace: trace, count: len(trace), isRecorded: true, limit: longest})
	}
	return all
}

// dues are the instants at which the requests should go, from the first one on.
func (l load) dues() []float64 {
	dues := make([]float64, l.count)
	for i := range dues {
		switch {
		case l.trace != nil:
			dues[i] = l.trace[i].Due
		case l.rate > 0:
			dues[i] = float64(i) / l.rate
		}
	}
	return dues
}

// rows is the load as a trace, for clients that are given one.
func (l load) rows() []arrival {
	if l.trace != nil {
		return l.trace
	}
	rows := make([]arrival, l.count)
	for i, due := range l.dues() {
		rows[i] = arrival{Due: due, Input: promptTokens, Output: l.tokens}
	}
	return rows
}

// evenTrace has n rows of a quarter of a block that is nobody else's, a hundred a second.
func evenTrace(n int) []arrival {
	rows := make([]arrival, n)
	for i := range rows {
		rows[i] = arrival{Due: float64(i) / 100, Input: blockTokens / 4, Output: 16, Blocks: []int64{int64(i)}}
	}
	return rows
}

// conversation is the beginning of Mooncake's trace, played faster; nil, and said
// aloud, where the recorded traces are not at hand.
func conversation(t *testing.T, n int, speed float64) []arrival {
	path := filepath.Join(shared(), "traces", "mooncake", "conversation_trace.jsonl")
	file, err := os.Open(path)
	if err != nil {
		t.Logf("LEFT OUT: Mooncake's conversation: %v; say where the shared data is in TIDEMARK_SHARED", err)
		return nil
	}
	defer file.Close()
	var rows []arrival
	for in := json.NewDecoder(file); len(rows) < n; {
		var row struct {
			Timestamp float64 `json:"timestamp"` // milliseconds
			Input     int     `json:"input_length"`
			Output    int     `json:"output_length"`
			Blocks    []int64 `json:"hash_ids"`
		}
		if err := in.Decode(&row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rows = append(rows, arrival{Due: row.Timestamp / 1000 / speed, Input: row.Input, Output: row.Output, Blocks: row.Blocks})
	}
	return rows
}

func shared() string {
	if dir := os.Getenv("TIDEMARK_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "..", "shared")
}

// mooncakeFile writes rows in Mooncake's format, its timestamps in so many units a second.
func mooncakeFile(path string, rows []arrival, perSecond float64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := json.NewEncoder(file)
	for _, r := range rows {
		line := map[string]any{"timestamp": r.Due * perSecond, "input_length": r.Input, "output_length": r.Output, "hash_ids": r.Blocks}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// azureFile writes rows in the format of Azure's traces, which knows no blocks.
func azureFile(path string, rows []arrival) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Fprintln(file, "TIMESTAMP,ContextTokens,GeneratedTokens")
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range rows {
		at := begin.Add(time.Duration(r.Due * float64(time.Second)))
		fmt.Fprintf(file, "%s0,%d,%d\n", at.Format("2006-01-02 15:04:05.000000"), r.Input, r.Output)
	}
	return nil
}
