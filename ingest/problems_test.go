//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

const header = "TIMESTAMP,ContextTokens,GeneratedTokens\n"

// A file that cannot be taken in says where, what and what to do; what was in
// the warehouse stays as it was.
func TestRefusedFiles(t *testing.T) {
	good := "2024-01-01 00:00:00,1,1\n"
	many := strings.Repeat(good, 998)
	cases := []struct {
		why, content string
		opts         ingest.Options
		words, hint  string
	}{
		{why: "an empty file", words: "the file is empty"},
		{why: "blank lines alone", content: "\n \r\n\n", words: "the file is empty"},
		{why: "a header alone", content: header, words: "a header and no rows"},
		{why: "no header", content: good + good, words: "no known format; saw a CSV with 3 columns", hint: "--column"},
		{why: "a column is missing", content: "TIMESTAMP,ContextTokens\n2024-01-01 00:00:00,1\n", words: "line 1: no column of output tokens", hint: "GeneratedTokens"},
		{why: "a column twice", content: "TIMESTAMP,ContextTokens,ContextTokens,GeneratedTokens\n", words: "line 1: column ContextTokens: there twice"},
		{why: "a bad row among too few good ones", content: header + "yesterday,1,1\n" + good,
			words: "1 of 2 rows rejected, more than 0.001 of them: line 2: TIMESTAMP: not a time", hint: "--max-rejected"},
		{why: "every row is bad", content: header + "x,1,1\ny,1,1\n", opts: ingest.Options{MaxRejectedRatio: 1}, words: "no row can be read: line 2: TIMESTAMP: not a time"},
		{why: "a hopeless file is not read to its end", content: header + strings.Repeat("x,1,1\n", 2_000_000), words: "not one of the first"},
		{why: "two of a thousand, and then three dots", content: header + many + "x,1,1\nx,1,1\nx,1,1\nx,1,1\n",
			words: "4 of 1002 rows rejected, more than 0.001 of them: line 1000: TIMESTAMP: not a time; line 1001: TIMESTAMP: not a time; line 1002: TIMESTAMP: not a time; ..."},
		{why: "none at all is allowed", content: header + many + good + "x,1,1\n", opts: ingest.Options{MaxRejectedRatio: -1}, words: "1 of 1000 rows rejected"},
		{why: "told wrong", content: `{"timestamp":1,"input_length":2,"output_length":3}` + "\n", opts: ingest.Options{Format: "azure"},
			words: "--format says azure, but it is mooncake: JSON lines with timestamp, input_length, output_length", hint: "--format mooncake"},
		{why: "told something else of something unknown", content: "a,b\n1,2\n", opts: ingest.Options{Format: "mooncake"},
			words: "--format says mooncake, but saw a CSV with a, b", hint: "hash_ids"},
		{why: "told run of a file", content: "a,b\n1,2\n", opts: ingest.Options{Format: "run"}, words: "--format says run, but it is a file", hint: "run.json"},
		{why: "Parquet", content: "PAR1\x15\x04", words: "Parquet: "},
		{why: "a line break in a name of the header", content: "\"arrival_ms\",\"input\ntokens\",output_tokens\n0,10,5\n", words: "first line ends inside quotes"},
		{why: "semicolons", content: "a;b;c\n0;10;5\n", words: "separated by semicolons"},
		{why: "UTF-16", content: "\xff\xfeT\x00I\x00", words: "saw UTF-16 text"},
		{why: "binary", content: "\x7fELF\x00\x00", words: "saw binary data"},
		{why: "a JSON array", content: "[1,2]", words: "saw a JSON array"},
		{why: "prose", content: "It was a dark night.\n", words: "neither CSV nor JSON lines"},
	}
	w := open(t) // one for all: refused sees that each file leaves nothing in it
	load(t, w, "../fixtures/traces/vidur.csv", ingest.Options{})
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			path := write(t, "bad", []byte(c.content))
			err := refused(t, w, path, c.opts, "ingest "+path+": ", c.words)
			must.Say(t, hint.Of(err), c.hint)
			must.NotSay(t, err.Error(), "yesterday")
		})
	}
}

