//go:build duckdb_arrow && accuracy

package accuracy_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/ingest"
	"tidemark/internal/proof/accuracy"
	"tidemark/internal/stat"
	"tidemark/internal/store/warehouse/warehousetest"
)

const evidence = "../../../docs/evidence.md"

// evidenceGates are the largest median errors of what a calibration on all other runs of a model says of one, as gates.
var evidenceGates = [...]float64{0.11, 0.21, 0.025, 0.03}

// TestEvidence plays the runs of a real H100 and puts what they say beside what was measured. It also leaves each run out of a calibration.
func TestEvidence(t *testing.T) {
	folder := filepath.Join(shared(), "traces", "vllm-h100")
	text, err := os.ReadFile(filepath.Join(folder, "names.json"))
	if err != nil {
		fmt.Println("LEFT OUT: runs of a real H100; say where they are in TIDEMARK_SHARED; docs/evidence.md has the last tables")
		t.Skip(err)
	}
	names := map[string]string{}
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	w := warehousetest.Open(t)
	if _, err := ingest.Load(t.Context(), w, []string{filepath.Join(folder, "runs")}, ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	runs := map[string][]string{} // of each model
	for id, name := range names {
		if model := name[:2]; name != "L8w" { // a warm-up of 24 requests
			runs[model] = append(runs[model], id)
		}
	}
	builtIn, leftOut := newEvidence(names), newEvidence(names)
	for _, model := range []string{"L8", "Q3"} {
		slices.Sort(runs[model])
		for _, run := range runs[model] {
			builtIn.add(t, w.DB(), run, nil)
			others := slices.DeleteFunc(slices.Clone(runs[model]), func(one string) bool { return one == run })
			c, err := analysis.CalibrateServer(t.Context(), w.DB(), others, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			constants := map[string]float64{}
			for _, one := range c.Constants {
				constants[strings.TrimSuffix(one.Name+" "+one.Format, " *")] = one.Value
			}
			leftOut.add(t, w.DB(), run, constants)
		}
	}
	putTable(t, evidence, "built in", builtIn.String(), "make accuracy", *update)
	putTable(t, evidence, "left out", leftOut.String(), "make accuracy", *update)
	for k, gate := range evidenceGates {
		if median := stat.Median(leftOut.sorted(k)); median > gate {
			t.Errorf("%s of runs that were left out: off by %.3f in the median, want at most %.3f", analysis.PlayedFigures[k], median, gate)
		}
	}
}

// evidenceTable has a row for each run, and the errors of each figure.
type evidenceTable struct {
	*accuracy.Table
	names  map[string]string
	errors [len(analysis.PlayedFigures)][]float64
}

func newEvidence(names map[string]string) *evidenceTable {
	columns := []string{"run"}
	for _, figure := range analysis.PlayedFigures {
		columns = append(columns, figure+" measured ms", "played ms", "error %")
	}
	return &evidenceTable{Table: accuracy.NewTable(columns...), names: names}
}

func (e *evidenceTable) add(t *testing.T, db *sql.DB, run string, constants map[string]float64) {
	t.Helper()
	classes, err := analysis.PlayRun(t.Context(), db, run, constants)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes {
		row := []string{e.names[run]}
		if len(classes) > 1 {
			row[0] += " " + c.Class
		}
		for k := range c.Measured {
			off := c.Played[k]/c.Measured[k] - 1
			row = append(row, fmt.Sprintf("%.4g", 1e3*c.Measured[k]), fmt.Sprintf("%.4g", 1e3*c.Played[k]), fmt.Sprintf("%+.1f", 100*off))
			e.errors[k] = append(e.errors[k], math.Abs(off))
		}
		e.Add(row...)
	}
}

func (e *evidenceTable) sorted(figure int) []float64 {
	return slices.Sorted(slices.Values(e.errors[figure]))
}

// String adds the median, the mean and the 90th percentile of the errors.
func (e *evidenceTable) String() string {
	for _, of := range []struct {
		name  string
		value func(sorted []float64) float64
	}{
		{"median error", stat.Median}, {"mean error", stat.Mean}, {"p90 error", func(sorted []float64) float64 { return stat.Quantile(sorted, 0.9) }},
	} {
		row := []string{of.name}
		for k := range e.errors {
			row = append(row, "", "", fmt.Sprintf("%.1f", 100*of.value(e.sorted(k))))
		}
		e.Add(row...)
	}
	return e.Table.String()
}
