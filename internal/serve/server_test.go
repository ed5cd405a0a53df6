//go:build duckdb_arrow

package serve_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	_ "github.com/duckdb/duckdb-go/v2"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/tables"
	"tidemark/internal/hint"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
	"tidemark/internal/serve/worker"
)

// sixteen has a value of each type that the warehouse's relations have, and nulls.
const sixteen = `
select
    7::tinyint as small, -7::bigint as whole, 18446744073709551615::ubigint as id, 1.25::double as quantity, 1.25::decimal(9, 2) as money, true as is_so, 'é, "q"' as word, '=1+1' as formula,
    timestamptz '2026-01-02 03:04:05.678+00' as read_at, date '2026-01-02' as day, [1, null, 3] as list, {'a': 1, 'b': [true]} as struct, map {'k': 2} as mapping,
    '\x01\x02'::blob as bytes, null as nothing, sum(seq) as total
from range(10) as numbers (seq)`

// What the server says in CSV and JSON is, byte for byte, what "tidemark sql" says.
func TestAnswersAreThoseOfSQL(t *testing.T) {
	s := serving(t, nil)
	db := openSnapshot(t, s.folder)
	for _, query := range []string{sixteen, "select * exclude (started_at) from marts.runs", "from staging.requests order by all limit 50", "from marts.runs where false"} {
		table := must.Get(answers.Ask(context.Background(), db, query))(t)
		var asTable, asObjects bytes.Buffer
		must.Do(t, tables.Write(tables.NewCSV(&asTable), table))
		must.Do(t, tables.Write(tables.NewJSON(&asObjects), table))
		if status, got := text(t, s.ask(t, query, "Accept", asCSV)); status != 200 || got != asTable.String() {
			t.Errorf("%.40s as CSV: got %d\n%s\nwant\n%s", query, status, got, asTable.String())
		}
		if status, got := text(t, s.ask(t, query, "Accept", asJSON)); status != 200 || got != asObjects.String() {
			t.Errorf("%.40s as JSON: got %d\n%s\nwant\n%s", query, status, got, asObjects.String())
		}
	}
}

func openSnapshot(t *testing.T, folder string) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("duckdb", filepath.Join(folder, serve.SnapshotName)+"?access_mode=read_only"))(t)
	t.Cleanup(func() { db.Close() })
	must.Get(db.Exec("set TimeZone = 'UTC'"))(t)
	return db
}

