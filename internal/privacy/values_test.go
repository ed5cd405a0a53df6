//go:build duckdb_arrow

package privacy

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// What other tools wrote is looked at value by value, and never shown.
func TestValuesOfOtherTools(t *testing.T) {
	for _, c := range []struct {
		sentence, insert, want string
	}{
		{"short words", `insert into raw.points (source_id, point, tool, model, hardware, label, settings) values (1, 0, 'aiperf', 'meta-llama/Llama-3.1-8B', 'NVIDIA RTX PRO 6000 Blackwell Server Edition', 'sweep 3', '{"max_num_seqs": 64, "backend": "vllm", "hash": "0123456789abcdef0123456789abcdef01234567"}')`, ""},
		{"a key in the settings", `insert into raw.points (source_id, point, tool, settings) values (1, 0, 'aiperf', '{"endpoint": {"api_key": "abcdefgh1234"}}')`, "points.settings: 1 value with something that looks like a key"},
		{"an address in the settings", `insert into raw.points (source_id, point, tool, settings) values (1, 0, 'aiperf', '{"base_url": "http://node7.corp:8000"}')`, "points.settings: 1 value with a web address"},
		{"a name as a label", `insert into raw.points (source_id, point, tool, label) values (1, 0, 'aiperf', 'john@acme.com')`, "points.label: 1 value with an address or a name"},
		{"a sentence as hardware", `insert into raw.points (source_id, point, tool, hardware) values (1, 0, 'aiperf', 'the box under my old desk')`, "points.hardware: 1 value with more than 4 words"},
		{"a label of a metric", `insert into raw.metrics values (1, 0, 0, 'up', 'user="john@acme.com"', 1)`, "metrics.labels: 1 value with an address or a name"},
		{"a label of a metric that is one", `insert into raw.metrics values (1, 0, 0, 'up', 'instance="10.0.0.1:8000",le="0.5"', 1)`, ""},
		{"a file of words", `insert into raw.documents values (1, 'hardware.md', 'eight cards, one node'::blob)`, "1 file in an operator"},
		{"a file with a key", `insert into raw.documents values (1, 'server-flags.md', 'vllm serve --api-key abcdefgh1234'::blob)`, "documents.content: 1 file holds something that looks like a key"},
	} {
		w := openFile(t, emptyFile(t))
		must.Get(w.DB().Exec(`
			insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at)
			values (1, 'results', 'results', 'aiperf', 'p', 's', 1, 1, 1, 0, false, 1, now());` + c.insert))(t)
		verdicts, _, err := CheckSource(t.Context(), w, "results", usual)
		if err != nil || len(verdicts) != 1 {
			t.Fatalf("%s: %+v, %v", c.sentence, verdicts, err)
		}
		isWell := c.want == "" || strings.HasPrefix(c.want, "1 file in")
		if !strings.Contains(verdicts[0].Figures, c.want) || isWell != (verdicts[0].Verdict == Holds) {
			t.Errorf("%s: got %+v, want %q", c.sentence, verdicts[0], c.want)
		}
		must.NotSay(t, fmt.Sprint(verdicts), "john", "abcdefgh", "node7", "desk")
	}
}
