//go:build duckdb_arrow && spark

package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Every question of queries/portable has the same answer on DuckDB and on Spark, over the lake of two services and five weeks, and it is what the Monday page
// says (testdata/portable.py, docs/spark.md). `make test-spark` runs it; RECOMPUTE_DIR keeps the folder.
func TestTheMondayPageOnSpark(t *testing.T) {
	python := os.Getenv("SPARK_PYTHON")
	if python == "" {
		t.Fatal("SPARK_PYTHON names no python: run make test-spark")
	}
	script := must.Get(filepath.Abs("testdata/portable.py"))(t)
	dir := t.TempDir()
	if kept := os.Getenv("RECOMPUTE_DIR"); kept != "" {
		dir = kept
	}
	runs, err := filepath.Glob(absolute(t, "../../fixtures/releases") + "/*/runs/*")
	if err != nil || len(runs) < 2 {
		t.Fatalf("%d runs whose latencies can be merged (%v)", len(runs), err)
	}
	recordTraffic(t, dir)
	reportWeeks(t, dir, recomputedServices())
	typed(t, slices.Concat([]string{"ingest", "--quiet"}, runs)...)
	out, err := exec.Command(python, script, dir).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// Lines of a CSV file that is not as it should be, and some that are written in another way than usual.
var oddAzure = []string{
	"TIMESTAMP, NumImages,GeneratedTokens,ContextTokens",
	"2024-02-29 00:00:00.5000009,0,5,10", "2024-02-28 23:59:59.9999991,0,5,10", "", " \t", "2024-02-29T00:00:01Z,,6,11\r", "2023-02-29 00:00:00,0,5,10",
	"1650-01-01 00:00:00,0,5,10", "2201-01-01 00:00:00,0,5,10", "1700-13-01 00:00:00,0,5,10", "2024-02-29 24:00:00,0,5,10", "2024-02-29 00:60:00,0,5,10",
	"2024-02-29 00:00:02.,0,5,10", "2024-02-29 00:00:03.123456789123,0,5,10", "2024-02-29 05:30:04+05:30,0,5,10", "2024-02-29 05:30:04+0530,0,5,10",
	"2024-02-28 16:00:05-08,0,5,10", "2024-02-29 00:00:06+19:00,0,5,10", "2024-02-29 00:00:06+05:,0,5,10", "2024-02-29 00:00:06 UTC,0,5,10", "2024-02-29,0,5,10",
	"  2024-02-29 00:00:07  ,0, 5 ,\t10", ",0,5,10", "2024-02-29 00:00:08,0,5", "2024-02-29 00:00:08", "2024-02-29 00:00:08,0,5,10,1", "2024-02-29 00:00:08,0,,10",
	"2024-02-29 00:00:08,0,-5,10", "2024-02-29 00:00:08,0,-x,10", "2024-02-29 00:00:08,0,5.5,10", "2024-02-29 00:00:08,0,2147483648,10", "2024-02-29 00:00:09,0,2147483647,10",
	"2024-02-29 00:00:08,0,99999999999999999999,10", "2024-02-29 00:00:08,0,99999999999999999999x,10", "2024-02-29 00:00:08,0,5x,10", "2024-02-29 00:00:08,0,1e3,10", "2024-02-29 00:00:10,0,007,0",
	`"2024-02-29 00:00:11","a,b"," 5 ","10"`, `2024-02-29 00:00:12,"a""b",5,10`, `2024-02-29 00:00:13,"a,5,10`, `2024-02-29 00:00:13,a"b,5,10`, `2024-02-29 00:00:13,"a"b,5,10`,
	`2024-02-29 00:00:13,0,"5,10`, `2024-02-29 00:00:13,0,5,"10"x`, `2024-02-29 00:00:13,"a"",5,10`, `2024-02-29 00:00:14, "a" ,5, "10" `, `2024-02-29 00:00:13,"a","5"`, `2024-02-29 00:00:13,"a",5,10,`,
	"2024-02-29 00:00:15,\xff\xfe,5,10", "x", "2024-02-29 00:00:16," + strings.Repeat("a", 1<<20) + ",5,10", "2024-02-29 00:00:17,0,5,10",
}

// The same of JSON lines.
var oddMooncake = []string{
	`{"timestamp": 0, "input_length": 1100, "output_length": 500, "hash_ids": [0, 1, 2]}`, ``, `{"timestamp": 5, "input_length": 512, "output_length": 1, "hash_ids": []}`,
	`{"timestamp": 1.5, "input_length": 512, "output_length": 1, "hash_ids": null, "session_id": "b"}`, `{"timestamp": 1e3, "input_length": 5, "output_length": 1, "session_id": 12.0}`,
	`{"timestamp": 0.1234567891234, "input_length": 5, "output_length": 1, "session_id": null}`, `{"timestamp": 2.1234565, "input_length": 5, "output_length": 1, "session_id": [1]}`, `not json`, `[1]`, `null`, `{"timestamp": 3`, `{"timestamp": 3} x`,
	`{"timestamp": NaN, "input_length": 5, "output_length": 1}`, `{"timestamp": 03, "input_length": 5, "output_length": 1}`, `{'timestamp': 3, "input_length": 5, "output_length": 1}`,
	`{"timestamp": -1, "input_length": 5, "output_length": 1}`, `{"timestamp": -0, "input_length": 5, "output_length": 1}`, `{"timestamp": 1e400, "input_length": 5, "output_length": 1}`, `{"timestamp": 9300000000000, "input_length": 5, "output_length": 1}`,
	`{"timestamp": "7", "input_length": 5, "output_length": 1}`, `{"timestamp": true, "input_length": 5, "output_length": 1}`, `{"timestamp": null, "input_length": 5, "output_length": 1}`, `{"input_length": 5, "output_length": 1}`,
	`{"timestamp": 7, "output_length": 1}`, `{"timestamp": 7, "input_length": null, "output_length": 1}`, `{"timestamp": 7, "input_length": -5, "output_length": 1}`, `{"timestamp": 7, "input_length": 5.0, "output_length": 1}`,
	`{"timestamp": 7, "input_length": 2147483648, "output_length": 1}`, `{"timestamp": 7, "input_length": "5", "output_length": 1}`, `{"timestamp": 7, "input_length": 5, "output_length": {}}`, `{"timestamp": 7, "input_length": 5, "output_length": ""}`,
	`{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": [1.0]}`, `{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": ["7"]}`, `{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": [-1]}`,
	`{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": [18446744073709551616]}`, `{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": [18446744073709551615]}`, `{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": [null]}`,
	`{"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": 7}`, `{"timestamp": 9, "input_length": 513, "output_length": 1, "hash_ids": [7]}`, `{"timestamp": 9, "input_length": 5, "output_length": 1, "hash_ids": [7, 8, 9]}`,
	`{"timestamp": 9, "timestamp": 10, "input_length": 5, "output_length": 1, "priority": {"a": [1, 2]}}`, "  {\"timestamp\": 11, \"input_length\": 5, \"output_length\": 1}  \r", `{"timestamp": 12, "input_length": 5, "output_length": 1, "note": "` + strings.Repeat("a", 1<<20) + `"}`,
	`{"timestamp": 4, "input_length": 5, "output_length": 1, "session_id": "z"}`,
}

// Spark makes the same lake of a trace as `tidemark ingest`: the same rows, the same types but that of block ids, and the same rejects (docs/spark/ingest.py). The traces are
// those of Azure and Mooncake where TIDEMARK_SHARED has them, our fixtures, and files with much that is wrong. Spark reads every file in pieces.
func TestTracesIngestedOnSpark(t *testing.T) {
	submit := os.Getenv("SPARK_SUBMIT")
	if submit == "" {
		t.Fatal("SPARK_SUBMIT names no spark-submit: run make test-spark")
	}
	script := must.Get(filepath.Abs("../../docs/spark/ingest.py"))(t)
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"azure-2023.csv", "azure-lmm-2025.csv", "mooncake.jsonl", "mooncake-16.jsonl", "mooncake-sessions.jsonl"} {
		files = append(files, absolute(t, "../../fixtures/traces/"+name))
	}
	put(t, dir, "packed.csv.gz", packed(t, "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:00.017335+00:00,2399,6\n"))
	put(t, dir, "odd-azure.csv", strings.Join(oddAzure, "\n"))
	put(t, dir, "odd-mooncake.jsonl", strings.Join(oddMooncake, "\n")+"\n")
	files = append(files, filepath.Join(dir, "packed.csv.gz"), filepath.Join(dir, "odd-azure.csv"), filepath.Join(dir, "odd-mooncake.jsonl"))
	for _, pattern := range []string{"azure-2023/*.csv", "mooncake/*.jsonl"} {
		found := must.Get(filepath.Glob(filepath.Join(os.Getenv("TIDEMARK_SHARED"), "traces", pattern)))(t)
		if len(found) == 0 {
			t.Logf("LEFT OUT: real traces %s; say where they are in TIDEMARK_SHARED", pattern)
		}
		files = append(files, found...)
	}

	path := filepath.Join(dir, "tidemark.duckdb")
	must.Do(t, warehousetest.Template(path))
	typed(t, slices.Concat([]string{"ingest", "--warehouse", path, "--publish", "off", "--max-rejected", "1"}, files)...)
	w := must.Get(warehouse.Open(warehouse.WithFiles(t.Context()), path, warehouse.ReadOnly))(t)
	defer w.Close()
	ask := func(query string) (answer string) {
		t.Helper()
		if err := w.DB().QueryRowContext(t.Context(), query).Scan(&answer); err != nil {
			t.Fatalf("%v\n%s", err, query)
		}
		return answer
	}
	var named []string // Spark is told the names that the program gives
	for _, file := range files {
		named = append(named, ask("select source_name || '=' || path from staging.sources where path = '"+file+"'"))
	}
	lake := filepath.Join(dir, "lake")
	settings := []string{
		"--master", "local[2]", "--conf", "spark.sql.files.maxPartitionBytes=100k", "--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.ui.enabled=false",
		"--conf", "spark.log.level=ERROR", "--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
	}
	command := exec.Command(submit, slices.Concat(settings, []string{script, "--lake", lake, "--max-rejected", "1"}, named)...)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}

	numbered := "(select source_name, row_number() over (order by list_position(" + listOf(files) + ", path)) as number, source_id from staging.sources)"
	for _, relation := range []struct{ name, ours, lake string }{
		{"staging.arrivals", "select arrivals.* replace (number as source_id, blocks::decimal(20, 0)[] as blocks) from staging.arrivals", "*"},
		{"raw.rejects", "select rejects.* replace (number as source_id) from raw.rejects", "source_id, line, column_name, reason"},
	} {
		ours := fmt.Sprintf("%s inner join %s as sources using (source_id)", relation.ours, numbered)
		theirs := fmt.Sprintf("select %s from read_parquet('%s/%s/**/*.parquet', hive_partitioning = false)", relation.lake, lake, relation.name)
		for _, sides := range [][3]string{{"only the program", ours, theirs}, {"only Spark", theirs, ours}} {
			if got := ask(fmt.Sprintf("select coalesce(string_agg(row::varchar, chr(10)), '') from (select row from (%s except all %s) as row order by row limit 10)", sides[1], sides[2])); got != "" {
				t.Errorf("%s has of %s:\n%s", sides[0], relation.name, got)
			}
		}
		types := "select string_agg(column_name || ' ' || column_type, ', ') from (describe %s)"
		if got, want := ask(fmt.Sprintf(types, theirs)), ask(fmt.Sprintf(types, ours)); got != want {
			t.Errorf("%s: Spark's columns are\n%s, want\n%s", relation.name, got, want)
		}
		t.Logf("%s: compared %s rows of %s sources", relation.name, ask("select count(*)::varchar from ("+theirs+")"), ask("select count(distinct source_id)::varchar from ("+theirs+")"))
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	found := must.Get(filepath.Abs(path))(t)
	return found
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	w := gzip.NewWriter(&out)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return out.String()
}

// listOf is an SQL list of texts.
func listOf(texts []string) string { return "['" + strings.Join(texts, "', '") + "']" }
