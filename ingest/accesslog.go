package ingest

import (
	"bytes"
	"maps"
	"strconv"
	"strings"
)

// Logs of gateways. Their columns are read as those of any table (plain.go); what
// stands here is what a gateway's documentation says beyond their names. Who asked
// (keys, users, teams, addresses, metadata) is not among the columns that are read.

// Envoy AI Gateway writes JSON lines whose keys an operator chose; these are of
// its documentation. A duration is milliseconds. A line of another protocol has
// all of gen_ai null and is no request to a model.
var _ = register(format{
	name:         "envoy",
	sees:         seesEnvoy,
	read:         readEnvoy,
	wants:        `JSON lines with "start_time", "gen_ai.usage.input_tokens" and "gen_ai.usage.output_tokens"`,
	takesColumns: true,
})

func seesEnvoy(h *head) string {
	if len(h.said) > 0 && !h.has("response_code", "gen_ai.usage.input_tokens") {
		return ""
	}
	if !h.isLines() || !h.has("start_time", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens") {
		return ""
	}
	return "JSON lines with start_time and gen_ai.usage"
}

func with(more map[string]meaning) map[string]meaning {
	words := maps.Clone(meanings)
	maps.Copy(words, more)
	return words
}

var envoyWords = with(map[string]meaning{"duration": {part: e2eFor, unit: inMillis}})

func readEnvoy(d *document, out *rows) error {
	return readTable(d, out, dialect{words: envoyWords, isNone: func(r *request) bool {
		// 0 is a client that left before the answer began.
		if code, err := strconv.Atoi(string(r[statusIn])); err == nil && code == 0 {
			r[statusIn] = []byte("499")
		}
		if r[inputLength] != nil || r[outputLength] != nil {
			return false
		}
		hasFailed := failed(r[statusIn])
		return r[modelIn] == nil || hasFailed != nil && *hasFailed
	}})
}

// LiteLLM's spend logs, as CSV of its table or as JSON of /spend/logs. Its
// completionStartTime is the first token's, and the end where nothing was
// streamed. What it answered from its own cache never reached a server.
var _ = register(format{
	name:         "litellm",
	sees:         seesLiteLLM,
	read:         readLiteLLM,
	wants:        "columns, or JSON keys, startTime, endTime, prompt_tokens, completion_tokens and call_type",
	takesColumns: true,
})

func seesLiteLLM(h *head) string {
	wanted := []string{"startTime", "endTime", "prompt_tokens", "completion_tokens", "call_type"}
	if !hasKeys(h.tableColumns(), wanted...) {
		return ""
	}
	return "a table with " + strings.Join(wanted, ", ")
}

var liteLLMWords = with(map[string]meaning{"call_type": {part: classIn, rank: -1}, "cache_hit": {part: answeredIf}})

func readLiteLLM(d *document, out *rows) error {
	return readTable(d, out, dialect{words: liteLLMWords, isNone: func(r *request) bool {
		if bytes.Equal(r[firstTokenAt], r[endsAt]) {
			r[firstTokenAt] = nil
		}
		return false
	}})
}
