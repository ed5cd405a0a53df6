//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tidemark/ingest"
)

// Every file of fixtures/results comes out as the .want.txtar beside it says: its
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
			archive, err := txtar.ParseFile(path + ".want.txtar")
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][][]string{}
			for _, file := range archive.Files {
				want[file.Name] = readCSV(t, write(t, "want.csv", file.Data))
			}
			w := open(t)
			load(t, w, path, ingest.Options{MaxRejectedRatio: 0.9})
			for _, part := range tables {
				wanted := want[part.part]
				if wanted == nil {
					if n := number(t, w, "select count(*) from "+part.from); n != 0 {
						t.Errorf("%s: got %d rows, want none", part.from, n)
					}
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