// A million rows arrive whole, in order and with their count, as Arrow and as Parquet.
func TestAMillionRows(t *testing.T) {
	s := serving(t, nil)
	response := s.ask(t, "from staging.million") // Arrow is the default
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != asArrow {
		t.Errorf("Content-Type is %s", got)
	}
	rows, sum := readArrow(t, response.Body)
	if rows != 1e6 || sum != 1e6*(1e6-1)/2 {
		t.Errorf("got %d rows with a sum of seq of %d, want 1,000,000 and 499,999,500,000", rows, sum)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil { // the trailers come after the stream's own end
		t.Error(err)
	}
	if got := response.Trailer.Get("Tidemark-Rows"); got != "1000000" || response.Trailer.Get("Tidemark-Error") != "" {
		t.Errorf("the trailers are %v, want Tidemark-Rows: 1000000", response.Trailer)
	}
	status, file := text(t, s.ask(t, "from staging.million", "Accept", asParquet))
	if rows, sum, err := readParquet(t, file); status != 200 || err != nil || rows != 1e6 || sum != 1e6*(1e6-1)/2 {
		t.Errorf("as Parquet: got %d, %d rows with a sum of %d, %v", status, rows, sum, err)
	}
}

// readArrow counts the rows of a stream and adds up its first column; it fails the test if the stream breaks.
func readArrow(t testing.TB, from io.Reader) (rows, sum int64) {
	t.Helper()
	stream := must.Get(ipc.NewReader(from))(t)
	defer stream.Release()
	for stream.Next() {
		batch := stream.RecordBatch()
		rows += batch.NumRows()
		if column, is := batch.Column(0).(*array.Int64); is {
			for _, value := range column.Int64Values() {
				sum += value
			}
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	return rows, sum
}

func readParquet(t *testing.T, content string) (rows, sum int64, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.parquet")
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	db := must.Get(sql.Open("duckdb", ""))(t)
	defer db.Close()
	err = db.QueryRow("select count(*), sum(seq)::bigint from read_parquet('"+path+"')").Scan(&rows, &sum)
	return rows, sum, err
}

func TestParametersAreBound(t *testing.T) {
	s := serving(t, nil)
	for _, c := range []struct{ body, want string }{
		{`{"sql": "select $a + 1 as x, $b as y, $c as z", "parameters": {"a": 41, "b": "it's", "c": null}}`, "42,it's,\n"},
		{`{"sql": "select $1 || $2", "parameters": ["a", "b"]}`, "ab\n"},
		{`{"sql": "select ? - ?", "parameters": [5, 2.5]}`, "2.5\n"},
		{`{"sql": "select $x, $x", "parameters": {"x": true}}`, "true,true\n"},
		{`{"sql": "select list_sum($x)", "parameters": {"x": [1, 2.5, null]}}`, "3.5\n"},
		{`{"sql": "select count(*) from raw.requests where seq in (select unnest($seqs)) and run_id = $run", "parameters": {"seqs": [1, 2, 3, 1000], "run": "one"}}`, "3\n"},
		{`{"sql": "select typeof($x)", "parameters": {"x": 9007199254740993}}`, "BIGINT\n"},
		{`{"sql": "select $x::varchar", "parameters": {"x": 9007199254740993}}`, "9007199254740993\n"},
		{`{"sql": "select count(*) from raw.sources where ingested_at > $since::timestamptz", "parameters": {"since": "2026-01-01T12:00:00Z"}}`, "6\n"},
	} {
		status, got := text(t, s.ask(t, c.body, "Content-Type", asJSON, "Accept", asCSV))
		if _, rows, _ := strings.Cut(got, "\n"); status != 200 || rows != c.want {
			t.Errorf("%s: got %d %q, want %q", c.body, status, got, c.want)
		}
	}
	status, file := text(t, s.ask(t, `{"sql": "select seq from staging.million where seq < $n", "parameters": {"n": 5}}`, "Content-Type", asJSON, "Accept", asParquet))
	if rows, sum, err := readParquet(t, file); status != 200 || err != nil || rows != 5 || sum != 10 {
		t.Errorf("in Parquet: got %d, %d rows, sum %d, %v; want 5 rows, sum 10", status, rows, sum, err)
	}
}

// However an answer is cut, its trailer says so and no reader of its form takes what came for the whole. Each day sees each cut and each form; a proof
// sees each cut in each form.
func TestACutAnswerCannotBeTakenForWhole(t *testing.T) {
	fails := "select case when seq < 600000 then seq else error('no further') end as seq from range(1000000) as numbers (seq)"
	endless := "select seq, case when seq > 300000 then length(regexp_replace(repeat('ab', 20000 + seq % 2), 'a', 'c', 'g')) end as n from range(1000000) as numbers (seq)"
	for i, c := range []struct {
		why    string
		query  string
		says   string
		change func(*serve.Config)
	}{
		{"rows", "from staging.million", "cut after 300,000 rows", func(c *serve.Config) { c.MostRows = 300_000 }},
		{"bytes", "from staging.million", "cut after 2,000,000 bytes", func(c *serve.Config) { c.MostBytes = 2_000_000 }},
		{"an error", fails, "no further", nil},
		{"the deadline", endless, "stopped after 800ms", func(c *serve.Config) { c.Timeout = 800 * time.Millisecond }},
	} {
		s := serving(t, c.change)
		for j, form := range []string{asParquet, asCSV, asArrow, asJSON} {
			if !proof.IsFull() && i != j {
				continue
			}
			if c.why == "the deadline" && form == asParquet {
				continue // no row of it is written before the first 122,880 are there
			}
			response := s.ask(t, c.query, "Accept", form)
			got, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Errorf("%s, %s: %v", c.why, form, err)
			}
			if response.StatusCode != 200 || len(got) < 100_000 {
				t.Errorf("%s, %s: got %d and %d bytes, want the first part of an answer: %.200q", c.why, form, response.StatusCode, len(got), got)
			}
			said := response.Trailer.Get("Tidemark-Error")
			isSaid := strings.Contains(said, c.says) || c.why == "an error" && strings.Contains(said, worker.Unexplained)
			if !isSaid || response.Trailer.Get("Tidemark-Rows") != "" {
				t.Errorf("%s, %s: the trailers say %v, want an error with %q and no count", c.why, form, response.Trailer, c.says)
			}
			must.Fail(t, readAll(t, form, got))
		}
	}
}

// readAll reads an answer as a client's library does.
func readAll(t *testing.T, form string, content []byte) error {
	switch form {
	case asArrow:
		stream, err := ipc.NewReader(bytes.NewReader(content))
		if err != nil {
			return err
		}
		defer stream.Release()
		for stream.Next() {
		}
		return stream.Err()
	case asCSV:
		_, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
		return err
	case asJSON:
		return json.Unmarshal(content, new([]any))
	}
	_, _, err := readParquet(t, string(content))
	return err
}

// A cut that the client asked for is known ahead: the answer is whole as a stream and says in its head that it is not all.
func TestACutThatWasAskedFor(t *testing.T) {
	s := serving(t, nil)
	for _, c := range []struct {
		most string
		rows int64
		cut  string
	}{{"5", 5, "more than the 5 rows"}, {"20", 20, ""}, {"21", 20, ""}, {"5000", 20, ""}} {
		body := `{"sql": "from range(20)", "max_rows": ` + c.most + `}`
		response := s.ask(t, body, "Content-Type", asJSON)
		stream := must.Get(ipc.NewReader(response.Body))(t)
		said, _ := stream.Schema().Metadata().GetValue("tidemark.cut")
		rows := int64(0)
		for stream.Next() {
			rows += stream.RecordBatch().NumRows()
		}
		response.Body.Close()
		header := response.Header.Get("Tidemark-Cut")
		if stream.Err() != nil || rows != c.rows || said != header || !strings.Contains(header, c.cut) || (c.cut == "") != (header == "") {
			t.Errorf("max_rows %s: got %d rows, header %q, metadata %q, %v; want %d rows and %q", c.most, rows, header, said, stream.Err(), c.rows, c.cut)
		}
	}
}

func TestEachMistakeHasItsStatus(t *testing.T) {
	s := serving(t, func(c *serve.Config) { c.Timeout, c.MemoryBytes = 1500*time.Millisecond, 128<<20 })
	for _, c := range []struct {
		query  string
		status int
		says   string
		advice string
	}{
		{"selec 1", 400, "syntax error", "GET /v1/schema"},
		{"from marts.rums", 400, "Did you mean", "GET /v1/schema"},
		{"from nosuch", 400, "nosuch does not exist", "GET /v1/schema"},
		{"select 1; select 2", 400, "more than one statement", "one at a time"},
		{"drop table raw.runs", 400, "not a query", "select"},
		{"from '/etc/passwd'", 400, "does not exist", "GET /v1/schema"},
		{"from read_csv('/etc/passwd')", 400, "not allowed", "GET /v1/schema"},
		{"select 'x'::integer", 400, "Could not convert", ""},
		{"select count(*) from range(10000000) as a (n), range(10000000) as b (n) where a.n * b.n = 7", 408, "stopped after 1.5s", "--timeout"},
		{"select repeat('x', 3000000000)", 413, "more memory than it may take", "--memory"},
		{"select '" + strings.Repeat("x", 1<<20) + "'", 413, "larger than 1048576 bytes", "1 MiB"},
	} {
		status, got := text(t, s.ask(t, c.query, "Accept", asCSV))
		var said map[string]string
		if err := json.Unmarshal([]byte(got), &said); err != nil {
			t.Fatalf("%.60s: %d %s: %v", c.query, status, got, err)
		}
		if status != c.status || !strings.Contains(said["error"], c.says) || !strings.Contains(said["hint"], c.advice) {
			t.Errorf("%.60s: got %d %v, want %d with %q and %q", c.query, status, said, c.status, c.says, c.advice)
		}
	}
	metrics := s.metrics(t)
	for outcome, want := range map[string]string{"deadline": "1", "memory": "1", "ok": "0"} {
		if got := metrics[`tidemark_serve_queries_total{outcome="`+outcome+`"}`]; got != want {
			t.Errorf("the metrics count %s %s, want %s", got, outcome, want)
		}
	}
}

// metrics are the server's own, by series.
func (s *served) metrics(t testing.TB) map[string]string {
	t.Helper()
	response := must.Get(s.do("GET", "/metrics", nil))(t)
	status, lines := text(t, response)
	if status != 200 {
		t.Fatalf("/metrics: %d", status)
	}
	series := map[string]string{}
	for line := range strings.Lines(lines) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), "} "); is && !strings.HasPrefix(line, "#") {
			series[name+"}"] = value
		} else if name, value, is := strings.Cut(strings.TrimSpace(line), " "); is && !strings.HasPrefix(line, "#") {
			series[name] = value
		}
	}
	return series
}