func TestRefusedPaths(t *testing.T) {
	w := open(t)
	folder := t.TempDir()
	refused(t, w, filepath.Join(folder, "none.csv"), ingest.Options{}, "none.csv: no such file or directory")
	refused(t, w, folder, ingest.Options{}, "a folder with no file in it")
	refused(t, w, "../fixtures/traces/vidur.csv", ingest.Options{Format: "orc"}, `no format "orc"`)
	if os.Geteuid() != 0 {
		secret := write(t, "secret.csv", []byte(header))
		must.Do(t, os.Chmod(secret, 0))
		refused(t, w, secret, ingest.Options{}, "permission denied")
	}
}

// A row that cannot be read is a reject with its line, column and reason; the
// rest is kept, and the counts add up.
func TestRejects(t *testing.T) {
	azure := func(row string) string {
		return header + "2024-01-01 00:00:00,1,1\n" + row + "\n2024-01-01 00:00:09,1,1\n"
	}
	vidur := func(row string) string {
		return "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n" + row + "\n2,1,1\n"
	}
	const head = `{"timestamp":0,"input_length":600,"output_length":3,"hash_ids":[1,2]}` + "\n\n"
	mooncake := func(row string) string { return head + row + "\n" + head }
	cases := []struct{ why, content, column, reason string }{
		{"not a number", azure("2024-01-01 00:00:01,many,1"), "ContextTokens", "not an integer"},
		{"a fraction of a token", azure("2024-01-01 00:00:01,1,1.5"), "GeneratedTokens", "not an integer"},
		{"negative tokens", azure("2024-01-01 00:00:01,-5,1"), "ContextTokens", "negative"},
		{"2^63", azure("2024-01-01 00:00:01,9223372036854775808,1"), "ContextTokens", "too large"},
		{"2^63 - 1 input tokens, whose sums wrap", azure("2024-01-01 00:00:01,9223372036854775807,1"), "ContextTokens", "too large"},
		{"2^31 output tokens", azure("2024-01-01 00:00:01,1,2147483648"), "GeneratedTokens", "too large"},
		{"2^31 tokens, quoted", azure(`2024-01-01 00:00:01,1,"2147483648"`), "GeneratedTokens", "too large"},
		{"a quote that is not closed", azure(`"2024-01-01 00:00:01",5,"1`), "GeneratedTokens", "a quote is not closed on its line"},
		{"a quote that is not opened", azure(`2024-01-01 00:00:01,5,1"`), "GeneratedTokens", "a quote where none can be"},
		{"something behind the quote", azure(`2024-01-01 00:00:01,"5"0,1`), "ContextTokens", "a quote where none can be"},
		{"quotes around nothing", azure(`2024-01-01 00:00:01,"",1`), "ContextTokens", "missing"},
		{"two values in one pair of quotes", azure(`2024-01-01 00:00:01,"5,1"`), "ContextTokens", "not an integer"},
		{"a quoted column too many", azure(`2024-01-01 00:00:01,5,1,"x,y"`), "", "more columns than the header"},
		{"nothing", azure("2024-01-01 00:00:01,,1"), "ContextTokens", "missing"},
		{"a column short", azure("2024-01-01 00:00:01,1"), "GeneratedTokens", "missing"},
		{"a column too many", azure("2024-01-01 00:00:01,1,1,1"), "", "more columns than the header"},
		{"a day that is not", azure("2023-02-29 00:00:01,1,1"), "TIMESTAMP", "not a time"},
		{"an hour that is not", azure("2024-01-01 24:00:01,1,1"), "TIMESTAMP", "not a time"},
		{"a year past what 64 bits of nanoseconds hold", azure("2999-01-01 00:00:01,1,1"), "TIMESTAMP", "out of range"},
		{"the header again", azure(strings.TrimSpace(header)), "TIMESTAMP", "not a time"},
		{"NaN", vidur("NaN,1,1"), "arrived_at", "not a finite number"},
		{"infinity", vidur("inf,1,1"), "arrived_at", "not a finite number"},
		{"before the begin", vidur("-0.5,1,1"), "arrived_at", "negative"},
		{"292 years", vidur("9.3e9,1,1"), "arrived_at", "out of range"},
		{"2^31 prompt tokens", mooncake(`{"timestamp":1,"input_length":2147483648,"output_length":3}`), "input_length", "too large"},
		{"2^63 - 1 tokens, and keys in need of a JSON reader", mooncake(`{"timestamp":1,"input_length":2,"output_length":9223372036854775807,"x":"\u0041"}`), "output_length", "too large"},
		{"no JSON", mooncake(`{"timestamp":`), "", "not a JSON object"},
		{"a key twice", mooncake(`{"timestamp":1,"input_length":5,"input_length":9,"output_length":3}`), "input_length", "the key is there twice"},
		{"a key twice, which nobody reads", mooncake(`{"timestamp":1,"input_length":5,"output_length":3,"x":[{"a":1}],"x":2}`), "x", "the key is there twice"},
		{"an array", mooncake(`[1,2]`), "", "not a JSON object"},
		{"something behind the object", mooncake(`{"timestamp":1,"input_length":2,"output_length":3} x`), "", "not a JSON object"},
		{"no timestamp", mooncake(`{"input_length":2,"output_length":3}`), "timestamp", "missing"},
		{"a null", mooncake(`{"timestamp":1,"input_length":null,"output_length":3}`), "input_length", "missing"},
		{"a string", mooncake(`{"timestamp":"1","input_length":2,"output_length":3}`), "timestamp", "not a number"},
		{"half a token", mooncake(`{"timestamp":1,"input_length":2.5,"output_length":3}`), "input_length", "not an integer"},
		{"negative", mooncake(`{"timestamp":1,"input_length":2,"output_length":-3}`), "output_length", "negative"},
		{"2^63 ms", mooncake(`{"timestamp":9223372036854775808,"input_length":2,"output_length":3}`), "timestamp", "out of range"},
		{"an id that is none", mooncake(`{"timestamp":1,"input_length":2,"output_length":3,"hash_ids":[1.5]}`), "hash_ids", "not an integer"},
		{"an id past 64 bits", mooncake(`{"timestamp":1,"input_length":2,"output_length":3,"hash_ids":[18446744073709551616]}`), "hash_ids", "not an integer"},
		{"fewer blocks than the prompt has", mooncake(`{"timestamp":1,"input_length":513,"output_length":3,"hash_ids":[1]}`), "hash_ids", "blocks cover less than the prompt"},
	}
	w := open(t)
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			empty(t, w)
			result := load(t, w, write(t, "trace", []byte(c.content)), ingest.Options{MaxRejectedRatio: 0.5})
			got := table(t, w, "select line, column_name, reason from raw.rejects")
			if want := fmt.Sprintf("[[3 %s %s]]", c.column, c.reason); fmt.Sprint(got) != want {
				t.Errorf("rejects: got %v, want %s", got, want)
			}
			if result.RowsRejected != 1 || result.RowsRead != result.RowsKept+1 {
				t.Errorf("counts: got %+v", result)
			}
			if broken := table(t, w, "select * from checks.rows_add_up"); len(broken) > 0 {
				t.Errorf("checks.rows_add_up: %v", broken)
			}
		})
	}
}

