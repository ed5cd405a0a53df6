package results

import (
	"bytes"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// SQLite refuses SQLite files and says how to export them: reading them would need
// a second database engine for two tools.
var SQLite = read.Format{
	Name: "sqlite",
	Sees: func(h *read.Head) string {
		return read.If(bytes.HasPrefix(h.Data, []byte("SQLite format 3\x00")), "an SQLite file")
	},
	Read: func(d *read.Document, _ *read.Rows) error {
		return hint.Errorf("an SQLite file: an export of it is read").Hint("%s", sqliteHint(d.First.Data))
	},
	Wants: "nothing: an export of it is read",
}

// sqliteHint knows evalscope's and Optuna's tables by the names in the file's
// schema, which stands at its start.
func sqliteHint(head []byte) string {
	switch {
	case bytes.Contains(head, []byte("first_chunk_latency")):
		return `sqlite3 -csv -header benchmark_data.db "select start_time, latency, first_chunk_latency, prompt_tokens, completion_tokens, time_per_output_token, inter_token_latencies, success from result" > requests.csv`
	case bytes.Contains(head, []byte("trial_params")):
		return `optuna trials --storage sqlite:///FILE --study-name NAME --format json > trials.json`
	}
	return `sqlite3 -csv -header FILE "select * from TABLE" > requests.csv; where its columns have other names than ours, say which is which with --column`
}
