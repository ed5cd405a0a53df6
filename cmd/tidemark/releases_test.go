package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// What a released version has written is of use to this one: fixtures/releases has a warehouse, a plan, a run and a lake of
// each. Its SQL gives the same answers, its run goes in again, its plan is sent.
func TestWhatReleasedVersionsWrote(t *testing.T) {
	releases, err := filepath.Glob("../../fixtures/releases/*/requests.csv")
	if err != nil || len(releases) == 0 {
		t.Fatalf("no releases: %v", err)
	}
	t.Setenv("TIDEMARK_PUBLISH", "")
	for _, path := range releases {
		folder := must.Get(filepath.Abs(filepath.Dir(path)))(t)
		t.Run(filepath.Base(folder), func(t *testing.T) { openRelease(t, folder) })
	}
}

func openRelease(t *testing.T, folder string) {
	want := must.Get(os.ReadFile(filepath.Join(folder, "requests.csv")))(t)
	t.Chdir(t.TempDir())
	unpackTo(t, filepath.Join(folder, "fleet.duckdb.gz"), "fleet.duckdb")
	const requests = `sql --csv 'select count(*) as requests, sum(output_tokens) as output_tokens from staging.requests' --warehouse `
	mustRun := func(line string) string {
		t.Helper()
		code, said := codeOf(t, line)
		if code != 0 {
			t.Fatalf("tidemark %s: exit code %d\n%s", line, code, said)
		}
		return said
	}
	mustRun("warehouse upgrade --quiet --warehouse fleet.duckdb")
	if got := mustRun(requests + "fleet.duckdb"); got != string(want) {
		t.Errorf("its warehouse: got %q, want %q", got, want)
	}
	if got := mustRun("sql --csv 'select count(*) as runs from marts.runs where is_valid is not null' --warehouse fleet.duckdb"); got != "runs\n1\n" {
		t.Errorf("its run, in marts of this version: %q", got)
	}
	mustRun("report --quiet --output report.html --warehouse fleet.duckdb")
	mustRun("warehouse check --warehouse fleet.duckdb")

	// The folder of its run, into a new warehouse.
	runs, err := filepath.Glob(filepath.Join(folder, "runs", "*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs (%v)", len(runs), err)
	}
	mustRun("ingest --quiet " + runs[0] + " --warehouse new.duckdb")
	if got := mustRun(requests + "new.duckdb"); got != string(want) {
		t.Errorf("its run's folder: got %q, want %q", got, want)
	}
	if said := mustRun("rehearse " + filepath.Join(folder, "plan.jsonl.zst") + " --gpu H100 --catalog-model llama-3.1-8b --json --warehouse new.duckdb"); !strings.Contains(said, "40") {
		t.Errorf("its plan: %s", said)
	}

	// Its lake.
	lake := filepath.Join(folder, "published.tar.gz")
	if _, err := os.Stat(lake); errors.Is(err, os.ErrNotExist) {
		return // 0.1.0 published nothing
	}
	unpackTo(t, lake, "published")
	if got := mustRun(`sql --files --csv 'select count(*) as requests, sum(output_tokens) as output_tokens from "published/lake/staging.requests/**/*.parquet"' --warehouse fleet.duckdb`); got != string(want) {
		t.Errorf("its lake: got %q, want %q", got, want)
	}
}

// unpackTo unpacks a file, or a folder of files.
func unpackTo(t *testing.T, path, to string) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	plain := must.Get(gzip.NewReader(file))(t)
	write := func(from io.Reader, to string) {
		content, err := io.ReadAll(from)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, content, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasSuffix(path, ".tar.gz") {
		write(plain, to)
		return
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			write(files, filepath.Join(to, filepath.Clean("/"+header.Name)))
		}
	}
}
