package traces

import (
	"bytes"
	"strings"

	"tidemark/ingest/read"
)

// LiteLLM reads LiteLLM's spend logs, as CSV of its table or as JSON of
// /spend/logs. Its completionStartTime is the instant of the first token, or of the
// end where nothing was streamed. Requests that it answered from its own cache
// never reached a server; they are kept, and a note counts them. Keys, users and
// metadata are not read.
var LiteLLM = read.Format{
	Name:         "litellm",
	Sees:         seesLiteLLM,
	Read:         readLiteLLM,
	Wants:        "columns, or JSON keys, startTime, endTime, prompt_tokens, completion_tokens and call_type",
	TakesColumns: true,
}

// seesLiteLLM asks for five columns that only LiteLLM has together.
func seesLiteLLM(h *read.Head) string {
	wanted := []string{"startTime", "endTime", "prompt_tokens", "completion_tokens", "call_type"}
	return read.If(read.HasAll(tableColumns(h), wanted...), "a table with "+strings.Join(wanted, ", "))
}

// liteLLMWords adds two columns to the usual names.
var liteLLMWords = with(map[string]meaning{"call_type": {part: classIn, rank: -1}, "cache_hit": {part: answeredIf}})

// readLiteLLM drops the first token of requests that were not streamed: there it is
// the end.
func readLiteLLM(d *read.Document, out *read.Rows) error {
	return readTable(d, out, dialect{words: liteLLMWords, isNone: func(r *request) bool {
		if bytes.Equal(r[firstTokenAt], r[endsAt]) {
			r[firstTokenAt] = nil
		}
		return false
	}})
}
