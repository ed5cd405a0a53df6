//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// What a table cannot say of rounds is said in the notes.
func TestNotesOfRounds(t *testing.T) {
	for file, wants := range map[string][]string{
		"tracelab.jsonl": {
			"1 round with a prefix that the session had not sent, of 1024 tokens together",
			"1 round sent before the answer ahead had ended: a session that branches off each time",
			"1 round with the round_id of an earlier row; kept",
			"1 round without an output event",
		},
		"tracelab-sessions.csv": {
			"only sessions have a begin: a later round is placed after the wait before it",
			"1 round with a prefix that is longer than what the session had sent",
		},
	} {
		notes := strings.Join(load(t, open(t), "../fixtures/traces/"+file, ingest.Options{}).Notes, "\n")
		for _, want := range wants {
			must.Say(t, notes, want)
		}
	}
}

// A round that cannot be true is a reject, and says where.
func TestRoundsThatCannotBe(t *testing.T) {
	const header = "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\n"
	good := must.Get(os.ReadFile("../fixtures/traces/tracelab.jsonl"))(t)
	first, _, _ := strings.Cut(string(good), "\n")
	change := func(from, to string) string { return string(good) + strings.Replace(first, from, to, 1) + "\n" }
	for _, c := range []struct{ why, name, content, want string }{
		{"the sum of another prompt", "a.jsonl", change(`"input_tokens_total":1600`, `"input_tokens_total":1601`), "input_tokens_total: not the sum of its parts"},
		{"no prefix", "b.jsonl", change(`"prefix_tokens":1024`, `"prefix_tokens":null`), "prefix_tokens: missing"},
		{"a prefix below zero", "c.jsonl", change(`"prefix_tokens":1024`, `"prefix_tokens":-1`), "prefix_tokens: negative"},
		{"no input before the output", "d.jsonl", change(`"user_message"`, `"usage_report"`), "timing_events: missing"},
		{"no instant", "e.jsonl", change(`2026-06-01T10:00:00.000Z`, `yesterday`), "timing_events: not a time"},
		{"a line that is cut", "f.jsonl", string(good) + first[:200] + "\n", ": not a JSON object"},
		{"a key that is there twice", "g.jsonl", change(`"prefix_tokens":1024`, `"prefix_tokens":1024,"prefix_tokens":1025`), "prefix_tokens: the key is there twice"},
		{"no length", "h.csv", header + "a,,5,0,0,0,0\n" + "a,7,5,0,0,0,0\n", "input_len: missing"},
		{"a wait that is a word", "i.csv", header + "a,7,5,0,0,soon,0\n" + "a,7,5,0,0,0,0\n", "tool_wait_after_ms: not a number"},
		{"a begin below zero", "j.csv", header + "a,7,5,-1,0,0,0\n" + "a,7,5,0,0,0,0\n", "arrival_time: negative"},
		{"no session", "k.csv", header + ",7,5,0,0,0,0\n" + "a,7,5,0,0,0,0\n", "session_id: missing"},
		{"a fraction of a token", "l.csv", header + "a,7.5,5,0,0,0,0\n" + "a,7,5,0,0,0,0\n", "input_len: not an integer"},
	} {
		t.Run(c.why, func(t *testing.T) {
			refused(t, open(t), write(t, c.name, []byte(c.content)), ingest.Options{}, "1 of ", c.want)
		})
	}
}

// Sessions without a begin start with the trace, and that is said; a round that is out of turn too.
func TestSessionsWithoutABegin(t *testing.T) {
	w := open(t)
	result := load(t, w, write(t, "s.csv", []byte("session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"+
		"a,0,0,64,64,1500\nb,0,0,64,1,0\na,2,128,64,1,0")), ingest.Options{})
	notes := strings.Join(result.Notes, "\n")
	must.Say(t, notes, "2 of 2 sessions have no arrival_time", "1 round with another round_idx than that of the round before and one")
	answers(t, w, "select arrival_ns, input_tokens, session_id from raw.arrivals order by line", "0 64 a|0 64 b|1500000000 192 a")
}

