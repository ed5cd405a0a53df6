package traces

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"tidemark/ingest/read"
	"tidemark/internal/proof/must"
)

// The scanner reads what encoding/json reads, or says no.
func FuzzRoundsByHand(f *testing.F) {
	content := must.Get(os.ReadFile("../../fixtures/traces/tracelab.jsonl"))(f)
	for line := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n") {
		f.Add(line)
	}
	f.Add(`{"session_id":"a","Session_ID":"b","timing_events":[{"event_type":"text","Timestamp":"x"}],"round_index":-1}`)
	f.Add(`{"session_id":"a","prefix_tokens":1,"prefix_tokens":2,"timing_events":[]}`)
	f.Fuzz(func(t *testing.T, line string) {
		var row, want roundRow
		if !row.scan([]byte(line)) {
			return
		}
		if problem := read.JSONRow([]byte(line), &want); problem != nil {
			t.Fatalf("%s: scanned, and encoding/json says %v", line, problem)
		}
		if len(row.Events) == 0 && len(want.Events) == 0 {
			row.Events, want.Events = nil, nil
		}
		if !reflect.DeepEqual(row, want) {
			t.Errorf("%s: %+v, encoding/json has %+v", line, row, want)
		}
	})
}

// The usual line takes the fast way.
func TestUsualRoundsAreScanned(t *testing.T) {
	content := must.Get(os.ReadFile("../../fixtures/traces/tracelab.jsonl"))(t)
	for line := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n") {
		if row := (roundRow{}); !row.scan([]byte(line)) {
			t.Errorf("left to encoding/json: %s", line)
		}
	}
}
