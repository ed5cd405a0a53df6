package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Each format of agents' rounds with the accidents that files have: the last line cut in half, the last row there twice, a value missing.
func TestAccidentsOfTheFormatsOfAgents(t *testing.T) {
	const notJSON = "not a JSON object"
	hex := func(of string) string { return `"` + strings.Repeat(of, 64) + `"` }
	session := func(id string) string {
		return `{"id":"` + id + `","models":["m"],"block_size":64,"hash_id_scope":"local","tool_tokens":0,"system_tokens":0,"requests":[` +
			`{"t":0.0,"type":"n","model":"m","in":130,"out":10,"hash_ids":[` + strings.Repeat("1,", len(id)) + `2],"stop":"","api_time":4.5,"think_time":0.0}],"totals":{}}` + "\n"
	}
	for name, c := range map[string]struct {
		content      string // a fixture's path where it begins with "../"
		cut, twice   string
		value, other string // what stands for a value, and what is there instead
		missing      string
	}{
		"tracelab.jsonl":      {"../fixtures/traces/tracelab.jsonl", notJSON, "2 rounds with the round_id of an earlier row; kept", `"newly_append_tokens":576`, `"newly_append_tokens":null`, "line 1: newly_append_tokens: missing"},
		"tracelab.csv":        {"../fixtures/traces/tracelab-sessions.csv", "line 6: prefix_len: missing", "1 round with another round_idx than", "a,1000,0,0,130", "a,1000,0,0,", "line 2: input_len: missing"},
		"weka.jsonl":          {session("a") + session("ab"), "line 2: " + notJSON, "1 sessions are copies of an earlier one", `"in":130`, `"in":null`, "line 1: in: missing"},
		"mooncake.jsonl":      {"../fixtures/traces/mooncake-sessions.jsonl", "line 2: " + notJSON, "1 row is an exact duplicate; kept", `"output_length":`, `"output_length":null,"was":`, "line 1: output_length: missing"},
		"freeinference.jsonl": {"../fixtures/logs/freeinference.jsonl", "session 2: the JSON is cut", "1 row is an exact duplicate; kept", `"prompt":52731`, `"prompt":null`, "line 1: provider_tokens.prompt: missing"},
		"swissai.jsonl":       {"../fixtures/traces/swissai.jsonl", "line 4: " + notJSON, "1 row is an exact duplicate; kept", `"reported_token_output":12`, `"reported_token_output":null`, "line 1: reported_token_output: missing"},
		"dynamo.jsonl":        {"../fixtures/traces/dynamo.jsonl", "line 6: " + notJSON, "1 row is an exact duplicate; kept", `"output_tokens":12`, `"output_tokens":null`, "line 1: output_tokens: missing"},
		"art.jsonl": {`{"timestamp":0,"input_length":600,"output_length":3,"hash_ids":[` + hex("f") + `,` + hex("a") + `]}` + "\n" +
			`{"timestamp":9,"input_length":600,"output_length":3,"hash_ids":[` + hex("f") + `,` + hex("c") + `]}` + "\n",
			"line 2: " + notJSON, "1 row is an exact duplicate; kept", hex("a"), `null`, "line 1: hash_ids: not an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.content
			if strings.HasPrefix(text, "../") {
				file := must.Get(os.ReadFile(filepath.FromSlash(text)))(t)
				text = string(file)
			}
			before, last := "", strings.TrimSuffix(text, "\n")
			if i := strings.LastIndexByte(last, '\n'); i >= 0 {
				before, last = last[:i+1], last[i+1:]
			}
			refused(t, open(t), write(t, name, []byte(before+last[:len(last)/2])), ingest.Options{}, c.cut)
			must.Say(t, strings.Join(load(t, open(t), write(t, name, []byte(before+last+"\n"+last+"\n")), ingest.Options{}).Notes, "\n"), c.twice)
			if !strings.Contains(text, c.value) {
				t.Fatalf("no %s to leave out", c.value)
			}
			refused(t, open(t), write(t, name, []byte(strings.Replace(text, c.value, c.other, 1))), ingest.Options{}, c.missing)
		})
	}
}