// awaitMetric waits until the server counts so many.
func (s *served) awaitMetric(t *testing.T, series, want string) {
	t.Helper()
	for range 2000 {
		if s.metrics(t)[series] == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s does not become %s: %v", series, want, s.metrics(t))
}

// long is a query without an end.
const long = "select count(*) from range(10000000) as a (n), range(10000000) as b (n) where a.n * b.n = 7"

// With one place, five queries of alice wait. The first of bob runs after at most one of them. A client that leaves ends its query,
// and one too many is sent away.
func TestAskersTakeTurns(t *testing.T) {
	s := serving(t, func(c *serve.Config) { c.Workers, c.Queue = 1, 5 })
	ctx, leave := context.WithCancel(context.Background())
	request := must.Get(http.NewRequestWithContext(ctx, "POST", s.url+"/v1/sql", strings.NewReader(long)))(t)
	request.Header.Set("Authorization", "Bearer "+secret)
	left := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(request)
		left <- err
	}()
	s.awaitMetric(t, `tidemark_serve_workers{state="running"}`, "1")
	ended := make(chan string, 10)
	send := func(who, token string) {
		response, err := s.try("select 1", "Authorization", "Bearer "+token, "Accept", asCSV)
		if err != nil {
			who = err.Error()
		} else {
			_, _ = io.ReadAll(response.Body)
			response.Body.Close()
		}
		ended <- who
	}
	for i := range 5 {
		go send(fmt.Sprintf("alice %d", i), secret)
		s.awaitMetric(t, "tidemark_serve_queue_length", fmt.Sprint(i+1))
	}
	busy := s.ask(t, "select 1")
	if status, got := text(t, busy); status != 429 || busy.Header.Get("Retry-After") == "" || !strings.Contains(got, "too many queries") {
		t.Errorf("the sixth of alice: got %d %s, Retry-After %q; want 429 and seconds", status, got, busy.Header.Get("Retry-After"))
	}
	go send("bob", otherSecret)
	s.awaitMetric(t, "tidemark_serve_queue_length", "6")
	leave()
	if err := <-left; err == nil {
		t.Error("the query without an end has ended")
	}
	var order []string
	for range 6 {
		order = append(order, <-ended)
	}
	if place := slices.Index(order, "bob"); place < 0 || place > 2 {
		t.Errorf("they ended in the order %v; bob had to wait for more than one of alice", order)
	}
	s.awaitMetric(t, `tidemark_serve_queries_total{outcome="left"}`, "1")
	s.awaitMetric(t, `tidemark_serve_workers{state="running"}`, "0")
}

