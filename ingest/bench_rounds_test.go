//go:build duckdb_arrow

package ingest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// BenchmarkIngestRounds takes as many rounds and sessions in as TraceLab has published: 665,453 of 8,058. Each session repeats
// the rounds of TraceLab's sample (or of our fixture), and its context grows on from one repetition to the next.
func BenchmarkIngestRounds(b *testing.B) {
	const sessions = 8058
	rounds := benchRows(b, 665_453)
	path := filepath.Join(b.TempDir(), "rounds.jsonl")
	writeRounds(b, path, rounds, min(sessions, rounds))
	var took time.Duration
	var peak int64
	for b.Loop() {
		resetPeak()
		took += timed(b, rounds, func(w *warehouse.Warehouse) {
			if format := load(b, w, path, ingest.Options{}).Format; format != "tracelab" {
				b.Fatalf("read as %s", format)
			}
		})
		peak = max(peak, peakRSS(b))
	}
	b.ReportMetric(float64(rounds)*float64(b.N)/took.Seconds(), "rounds/s")
	b.ReportMetric(took.Seconds()/float64(b.N), "s")
	b.ReportMetric(float64(peak)/1e6, "peak_RSS_MB")
}

// writeRounds repeats the rounds of the sample's sessions, one of its sessions in each of ours: an hour later, and 20,000 tokens
// longer, each time that they are repeated.
func writeRounds(b *testing.B, path string, rounds, sessions int) {
	b.Helper()
	samples := sampleSessions(b)
	file := must.Get(os.Create(path))(b)
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	for s := range sessions {
		sample := samples[s%len(samples)]
		begin := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s) * time.Minute)
		for n := range rounds*(s+1)/sessions - rounds*s/sessions {
			repetition := n / len(sample)
			fmt.Fprintln(out, sample[n%len(sample)].again(fmt.Sprintf("session-%d", s), n, int64(repetition)*20_000, begin.Add(time.Duration(repetition)*time.Hour)))
		}
	}
	must.Do(b, out.Flush())
}

// sampleRound is a line of a sample, and what of it changes when it is repeated.
type sampleRound struct {
	line    string
	Session string `json:"session_id"`
	Index   int64  `json:"round_index"`
	RoundID string `json:"round_id"`
	Total   int64  `json:"input_tokens_total"`
	Prefix  int64  `json:"prefix_tokens"`
	Events  []struct {
		At string `json:"timestamp"`
	} `json:"timing_events"`
}

// sampleSessions are the rounds of a sample, by session.
func sampleSessions(b *testing.B) (sessions [][]sampleRound) {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(sharedRoot(), "traces", "tracelab", "round_trace.jsonl"))
	if err != nil {
		content, err = os.ReadFile("../fixtures/traces/tracelab.jsonl")
	}
	must.Do(b, err)
	place := map[string]int{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n") {
		round := sampleRound{line: line}
		must.Do(b, json.Unmarshal([]byte(line), &round))
		if _, isKnown := place[round.Session]; !isKnown {
			place[round.Session] = len(sessions)
			sessions = append(sessions, nil)
		}
		sessions[place[round.Session]] = append(sessions[place[round.Session]], round)
	}
	return sessions
}

// again is the round as a later one of another session. Its hour is replaced, and the minutes within it stay.
func (r sampleRound) again(session string, index int, longer int64, at time.Time) string {
	const hour = len("2026-06-01T05")
	return strings.NewReplacer(
		`"session_id":"`+r.Session, `"session_id":"`+session,
		fmt.Sprintf(`"round_index":%d`, r.Index), fmt.Sprintf(`"round_index":%d`, index),
		`"round_id":"`+r.RoundID, fmt.Sprintf(`"round_id":"%s-%d`, session, index),
		fmt.Sprintf(`"input_tokens_total":%d`, r.Total), fmt.Sprintf(`"input_tokens_total":%d`, r.Total+longer),
		fmt.Sprintf(`"prefix_tokens":%d`, r.Prefix), fmt.Sprintf(`"prefix_tokens":%d`, r.Prefix+longer),
		r.Events[0].At[:hour], at.Format("2006-01-02T15"),
	).Replace(r.line)
}
