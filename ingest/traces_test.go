//go:build duckdb_arrow

package ingest_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// What a session says of its own tokens is what was read of it: all 41 published
// sessions, sub-agents in them.
func TestRealAgenticSessions(t *testing.T) {
	folder := shared(t, "traces/agentic-claude-code")
	w := open(t)
	results := must.Get(ingest.Load(t.Context(), w, []string{folder}, ingest.Options{}))(t)
	sessions := 0
	for _, result := range results {
		if result.Format != "agentic" {
			t.Errorf("%s: taken for %q", result.Path, result.Format)
			continue
		}
		sessions++
		input, output := totalsOf(t, result.Path)
		got := table(t, w, fmt.Sprintf(`select sum(input_tokens)::bigint, sum(output_tokens)::bigint
			from raw.arrivals join raw.sources using (source_id) where name = '%s'`, result.Name))
		if fmt.Sprint(got) != fmt.Sprintf("[[%d %d]]", input, output) {
			t.Errorf("%s: got %v tokens, its totals say %d and %d", result.Path, got, input, output)
		}
		must.NotSay(t, strings.Join(result.Notes, "\n"), "totals", "earlier")
	}
	counts := map[string]int64{
		"select count(*) from raw.arrivals":                                                                2868,
		"select count(distinct session_id) from raw.arrivals":                                              54, // 41, and 13 sub-agents
		"select count(distinct collection) from raw.sources":                                               1,
		"select count(*) from raw.arrival_details where parent_session_id is not null":                     13,
		"select count(*) from raw.arrivals where arrival_ns < 0":                                           0,
		"select count(*) from checks.blocks_cover_prompts":                                                 0,
		"select count(*) from raw.arrival_details where think_s < 0":                                       0,
		"select count(*) from raw.sources where collection = 'agentic-claude-code' and block_tokens <> 64": 0,
	}
	for query, want := range counts {
		if got := number(t, w, query); got != want {
			t.Errorf("%s: got %d, want %d", query, got, want)
		}
	}
	if sessions != 41 {
		t.Errorf("%d sessions, want 41", sessions)
	}
	// Ids are local: no two sessions share one.
	shared := number(t, w, `select count(*) from (
		select id from (select distinct source_id, unnest(blocks) as id from raw.arrivals) group by id having count(*) > 1)`)
	if shared != 0 {
		t.Errorf("%d block ids are in two sessions", shared)
	}
}

func totalsOf(t *testing.T, path string) (input, output int64) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	content := must.Get(gzip.NewReader(file))(t)
	var session struct {
		Totals struct {
			Combined struct{ Input, Output int64 } `json:"combined_tokens"`
		}
	}
	must.Do(t, json.NewDecoder(content).Decode(&session))
	return session.Totals.Combined.Input, session.Totals.Combined.Output
}

// Two sessions count their blocks from 1 and share nothing.
func TestLocalBlocksAreTheSessionsOwn(t *testing.T) {
	folder := t.TempDir()
	for _, id := range []string{"a", "b"} {
		content := fmt.Sprintf(`{"id":"%s","block_size":64,"hash_id_scope":"local","requests":[{"t":0,"type":"n","in":130,"out":1,"hash_ids":[1,2]},{"t":1,"type":"n","in":130,"out":1,"hash_ids":[1,16777216]}]}`, id)
		must.Do(t, os.WriteFile(filepath.Join(folder, id+".json"), []byte(content), 0o600))
	}
	w := open(t)
	must.Get(ingest.Load(t.Context(), w, []string{folder}, ingest.Options{}))(t)
	got := table(t, w, "select count(*), count(distinct id) from (select unnest(blocks) as id from raw.arrivals)")
	if fmt.Sprint(got) != "[[8 6]]" {
		t.Errorf("uses and different ids: got %v, want 8 and 6", got)
	}
}

// Files that carry text give their lengths and not a word of it, or are refused
// where the user says so.
func TestTextOfTracesStaysOut(t *testing.T) {
	for _, file := range []string{"aibrix.jsonl", "dynamo.jsonl", "aiperf-turns.jsonl"} {
		w := open(t)
		result := load(t, w, "../fixtures/traces/"+file, ingest.Options{})
		must.Say(t, strings.Join(result.Notes, "\n"), "text was left out")
		must.NotSay(t, fmt.Sprint(table(t, w, "from raw.arrivals left join raw.arrival_details using (source_id, line)"), result), "canary")
		refused(t, open(t), "../fixtures/traces/"+file, ingest.Options{RefuseText: true}, "it holds text")
	}
}

