package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tidemark/fixtures"
	"tidemark/fixtures/seeded"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
)

// slower are the demo's servers with times and batches as much larger.
func slower(t *testing.T, factor float64) seeded.Served {
	t.Helper()
	rows := must.Get(csv.NewReader(bytes.NewReader(fixtures.DemoServed)).ReadAll())(t)
	for _, row := range rows[1:] {
		if value, err := strconv.ParseFloat(row[3], 64); err == nil && row[2] == "" {
			row[3] = fmt.Sprint(value * factor)
		}
	}
	var out bytes.Buffer
	must.Do(t, csv.NewWriter(&out).WriteAll(rows))
	served := must.Get(seeded.ReadServed(&out))(t)
	return served
}

// Two weeks of the demo, with servers that take longer from the second Wednesday on, or a third more requests from then on: collected, taken in, and asked.
func TestDriftTellsTheSystemFromTheWorkload(t *testing.T) {
	s := seeded.Demo()
	s.Growth, s.Gaps, s.RatePerS = 0, nil, 6
	change, until := s.Begin.AddDate(0, 0, 9), s.Begin.AddDate(0, 0, 14)
	for _, test := range []struct {
		verdict string
		factor  float64 // of the server's times and batches; of a longer batch the law expects a part of it
		rate    float64
		people  string // what they see; else a program asks
	}{
		{"system", 1.15, 1, ""},
		{"workload", 1, 1.35, `(?s)^The workload changed on 2026-10-14.*\nrequests +2026-10-14 .*rehearsed .*p99 TPOT .* \+0\.0\n`},
	} {
		t.Run(test.verdict, func(t *testing.T) {
			s := s
			s.Steps = []seeded.Step{{At: change, Factor: test.rate}}
			var file, later bytes.Buffer // the counters of the later one begin anew, as after a restart
			must.Do(t, errors.Join(s.WriteMetrics(&file, "demo-chat", "m", 1, slower(t, 1), s.Begin, change), s.WriteMetrics(&later, "demo-chat", "m", 1, slower(t, test.factor), change, until)))
			_, rest, _ := strings.Cut(later.String(), "\n")
			file.WriteString(rest)
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			for name, text := range map[string][]byte{"demo-chat.prometheus.jsonl": file.Bytes(), "slo.yaml": fixtures.DemoSLO, "chat.yaml": bytes.Replace(fixtures.DemoService, []byte("replicas: 2"), []byte("replicas: 1"), 1)} {
				must.Do(t, os.WriteFile(in(name), text, 0o600))
			}
			do := func(want int, args ...string) (string, string) {
				var said, told bytes.Buffer
				if code := run(append([]string{"tidemark"}, append(args, "--warehouse", in("w.duckdb"))...), strings.NewReader(""), &said, &told); code != want {
					t.Fatalf("%v: exit code %d\n%s%s", args, code, said.String(), told.String())
				}
				return said.String(), told.String()
			}
			do(0, "ingest", in("demo-chat.prometheus.jsonl"))
			if test.people != "" {
				if said, _ := do(1, "drift", in("chat.yaml"), "--weeks", "2"); !regexp.MustCompile(test.people).MatchString(said) {
					t.Errorf("got\n%s", said)
				}
				return
			}
			text, sentence := do(1, "drift", in("chat.yaml"), "--json", "--weeks", "2")
			if want := "The system changed on 2026-10-14"; !strings.HasPrefix(sentence, want) || !strings.Contains(sentence, "did not: a change") {
				t.Errorf("got %q", sentence)
			}
			var rows []struct {
				Figure, Of      string
				System, Traffic *float64
			}
			must.Do(t, json.Unmarshal([]byte(strings.NewReplacer("system_ratio", "system", "traffic_ratio", "traffic").Replace(text)), &rows))
			rehearsed := 0
			for _, r := range rows {
				if r.Of != "rehearsed" {
					continue
				}
				rehearsed++
				if r.Figure == "p99_tpot_s" && (*r.System < 0.05 || math.Abs(*r.Traffic) > *r.System/2) {
					t.Errorf("p99 TPOT: %v of it is the system's, %v the traffic's", *r.System, *r.Traffic)
				}
			}
			if rehearsed != 3 {
				t.Errorf("%d figures were rehearsed", rehearsed)
			}
			if proof.IsFull() { // the Monday page says the same, where it says what changed; it takes a minute to rehearse
				do(0, "report", "--service", in("chat.yaml"), "--output", in("page.html"), "--summary", in("summary"))
				page, err := os.ReadFile(in("page.html"))
				summary, errSummary := os.ReadFile(in("summary/summary.txt"))
				must.Do(t, errors.Join(err, errSummary))
				for _, text := range [][]byte{page, summary} {
					if !bytes.Contains(text, []byte(strings.TrimSpace(sentence))) {
						t.Errorf("the page does not say %q:\n%s", sentence, summary)
					}
				}
			}
		})
	}
}