// Sums of the largest counts that are kept do not wrap.
func TestLargestTokenCountIsKept(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "large.csv", []byte(header+strings.Repeat("2024-01-01 00:00:00,2147483647,2147483647\n", 3))), ingest.Options{})
	if got := number(t, w, "select sum(input_tokens + output_tokens)::bigint from raw.arrivals"); got != 6*2147483647 {
		t.Errorf("sum: got %d", got)
	}
}

// Quotes may hold commas and quotes in columns that nobody asked for, in the
// header as well.
func TestQuotedCommas(t *testing.T) {
	content := "\"note, free\",TIMESTAMP,ContextTokens,\"GeneratedTokens\"\r\n" +
		"\"a, b\",2024-01-01 00:00:00,1,2\r\n" +
		"\"said \"\"c, d\"\"\", \"2024-01-01 00:00:01\" ,\"3\",\" 4 \"\r\n" +
		"plain,2024-01-01 00:00:02,5,6\r\n" +
		"\"\",2024-01-01 00:00:03,7,8"
	w := open(t)
	result := load(t, w, write(t, "quoted.csv", []byte(content)), ingest.Options{})
	want := "[[2 0 1 2] [3 1000000000 3 4] [4 2000000000 5 6] [5 3000000000 7 8]]"
	if got := table(t, w, "select line, arrival_ns, input_tokens, output_tokens from raw.arrivals order by line"); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if result.RowsRejected != 0 {
		t.Errorf("got %+v", result)
	}
}