// Conversations without token counts are refused, and what they lack is said.
func TestConversationsAreRefused(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"sharegpt.json", `[{"id":"a","conversations":[{"from":"human","value":"canary"},{"from":"gpt","value":"canary"}]}]`,
			"conversations as ShareGPT has them: text without token counts and arrival times"},
		{"wildchat.jsonl", `{"conversation_hash":"a","model":"m","timestamp":"2023-04-09T00:00:00Z","conversation":[{"role":"user","content":"canary"}],"turn":1}` + "\n",
			"conversations as WildChat has them: text without token counts"},
		{"lmsys.jsonl", `{"conversation_id":"a","model":"m","conversation":[{"role":"user","content":"canary"}],"turn":1}` + "\n",
			"conversations as LMSYS-Chat-1M has them: text without token counts and arrival times"},
		{"cua.jsonl", `{"session_id":"a","messages":[{"role":"user","content":"canary"}],"tools":[],"output_length":352,"extra":{},"delay":null}`,
			"rounds of an agent as H CUA has them: text without token counts of its prompts, screenshots included, and without arrival times"},
	} {
		err := refused(t, open(t), write(t, c.file, []byte(c.content)), ingest.Options{}, c.want)
		if !strings.Contains(hint.Of(err), "tokenizer") || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s: %v, hint %q", c.file, err, hint.Of(err))
		}
	}
}

// Requests that failed and rows that are there twice stay, and are said.
func TestBurstGPTKeepsFailuresAndDuplicates(t *testing.T) {
	notes := strings.Join(load(t, open(t), "../fixtures/traces/burstgpt.csv", ingest.Options{}).Notes, "\n")
	must.Say(t, notes, "3 requests have no answer: they failed at the source; kept", "1 row is an exact duplicate; kept")
}

// A chat whose parent is not there begins a session, and that is said.
func TestBailianNotesWhatIsNotThere(t *testing.T) {
	result := load(t, open(t), "../fixtures/traces/bailian.jsonl", ingest.Options{})
	if got := strings.Join(result.Notes, "\n"); got != "1 rows name a parent that is not an earlier row: each starts a session" {
		t.Errorf("notes: got %q", got)
	}
}

// A think time that counts from an answer before the last is cut, and totals that
// are not those of the requests are said.
func TestAgenticSessionsThatDoNotAddUp(t *testing.T) {
	content := must.Get(os.ReadFile("../fixtures/traces/agentic.json"))(t)
	notes := strings.Join(load(t, open(t), "../fixtures/traces/agentic.json", ingest.Options{}).Notes, "\n")
	if notes != "1 think times reach past the request before them; cut to the gap since it" {
		t.Errorf("notes: got %q", notes)
	}
	wrong := strings.Replace(string(content), `"combined_tokens":{"input":1334,`, `"combined_tokens":{"input":1335,`, 1)
	notes = strings.Join(load(t, open(t), write(t, "wrong.json", []byte(wrong)), ingest.Options{}).Notes, "\n")
	must.Say(t, notes, "its totals say 1335 input and 51 output tokens, its requests have 1334 and 51")
}

// Data sets have a session a line: ids are local to each, copies under another id are one, and a line that is cut costs one session.
func TestAgenticSessionsOfOneFile(t *testing.T) {
	session := func(id, requests string) string {
		return `{"id":"` + id + `","block_size":64,"hash_id_scope":"local","requests":[` + requests + "]}\n"
	}
	const one = `{"t":0,"type":"n","in":130,"out":4,"hash_ids":[1,2],"api_time":1.5},{"t":1.75,"type":"n","in":200,"out":4,"hash_ids":[1,2,3],"think_time":0.25}`
	content := session("a", one) + "\n" + session("b", `{"t":0,"type":"n","in":70,"out":4,"hash_ids":[1]}`) + session("copy", one)
	w := open(t)
	result := load(t, w, write(t, "many.jsonl", []byte(content)), ingest.Options{})
	answers(t, w, "select arrival_ns, input_tokens, session_id, turn, think_s from raw.arrivals left join raw.arrival_details using (source_id, line) order by line",
		"0 130 a 0 |1750000000 200 a 1 0.25|0 70 b 0 ")
	answers(t, w, "select count(distinct id), count(*) from (select unnest(blocks) as id from raw.arrivals)", "4 6")
	notes := strings.Join(result.Notes, "\n")
	must.Say(t, notes, "2 sessions count from their own begin", "1 sessions are copies of an earlier one")
	refused(t, open(t), write(t, "cut.jsonl", []byte(content+content[:90])), ingest.Options{}, "1 of 4 rows rejected", "line 5")
	refused(t, open(t), write(t, "sizes.jsonl", []byte(content+strings.Replace(session("c", `{"t":0,"in":1,"out":1}`), "64", "16", 1))), ingest.Options{}, "block_size is 16, and that of the session before is 64")
}