// A parameter of the address was ignored: who asked for CSV so got Arrow.
func TestTheAddressChoosesTheForm(t *testing.T) {
	s := serving(t, nil)
	for query, want := range map[string]string{
		"?format=csv": "one\n1\n", "?format=json": `{"one": 1}`, "?format=xml": `no format \"xml\"`, "?formt=csv": `no parameter \"formt\"`, "?limit=3": `no parameter \"limit\"`,
	} {
		response := must.Get(s.do("POST", "/v1/sql"+query, strings.NewReader("select 1 as one"), "Accept", "application/vnd.apache.arrow.stream"))(t)
		status, got := text(t, response)
		if isRefused := strings.HasPrefix(want, "no "); !strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", "")) || (status == 400) != isRefused {
			t.Errorf("%s: got %d %q, want %q", query, status, got, want)
		}
	}
}

// The schema lists what "tidemark schema" lists, with the comments and units of columns.
// Fields of an answer have unit and comment of the columns of the relations that the query names.
func TestFieldsOfAnAnswerAreDescribed(t *testing.T) {
	s := serving(t, nil)
	response := s.ask(t, "with r as (from staging.requests) select run_id, ttft_s, count(*) as n, 1e-3 as my_s from r inner join marts.runs using (run_id) group by all")
	defer response.Body.Close()
	stream := must.Get(ipc.NewReader(response.Body))(t)
	defer stream.Release()
	got := map[string]string{}
	for _, field := range stream.Schema().Fields() {
		unit, _ := field.Metadata.GetValue("unit")
		comment, _ := field.Metadata.GetValue("comment")
		got[field.Name] = unit + ": " + comment
	}
	want := map[string]string{"run_id": ": the replay", "ttft_s": "s: first_token_s - sent_s, seconds", "n": ": ", "my_s": "s: "}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for stream.Next() {
	}
	if err := stream.Err(); err != nil {
		t.Error(err)
	}
}

