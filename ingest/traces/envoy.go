package traces

import (
	"strconv"

	"tidemark/ingest/read"
)

// Envoy reads access logs of Envoy AI Gateway: JSON lines whose keys an operator
// chose; these are the keys of its documentation. A duration is milliseconds. A
// line of another protocol has null under all gen_ai keys and is not a request to a
// model. Who asked (keys, users, teams, addresses, metadata) is not among the
// columns that are read.
var Envoy = read.Format{
	Name:         "envoy",
	Sees:         seesEnvoy,
	Read:         readEnvoy,
	Wants:        `JSON lines with "start_time", "gen_ai.usage.input_tokens" and "gen_ai.usage.output_tokens"`,
	TakesColumns: true,
}

// seesEnvoy asks for fewer keys where the user names the columns.
func seesEnvoy(h *read.Head) string {
	if len(h.Said) > 0 && !h.Has("response_code", "gen_ai.usage.input_tokens") {
		return ""
	}
	return read.If(h.IsLines() && h.Has("start_time", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"), "JSON lines with start_time and gen_ai.usage")
}

// envoyWords adds the one column whose unit its name does not say.
var envoyWords = with(map[string]meaning{"duration": {part: e2eFor, unit: inMillis}})

// readEnvoy passes over lines that are not requests to a model. A response code of 0
// is a client that left, which is 499 in nginx's counting.
func readEnvoy(d *read.Document, out *read.Rows) error {
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