// Of a row with a line break in its quotes no half is kept.
func TestQuotedLineBreaksAreRejectedOnBothLines(t *testing.T) {
	const row = "2024-01-01 00:00:00,1,2,ok\n"
	for _, c := range []struct{ why, content, want string }{
		{"in the last column", "TIMESTAMP,ContextTokens,GeneratedTokens,note\n" + row + "2024-01-01 00:00:01,3,4,\"first\nsecond\"\n" + row,
			"[[3 note a quote is not closed on its line] [4 TIMESTAMP a quote where none can be]]"},
		{"in the first column", "note,TIMESTAMP,ContextTokens,GeneratedTokens\nok,2024-01-01 00:00:00,1,2\n\"first\nsecond\",2024-01-01 00:00:01,3,4\n",
			"[[3 note a quote is not closed on its line] [4 note a quote where none can be]]"},
	} {
		t.Run(c.why, func(t *testing.T) {
			w := open(t)
			load(t, w, write(t, "broken.csv", []byte(c.content)), ingest.Options{MaxRejectedRatio: 1})
			if got := table(t, w, "select line, column_name, reason from raw.rejects order by line"); fmt.Sprint(got) != c.want {
				t.Errorf("rejects: got %v, want %s", got, c.want)
			}
			answers(t, w, "select count(*) from raw.arrivals where input_tokens <> 1", "0")
		})
	}
	refused(t, open(t), write(t, "header.csv", []byte("TIMESTAMP,ContextTokens,GeneratedTokens,\"a\nb\"\n"+row)), ingest.Options{},
		"line 1: the header: a quote is not closed on its line")
}

// One bad row in a million does not keep the others out.
func TestOneBadRowInManyIsKeptApart(t *testing.T) {
	var content bytes.Buffer
	content.WriteString(header)
	const rows, bad = 200_000, 123_456
	for i := range rows {
		if i == bad {
			content.WriteString("2024-01-01 00:00:00,1,?\n")
			continue
		}
		fmt.Fprintf(&content, "2024-01-01 %02d:%02d:%02d.%03d,%d,%d\n", i/3600000, i/60000%60, i/1000%60, i%1000, i%5000, i%700)
	}
	w := open(t)
	result := load(t, w, write(t, "many.csv", content.Bytes()), ingest.Options{})
	if result.RowsRead != rows || result.RowsKept != rows-1 || result.RowsRejected != 1 {
		t.Errorf("got %+v", result)
	}
	if line := number(t, w, "select line from raw.rejects"); line != bad+2 {
		t.Errorf("the reject is on line %d, want %d", line, bad+2)
	}
	// Each row is where its line says, whichever worker read it.
	wrong := number(t, w, `
		select count(*) from raw.arrivals
		where arrival_ns <> (line - 2) * 1000000 or input_tokens <> (line - 2) % 5000 or output_tokens <> (line - 2) % 700`)
	if wrong != 0 {
		t.Errorf("%d rows are not what their line says", wrong)
	}
	if order := number(t, w, "select count(*) from (select line, lag(line) over (order by rowid) as before from raw.arrivals) where before > line"); order != 0 {
		t.Errorf("%d rows lie out of the order of the file", order)
	}
}

// A line of ten megabytes is one reject, and the lines around it are kept with
// their right numbers.
func TestLongLines(t *testing.T) {
	good := "2024-01-01 00:00:00,1,1\n"
	for _, megabytes := range []int{2, 10} {
		t.Run(fmt.Sprint(megabytes, " MB"), func(t *testing.T) {
			w := open(t)
			content := header + good + strings.Repeat("9", megabytes<<20) + "\n" + good + good
			result := load(t, w, write(t, "long.csv", []byte(content)), ingest.Options{MaxRejectedRatio: 0.5})
			if result.RowsKept != 3 || result.RowsRejected != 1 {
				t.Errorf("got %+v", result)
			}
			if got := table(t, w, "select line, reason from raw.rejects"); fmt.Sprint(got) != "[[3 line is too long]]" {
				t.Errorf("rejects: got %v", got)
			}
			if got := table(t, w, "select line from raw.arrivals order by line"); fmt.Sprint(got) != "[[2] [4] [5]]" {
				t.Errorf("lines: got %v", got)
			}
		})
	}
}