func TestSchemaListsRelations(t *testing.T) {
	s := serving(t, nil)
	response := must.Get(s.do("GET", "/v1/schema", nil))(t)
	status, body := text(t, response)
	var schema struct {
		Relations []struct {
			Relation, Kind, Comment string
			Columns                 []struct{ Name, Type, Unit, Comment string }
		}
	}
	if err := json.Unmarshal([]byte(body), &schema); err != nil || status != 200 {
		t.Fatalf("got %d, %v: %.300s", status, err, body)
	}
	db := openSnapshot(t, s.folder)
	for _, r := range schema.Relations {
		if r.Relation != "staging.requests" {
			continue
		}
		table, err := answers.Schema(context.Background(), db, r.Relation)
		if err != nil || len(table.Rows) != len(r.Columns) || table.Comment != r.Comment {
			t.Fatalf("%s: %v; got %d columns, want %d; comment %q, want %q", r.Relation, err, len(r.Columns), len(table.Rows), r.Comment, table.Comment)
		}
		for i, c := range r.Columns {
			if comment, _ := table.Rows[i][2].(string); c.Name != table.Rows[i][0] || c.Type != table.Rows[i][1] || c.Comment != comment {
				t.Errorf("column %d: got %v, want %v", i, c, table.Rows[i])
			}
			if want := map[string]string{"tpot_s": "s", "input_tokens": "tokens", "run_id": ""}; want[c.Name] != c.Unit && (want[c.Name] != "" || c.Name == "run_id") {
				t.Errorf("%s: got the unit %q, want %q", c.Name, c.Unit, want[c.Name])
			}
		}
	}
	all := must.Get(answers.Schema(context.Background(), db, ""))(t)
	listed := map[string]bool{}
	for _, r := range schema.Relations {
		listed[r.Relation] = true
	}
	for _, row := range all.Rows {
		if !listed[row[0].(string)] {
			t.Errorf("%s is missing", row[0])
		}
	}
}

func TestRunsAndTheirReports(t *testing.T) {
	s := serving(t, nil)
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/v1/runs", 200, `"run_id": "two"`},
		{"/v1/reports/runs/one", 200, "<p>60 requests"},
		{"/v1/reports/runs/none", 404, "known runs are one, two"},
		{"/v1/reports/services/chat/2026-W47", 200, "<p>chat in 2026-W47"},
		{"/v1/reports/services/chat/2026-W48", 404, "no report of chat in 2026-W48"},
		{"/healthz", 200, "ok"},
		{"/nothing", 404, "/v1/sql"},
	} {
		response := must.Get(s.do("GET", c.path, nil))(t)
		if status, got := text(t, response); status != c.status || !strings.Contains(got, c.says) {
			t.Errorf("%s: got %d %.300s, want %d with %q", c.path, status, got, c.status, c.says)
		}
	}
}

