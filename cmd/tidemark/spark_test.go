//go:build duckdb_arrow && spark

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Every question of queries/portable has the same answer on DuckDB and on Spark, over the lake of two services and five weeks, and it is what the Monday page
// says (testdata/portable.py, docs/spark.md). `make test-spark` runs it; RECOMPUTE_DIR keeps the folder.
func TestTheMondayPageOnSpark(t *testing.T) {
	python := os.Getenv("SPARK_PYTHON")
	if python == "" {
		t.Fatal("SPARK_PYTHON names no python: run make test-spark")
	}
	script, err := filepath.Abs("testdata/portable.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if kept := os.Getenv("RECOMPUTE_DIR"); kept != "" {
		dir = kept
	}
	recordTraffic(t, dir)
	reportWeeks(t, dir, recomputedServices())
	out, err := exec.Command(python, script, dir).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