// TraceLab's own sample, by figures that were worked out with Python from its lines.
func TestTraceLabSample(t *testing.T) {
	w := open(t)
	load(t, w, shared(t, "traces/tracelab/round_trace.jsonl"), ingest.Options{})
	load(t, w, shared(t, "traces/tracelab/multi_session_example.csv"), ingest.Options{})
	for query, want := range map[string]string{
		`select count(*), count(distinct session_id), sum(input_tokens), sum(output_tokens), sum(cached_tokens) from raw.arrivals join raw.arrival_details using (source_id, line)
			where source_id = 1`: "19 2 514012 11335 473556",
		`select round(sum(think_s), 3), count(think_s), round(sum(e2e_s), 3) from raw.arrival_details where source_id = 1`: "123.644 17 139.078",
		`select count(*), count(distinct session_id), sum(input_tokens), sum(output_tokens), sum(cached_tokens) from raw.arrivals join raw.arrival_details using (source_id, line)
			where source_id = 2`: "8 3 5308 448 3240",
	} {
		answers(t, w, query, want)
	}
}

// TraceLab's database has the same rounds as its lines, and gives the same rows, by its own DB_SCHEMA.md.
func TestTraceLabsDatabase(t *testing.T) {
	lines := "../fixtures/traces/tracelab.jsonl"
	path := filepath.Join(t.TempDir(), "trace.duckdb")
	w := open(t)
	for _, statement := range []string{
		"attach '" + path + "' as lab",
		`create table lab.rounds as select row_number() over () as round_pk, row_number() over () as ingest_seq, provider, session_id, round_index, round_id, model,
			input_tokens_total, prefix_tokens, newly_append_tokens, output_tokens, timing_events
			from read_json('` + lines + `', columns = {provider: 'varchar', session_id: 'varchar', round_index: 'bigint', round_id: 'varchar', model: 'varchar',
			input_tokens_total: 'bigint', prefix_tokens: 'bigint', newly_append_tokens: 'bigint', output_tokens: 'bigint',
			timing_events: 'struct(event_type varchar, "timestamp" varchar)[]'})`,
		`create table lab.timing_events as select round_pk, i as event_index, timing_events[i].event_type as event_type, timing_events[i]."timestamp"::timestamp as "timestamp"
			from lab.rounds, unnest(range(1, len(timing_events) + 1)) as r(i) order by hash(round_pk, i)`,
		"alter table lab.rounds drop timing_events",
		"create table lab.tool_calls (round_pk bigint, tool_index bigint)",
		"detach lab",
	} {
		must.Get(w.DB().Exec(statement))(t)
	}
	const rows = "select * exclude (source_id) from raw.arrivals left join raw.arrival_details using (source_id, line) order by line"
	of, from := open(t), open(t)
	want, got := load(t, of, lines, ingest.Options{}), load(t, from, path, ingest.Options{})
	if a, b := fmt.Sprint(table(t, of, rows)), fmt.Sprint(table(t, from, rows)); a != b {
		t.Errorf("got\n%s\nof the lines\n%s", b, a)
	}
	if got.Format != "tracelab-duckdb" || got.RowsKept != want.RowsKept || strings.Join(got.Notes, "\n") != strings.Join(want.Notes, "\n") {
		t.Errorf("got %+v, want %+v", got, want)
	}
	packed := must.Get(os.ReadFile(path))(t)
	if again := load(t, open(t), write(t, "trace.duckdb.zst", zstdOf(t, packed)), ingest.Options{}); again.RowsKept != want.RowsKept {
		t.Errorf("packed: %+v", again)
	}
	refused(t, open(t), write(t, "cut.duckdb", packed[:len(packed)/2]), ingest.Options{}, "DuckDB: ")
	damaged := append([]byte(nil), packed...)
	for i := 4096 * 3; i < len(damaged); i += 97 {
		damaged[i] ^= 0xff
	}
	refused(t, open(t), write(t, "damaged.duckdb", damaged), ingest.Options{}, "DuckDB: ")
}

// Another database is refused with what to do.
func TestADatabaseOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.duckdb")
	w := open(t)
	for _, statement := range []string{"attach '" + path + "' as lab", "create table lab.requests (t double)", "detach lab"} {
		must.Get(w.DB().Exec(statement))(t)
	}
	err := refused(t, open(t), path, ingest.Options{}, "a DuckDB file without TraceLab's tables rounds and timing_events")
	must.Say(t, hint.Of(err), "requests.parquet")
}