func TestWhoMayAsk(t *testing.T) {
	for _, c := range []struct {
		why     string
		host    string
		tokens  int
		hasTLS  bool
		mayNot  string
		adviser string
	}{
		{"this machine, no token", "127.0.0.1", 0, false, "", ""},
		{"this machine by name", "localhost", 0, false, "", ""},
		{"this machine, IPv6", "::1", 0, false, "", ""},
		{"everywhere without a token", "0.0.0.0", 0, true, "only ask with a token", "TIDEMARK_TOKEN"},
		{"everywhere in the open", "0.0.0.0", 1, false, "only ask over TLS", "--tls-cert"},
		{"all of IPv6 in the open", "::", 1, false, "only ask over TLS", "--tls-cert"},
		{"a name in the open", "gpu1", 1, false, "only ask over TLS", "--tls-cert"},
		{"a name that looks like this machine", "127.0.0.1.evil.example", 1, false, "only ask over TLS", "--tls-cert"},
		{"everywhere with both", "0.0.0.0", 1, true, "", ""},
	} {
		err := serve.CheckListening(c.host, c.tokens, c.hasTLS)
		if c.mayNot == "" && err != nil || c.mayNot != "" && (err == nil || !strings.Contains(err.Error(), c.mayNot) || !strings.Contains(hint.Of(err), c.adviser)) {
			t.Errorf("%s: got %v (%s)", c.why, err, hint.Of(err))
		}
	}
	for _, file := range []string{"", "alice", "alice short", "alice " + secret + " more", "alice " + secret + "\nalice " + otherSecret} {
		if _, err := serve.ReadTokens("f", file); err == nil || strings.Contains(err.Error(), secret) || !hint.IsMisuse(err) {
			t.Errorf("the token file %q: got %v, want a misuse without the token", file, err)
		}
	}

	open := serving(t, func(c *serve.Config) { c.Tokens = nil })
	if status, got := text(t, open.ask(t, "select 1 as x", "Authorization", "", "Accept", asCSV)); status != 200 || got != "x\n1\n" {
		t.Errorf("without tokens: got %d %q", status, got)
	}
	request := must.Get(http.NewRequest("POST", open.url+"/v1/sql", strings.NewReader("select 1")))(t)
	request.Host = "rebound.example"
	response := must.Get(http.DefaultClient.Do(request))(t)
	if status, got := text(t, response); status != 403 || !strings.Contains(got, "by the name localhost") {
		t.Errorf("another name for this machine: got %d %q, want 403", status, got)
	}
}

// What the tester of issue 13 asked and did not get.
func TestSmallThingsOfTheEndpoint(t *testing.T) {
	s := serving(t, nil)
	for _, c := range []struct{ query, want string }{
		{"show tables", `{"name": "marts.runs", "kind": "table"}`},
		{"select 1 as n, 2 as n", `{"n": 1, "n_2": 2}`},
	} {
		if status, got := text(t, s.ask(t, c.query, "Accept", "application/json")); status != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %d %.300s, want %s", c.query, status, got, c.want)
		}
	}
	for body, want := range map[string]string{
		`[]`:                              "it is an array and not an object",
		`{"sql": 1}`:                      `"sql\" is a number and not a text`,
		`{"sql": "x", "max_rows": "1"}`:   `max_rows\" is a string and not a whole number`,
		`{"sql": "from x", "nothing": 1}`: `unknown field \"nothing\"`,
	} {
		if status, got := text(t, s.ask(t, body, "Content-Type", "application/json")); status != 400 || !strings.Contains(got, want) {
			t.Errorf("%s: got %d %s, want %s", body, status, got, want)
		}
	}
	if _, got := text(t, s.ask(t, "from nosuch")); strings.Contains(got, "pg_") {
		t.Errorf("DuckDB's own tables are suggested: %s", got)
	}
}
