//go:build duckdb_arrow

package ingest_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Every file of fixtures/results comes out as the .want.txtar next to it says: its
// points, figures, requests and rejects; a part that is not there is empty.
func TestResultFixtures(t *testing.T) {
	tables := []struct{ part, from, order string }{
		{"points.csv", "raw.points", "point"},
		{"figures.csv", "raw.figures", "point, name, statistic"},
		{"requests.csv", "raw.result_requests", "point, seq"},
		{"rejects.csv", "raw.rejects", "line"},
	}
	for _, path := range wantedResults(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			archive := must.Get(txtar.ParseFile(path + ".want.txtar"))(t)
			want := map[string][][]string{}
			for _, file := range archive.Files {
				want[file.Name] = readCSV(t, write(t, "want.csv", file.Data))
			}
			w := open(t)
			load(t, w, path, ingest.Options{MaxRejectedRatio: 0.9})
			for _, part := range tables {
				wanted := want[part.part]
				if wanted == nil {
					answers(t, w, "select count(*) from "+part.from, "0")
					continue
				}
				got := table(t, w, fmt.Sprintf("select %s from %s order by %s", strings.Join(wanted[0], ", "), part.from, part.order))
				if !slices.EqualFunc(got, wanted[1:], slices.Equal) {
					t.Errorf("%s: got\n%v\nwant\n%v", part.from, cellsOf(got), cellsOf(wanted[1:]))
				}
			}
			if unclean := number(t, w, "select count(*) from checks.rows_add_up"); unclean != 0 {
				t.Errorf("checks.rows_add_up: %d rows", unclean)
			}
		})
	}
}

func wantedResults(t *testing.T) (paths []string) {
	err := filepath.WalkDir("../fixtures/results", func(path string, entry fs.DirEntry, err error) error {
		if base, isWanted := strings.CutSuffix(path, ".want.txtar"); isWanted {
			paths = append(paths, base)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return paths
}

func cellsOf(rows [][]string) string {
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(strings.Join(row, " | ") + "\n")
	}
	return text.String()
}

// What people, models and servers wrote stays out: prompts, answers, messages,
// keys, the folders of a path.
func TestResultsKeepNoText(t *testing.T) {
	w := open(t)
	must.Get(ingest.Load(context.Background(), w, wantedResults(t), ingest.Options{MaxRejectedRatio: 0.9}))(t)
	for _, from := range []string{"points", "figures", "result_requests", "rejects"} {
		for _, word := range []string{"secret", "somebody", "boom", "Traceback", "10.0.0.1"} {
			answers(t, w, fmt.Sprintf("select count(*) from raw.%[1]s where %[1]s::varchar like '%%%[2]s%%'", from, word), "0")
		}
	}
	for path, field := range map[string]string{"vllm-2024.json": "generated_texts", "vllm-2026.json": "errors", "aiperf/profile_export.jsonl": "error.message"} {
		refused(t, open(t), "../fixtures/results/"+path, ingest.Options{RefuseText: true}, "it holds text ("+field+")")
	}
}

// A broken result costs what it is of, and is never half there.
func TestBrokenResults(t *testing.T) {
	good := `{"date":"20260301-090000","model_id":"m","tokenizer_id":"m","num_prompts":1,"request_rate":1,"duration":1,"completed":1`
	cases := []struct {
		why, content string
		points       int64
		rejects      string // line, column, reason
	}{
		{"one that is cut keeps those before it", good + "}\n" + good + `,"a":`, 1, "[[2  not a JSON object]]"},
		{"arrays that hold no numbers cost the requests, not the figures", good + "}\n" + good + `,"ttfts":["a"]}`, 2, "[[2 ttfts not a number]]"},
		{"a number past all numbers", good + "}\n" + good + `,"itls":[[1e999]]}`, 2, "[[2 itls not a number]]"},
		{"no object between objects", "[" + good + "},7," + good + "}]", 2, "[[2  not a JSON object]]"},
		{"without a duration", good + "}\n" + strings.Replace(good, `"duration":1`, `"duration":null`, 1) + "}", 1, "[[2 duration missing]]"},
	}
	for _, c := range cases {
		w := open(t)
		load(t, w, write(t, "r.json", []byte(c.content)), ingest.Options{MaxRejectedRatio: 0.9})
		points := number(t, w, "select count(*) from raw.points")
		rejects := fmt.Sprint(table(t, w, "select line, column_name, reason from raw.rejects"))
		if points != c.points || rejects != c.rejects {
			t.Errorf("%s: got %d points and %s, want %d and %s", c.why, points, rejects, c.points, c.rejects)
		}
	}
	deep := good + `,"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}"
	refused(t, open(t), write(t, "deep.json", []byte(deep)), ingest.Options{}, "nested too deeply")
}