// Turns that hold what came before them are told from those that do not by their blocks, and a file that has both is refused.
func TestTurnsAreToldByTheirBlocks(t *testing.T) {
	row := func(session string, atMs, input int, ids string) string {
		return fmt.Sprintf(`{"timestamp": %d, "input_length": %d, "output_length": 5, "session_id": "%s", "hash_ids": [%s]}`+"\n", atMs, input, session, ids)
	}
	cumulative := row("a", 0, 600, "1, 2") + row("a", 9000, 1100, "1, 3, 4") + row("a", 19000, 1600, "1, 3, 5, 6")
	appended := row("b", 1000, 600, "11, 12") + row("b", 9500, 520, "13, 14") + row("b", 21000, 700, "15, 16")
	cut := row("a", 30000, 600, "7, 8")
	for _, c := range []struct{ why, content, want string }{
		{"each goes on", cumulative, "turns are cumulative: 2 of 2 begin with the blocks of the turn before"},
		{"a context that was cut", cumulative + cut, "turns are cumulative: 2 of 3 begin"},
		{"each begins anew", appended, "turns are appended: 2 of 2 have other blocks than the turn before"},
		{"no block is full", row("a", 0, 60, "1") + row("a", 9000, 90, "2"), "1 turns follow another in their session, and no blocks tell"},
	} {
		must.Say(t, strings.Join(load(t, open(t), write(t, "m.jsonl", []byte(c.content)), ingest.Options{}).Notes, "\n"), c.want)
	}
	refused(t, open(t), write(t, "both.jsonl", []byte(cumulative+appended)), ingest.Options{}, "in 1 sessions turns begin with the blocks of the turn before, in 1 with others")
	if got := load(t, open(t), write(t, "alone.jsonl", []byte(row("a", 0, 600, "1, 2")+row("b", 0, 600, "1, 2"))), ingest.Options{}).Notes; strings.Contains(strings.Join(got, "\n"), "turns") {
		t.Errorf("sessions of one turn: got %q", got)
	}
}

// ART-Chat's ids are hashes of 24 hexadecimal digits: equal ones stay equal, and a size of blocks is only said where it fits every row.
func TestHashesAsBlockIDs(t *testing.T) {
	const a, b, c = "0123456789abcdef01234567", "0123456789abcdef01234568", "123456789012345678901234"
	row := func(input int, ids ...string) string {
		return fmt.Sprintf(`{"timestamp": 1, "input_length": %d, "output_length": 5, "hash_ids": ["%s"]}`+"\n", input, strings.Join(ids, `", "`))
	}
	w := open(t)
	result := load(t, w, write(t, "art.jsonl", []byte(row(100, a, b)+row(100, a, c)+row(60, strings.ToUpper(a)))), ingest.Options{})
	answers(t, w, "select count(*), count(distinct id), (select any_value(block_tokens) from raw.sources) from (select unnest(blocks) as id from raw.arrivals)",
		"5 3 64")
	must.Say(t, strings.Join(result.Notes, "\n"), "prefix blocks of 64 tokens: the file does not say")
	result = load(t, open(t), write(t, "odd.jsonl", []byte(row(100, a, b)+row(1000, a))), ingest.Options{})
	must.Say(t, strings.Join(result.Notes, "\n"), "block ids stand for no fixed number of tokens")
	refused(t, open(t), write(t, "word.jsonl", []byte(row(100, a, "some words"))), ingest.Options{}, "hash_ids: not an integer")
}
