//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// parquet writes what a query yields.
func parquet(t testing.TB, query string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.parquet")
	must.Get(open(t).DB().Exec(fmt.Sprintf("copy (%s) to '%s' (format parquet)", query, path)))(t)
	return path
}

func TestParquet(t *testing.T) {
	columns := "line, arrival_ns, input_tokens, output_tokens, session_id, ttft_s, blocks"
	cases := []struct {
		why, query string
		said       map[string]string
		want       string
	}{
		{"nanoseconds above 2^53, gaps as NaN, block ids of 64 bits", `
			select 1753694362340138614::bigint + i as timestamp, 7 + i as prompt_tokens, case i when 0 then 3 else 5e0 end as completion_tokens,
				case i when 0 then 'NaN'::double else 0.5 end as ttft_s, [18446744073709551615::ubigint] as hash_ids, 16 as block_size
			from range(2) as r(i)`, nil,
			"[[1 614 7 3   [18446744073709551615]] [2 615 8 5  0.5 [18446744073709551615]]]"},
		{"instants and structs", `
			select timestamptz '2024-05-10 10:00:00.5+02' as created_at, {'prompt_tokens': 9, 'completion_tokens': 1} as usage, 's' as session_id`, nil,
			"[[1 0 9 1 s  ]]"},
		{"columns as they are said", `select 2.5 as a, 3 as b, 4 as c`,
			map[string]string{"arrival_ms": "a", "input_tokens": "b", "output_tokens": "c"}, "[[1 2500000 3 4   ]]"},
		{"sessions with their requests inside", `
			select 's' as session_id, 1778977459236 as start_ms, [
				{'start_ms': 1778977459236, 'end_ms': 1778977459336, 'ttft_ms': 50, 'model': 'm', 'provider_tokens': {'prompt': 5, 'completion': 6}}] as requests`, nil,
			"[[1 0 5 6 s 0.05 ]]"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := open(t)
			result := load(t, w, parquet(t, c.query), ingest.Options{Columns: c.said})
			got := table(t, w, "select "+columns+" from raw.arrivals left join raw.arrival_details using (source_id, line) order by line")
			if fmt.Sprint(got) != c.want || result.Format != "parquet" {
				t.Errorf("got %v of %+v, want %s", got, result, c.want)
			}
		})
	}
}

// Text in a Parquet file does not even leave the process that reads it.
func TestParquetText(t *testing.T) {
	path := parquet(t, `select 1.5 as ts_s, 3 as input_tokens, 4 as output_tokens, 'a canary sings' as prompt, repeat('a canary sings ', 9) as x, [{'content': 'a canary'}] as messages`)
	refused(t, open(t), path, ingest.Options{RefuseText: true}, "it holds text")
	w := open(t)
	notes := strings.Join(load(t, w, path, ingest.Options{}).Notes, "\n")
	for _, column := range []string{"prompt", "x", "messages"} {
		must.Say(t, notes, "text was left out: "+column)
	}
}

// The unit of a column that has none is asked for, and taken.
func TestParquetWithoutAUnit(t *testing.T) {
	path := parquet(t, `select 1500 as ts, 3 as input_tokens, 4 as output_tokens union all select 0, 3, 4 order by ts`)
	refused(t, open(t), path, ingest.Options{}, "ts: nothing says whether it is in seconds or milliseconds")
	w := open(t)
	load(t, w, path, ingest.Options{TimeUnit: "ms"})
	answers(t, w, "select max(arrival_ns) from raw.arrivals", "1500000000")
}

// Compressed once more, or on stdin, it is read all the same, and nothing is left
// of the way there.
func TestParquetOnStdin(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	content := must.Get(os.ReadFile(parquet(t, "select i as ts_s, 3 as input_tokens, 4 as output_tokens from range(10000) as r(i)")))(t)
	left := func() int {
		files := must.Get(filepath.Glob(filepath.Join(temporary, "tidemark-parquet*")))(t)
		return len(files)
	}
	w := open(t)
	if result := load(t, w, write(t, "a.parquet.zst", zstdOf(t, content)), ingest.Options{}); result.RowsKept != 10000 || left() != 0 {
		t.Errorf("got %+v, %d files left", result, left())
	}
	w = open(t)
	if result := load(t, w, "-", ingest.Options{Stdin: strings.NewReader(string(content))}); result.RowsKept != 10000 || left() != 0 {
		t.Errorf("got %+v, %d files left", result, left())
	}
}

// Whatever a damaged file does to its reader, this process lives and says so.
func TestParquetDamaged(t *testing.T) {
	content := must.Get(os.ReadFile(parquet(t, "select i as ts_s, 3 as input_tokens, i % 7 as output_tokens, 'canary' || i as session_id from range(2000) as r(i)")))(t)
	refused(t, open(t), write(t, "cut.parquet", content[:len(content)/2]), ingest.Options{}, "Parquet: ")
	refused(t, open(t), parquet(t, "select 'x' as who, 3 as much"), ingest.Options{}, "no column that is arrival")
	refused(t, open(t), parquet(t, "select 3 as ts, 3 as input_tokens, 4 as output_tokens"), ingest.Options{Columns: map[string]string{"class": "kind"}}, "no column kind")
	refused(t, open(t), parquet(t, "select 3 as ts, 3 as input_tokens, 4 as much from range(1000000)"), ingest.Options{}, "no column that is output_tokens")
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		damaged := append([]byte{}, content...)
		for range 20 {
			damaged[4+random.IntN(len(damaged)-4)] = byte(random.Uint32())
		}
		w := open(t)
		_, err := ingest.Load(t.Context(), w, []string{write(t, "a.parquet", damaged)}, ingest.Options{MaxRejectedRatio: 1})
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("the error quotes the file: %v", err)
		}
		if got := number(t, w, "select count(*) from raw.arrivals"); err != nil && got != 0 {
			t.Errorf("%d rows of a file that failed: %v", got, err)
		}
	}
}