// Two files of one name in a folder are two sources, and the second says what it
// is called and why. Nobody can name it by hand.
func TestSameNameTwiceInAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "two")
	for i, name := range []string{"t.csv", "x/t.csv", "y/x/t.csv"} {
		path := filepath.Join(folder, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, fmt.Appendf(nil, "%s2024-01-01 00:00:00,%d,1\n", header, i), 0o600))
	}
	w := open(t)
	for _, known := range []bool{false, true} {
		results, err := ingest.Load(t.Context(), w, []string{folder}, ingest.Options{})
		if err != nil || len(results) != 3 {
			t.Fatalf("got %+v, %v", results, err)
		}
		for i, want := range []string{"t-" + filepath.Base(folder), "t-x", "t-x-2"} {
			if results[i].Name != want || results[i].AlreadyKnown != known {
				t.Errorf("got %+v, want it called %s", results[i], want)
			}
		}
		note := "called t-x, because several files are called t"
		if got := strings.Join(results[1].Notes, "\n"); !known && got != "no zone given, read as UTC\n"+note {
			t.Errorf("notes: got %q, want %q", got, note)
		}
	}
}

// A first file that cannot be taken in leaves no warehouse behind; a second does
// not take what is there with it.
func TestFailedFirstIngestLeavesNoWarehouse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.duckdb")
	good, bad := write(t, "good.csv", []byte(header+"2024-01-01 00:00:00,1,1\n")), write(t, "bad.csv", []byte("It was a dark night.\n"))
	for _, c := range []struct {
		paths  []string
		opts   ingest.Options
		isLeft bool
	}{
		{[]string{bad}, ingest.Options{}, false},
		{[]string{bad}, ingest.Options{Format: "none"}, false},
		{[]string{good, bad}, ingest.Options{}, true},
		{[]string{bad}, ingest.Options{}, true},
	} {
		w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
		must.Refuse(ingest.Load(t.Context(), w, c.paths, c.opts))(t)
		must.Do(t, w.Close())
		if _, err := os.Stat(path); (err == nil) != c.isLeft {
			t.Errorf("after Load(%v): the file is there: %v, want %v", c.paths, err == nil, c.isLeft)
		}
	}
}

// A folder is walked; what is no data is passed over and said.
func TestFolders(t *testing.T) {
	folder := t.TempDir()
	put := func(name, content string) {
		path := filepath.Join(folder, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	}
	put("a.csv", header+"2024-01-01 00:00:00,1,1\n")
	put("deep/b.csv", header+"2024-01-01 00:00:00,2,2\n")
	put("deep/README.md", "These are traces.\n")
	put("deep/empty.csv", "")
	put(".hidden/c.csv", header+"2024-01-01 00:00:00,3,3\n")
	put("broken.csv", header+"x,1,1\n")
	w := open(t)
	results, err := ingest.Load(t.Context(), w, []string{folder}, ingest.Options{})
	must.Fail(t, err, "broken.csv: no row can be read")
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(filepath.Base(r.Path), " ", r.Name, " ", r.Notes))
	}
	text := strings.Join(got, "\n")
	must.Say(t, text, "a.csv a [", "b.csv b [", "README.md  [passed over: ", "empty.csv  [passed over: the file is empty]")
	if len(results) != 4 {
		t.Errorf("got %d results, want 4:\n%s", len(results), text)
	}
}

// A link to a file is that file, as data sets keep them; one that leads nowhere, in
// a circle or to a folder is said.
func TestLinksInAFolder(t *testing.T) {
	folder := t.TempDir()
	elsewhere := write(t, "store.csv", []byte(header+"2024-01-01 00:00:00,1,1\n"))
	for name, to := range map[string]string{"trace.csv": elsewhere, "nowhere.csv": folder + "/gone", "circle": "circle", "up": folder} {
		must.Do(t, os.Symlink(to, filepath.Join(folder, name)))
	}
	results := must.Get(ingest.Load(t.Context(), open(t), []string{folder}, ingest.Options{}))(t)
	taken, passed := 0, 0
	for _, r := range results {
		if r.Format == "azure" && r.Name == "trace" {
			taken++
		} else if strings.Contains(fmt.Sprint(r.Notes), "neither a file nor a link to one") {
			passed++
		}
	}
	if taken != 1 || passed != 3 {
		t.Errorf("got %+v, want the trace, and three passed over", results)
	}
}
