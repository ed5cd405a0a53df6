//go:build duckdb_arrow && accuracy

package accuracy_test

import (
	"bytes"
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
	"tidemark/internal/proof/must"
	"tidemark/internal/stat"
	"tidemark/internal/store/warehouse/warehousetest"
)

const evidence = "../../../docs/evidence.md"

// calibrations are the runs that a server of each machine was calibrated on, and which runs they are tried on.
var calibrations = []struct{ run, tried string }{
	{"h100-2/L8-calib-a", "h100-2/L8-"},
	{"h100-3/Q30-calib-a", "h100-3/Q30-"},
	{"h200/L8-calib", "h200/L8-"},
	{"h200/L8-calib", "h200/B2-"},
}

// Gates on the median errors: of what the built-in constants say of the runs that they were fitted to, of what they say of machines that they were not, and of what
// one run of calibration says of the others on its machine.
var (
	builtInGates    = [...]float64{0.12, 0.10, 0.020, 0.030}
	unseenGates     = [...]float64{0.09, 0.10, 0.025, 0.040}
	calibratedGates = [...]float64{0.12, 0.10, 0.020, 0.030}
)

// TestEvidence plays runs of real GPUs and puts what they say beside what was measured: with the built-in constants, and with those of one run of
// calibration for the others on its machine.
func TestEvidence(t *testing.T) {
	shared := filepath.Join(shared(), "traces", "vllm-h100")
	text, err := os.ReadFile(filepath.Join(shared, "names.json"))
	if err != nil {
		fmt.Println("LEFT OUT: runs of a real H100; say where they are in TIDEMARK_SHARED; docs/evidence.md has the last tables")
		t.Skip(err)
	}
	names := map[string]string{} // of each run's id, with its machine
	must.Do(t, json.Unmarshal(text, &names))
	for id, name := range names {
		names[id] = "h100-1/" + name
	}
	const own = "../../../fixtures/vllm-gpu"
	folders, err := filepath.Glob(own + "/*/*/run.json")
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		id, name := idOfRun(t, folder)
		names[id] = name
	}
	w := warehousetest.Open(t)
	must.Get(ingest.Load(t.Context(), w, []string{filepath.Join(shared, "runs"), own + "/h100-2", own + "/h100-3", own + "/h100-4", own + "/h200"}, ingest.Options{}))(t)
	ids := map[string]string{}
	var runs []string
	for id, name := range names {
		ids[name] = id
		if name != "h100-1/L8w" { // a warm-up of 24 requests
			runs = append(runs, name)
		}
	}
	slices.Sort(runs)
	seen, unseen, calibrated := newEvidence(), newEvidence(), newEvidence()
	for _, run := range runs {
		table := seen
		if strings.HasPrefix(run, "h200/") || strings.HasPrefix(run, "h100-4/") {
			table = unseen
		}
		table.add(t, w.DB(), run, ids[run], nil)
	}
	for _, of := range calibrations {
		c, err := analysis.CalibrateServer(t.Context(), w.DB(), []string{ids[of.run]}, time.Now())
		if err != nil {
			t.Fatal(of.run, err)
		}
		constants := map[string]float64{}
		for _, one := range c.Constants {
			constants[strings.TrimSuffix(one.Name+" "+one.Format, " *")] = one.Value
		}
		for _, run := range runs {
			if strings.HasPrefix(run, of.tried) && run != of.run {
				calibrated.add(t, w.DB(), run, ids[run], constants)
			}
		}
	}
	azure := must.Get(analysis.PlayRun(t.Context(), w.DB(), ids["h100-1/L8-azure-r12"], nil))(t)[0]
	tpot, ttft := azure.Played[3]/azure.Measured[3]-1, azure.P99TTFT[1]/azure.P99TTFT[0]-1
	t.Logf("L8-azure-r12: p95 TPOT %+.1f %%, p99 TTFT %.4g ms, played %.4g (%+.1f %%)", 100*tpot, 1e3*azure.P99TTFT[0], 1e3*azure.P99TTFT[1], 100*ttft)
	if math.Abs(tpot) > 0.1 || math.Abs(ttft) > 0.2 {
		t.Errorf("L8-azure-r12 is played %.3f off in p95 TPOT and %.3f in p99 TTFT, want 0.1 and 0.2 at most", tpot, ttft)
	}
	seen.put(t, "built in", builtInGates)
	unseen.put(t, "unseen", unseenGates)
	calibrated.put(t, "calibrated", calibratedGates)
	if *update {
		writePage(t, unseen, calibrated, seen)
	}
}

// writePage writes the tables' figures as a page.
func writePage(t *testing.T, unseen, calibrated, seen *evidenceTable) {
	t.Helper()
	var figures []accuracy.PlayedFigure
	for k, name := range analysis.PlayedFigures {
		figures = append(figures, accuracy.PlayedFigure{Name: name, Groups: []accuracy.PlayedGroup{
			{Name: "nothing was fitted to the machine", Runs: unseen.played[k]},
			{Name: "after one run of calibration", Runs: calibrated.played[k]},
			{Name: "the machines of the fit", Runs: seen.played[k]},
		}})
	}
	var page bytes.Buffer
	must.Do(t, accuracy.WriteEvidence(&page, figures))
	must.Do(t, os.WriteFile(strings.TrimSuffix(evidence, ".md")+".html", page.Bytes(), 0o644))
}

// idOfRun is the id of a run folder, and its name as machine/run.
func idOfRun(t *testing.T, manifest string) (id, name string) {
	t.Helper()
	text, err := os.ReadFile(manifest)
	var doc struct {
		RunID string `json:"run_id"`
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	must.Do(t, err)
	folder := filepath.Dir(manifest)
	return doc.RunID, filepath.Base(filepath.Dir(folder)) + "/" + filepath.Base(folder)
}

// evidenceTable has a row for each run, and the errors of each figure of each class of its requests.
type evidenceTable struct {
	*accuracy.Table
	errors [len(analysis.PlayedFigures)][]float64
	played [len(analysis.PlayedFigures)][]accuracy.Played
}

func newEvidence() *evidenceTable {
	columns := []string{"run", "bursts"}
	for _, figure := range analysis.PlayedFigures {
		columns = append(columns, figure+" ms", "played", "error %")
	}
	return &evidenceTable{Table: accuracy.NewTable(columns...)}
}

// add plays a run. Of one with bursts of many kinds the row has the median of their absolute errors, and a count for each.
func (e *evidenceTable) add(t *testing.T, db *sql.DB, name, run string, constants map[string]float64) {
	t.Helper()
	classes, err := analysis.PlayRun(t.Context(), db, run, constants)
	if err != nil {
		t.Fatal(name, err)
	}
	row := []string{name, ""}
	if len(classes) > 1 {
		row[1] = fmt.Sprint(len(classes))
	}
	for k := range analysis.PlayedFigures {
		var off []float64
		for _, c := range classes {
			if error := c.Played[k]/c.Measured[k] - 1; !math.IsNaN(error) {
				off = append(off, error)
				one := accuracy.Played{Run: name, Measured: c.Measured[k], Played: c.Played[k]}
				if len(classes) > 1 {
					one.Class = c.Class
				}
				e.played[k] = append(e.played[k], one)
				e.errors[k] = append(e.errors[k], math.Abs(error))
			}
		}
		if len(classes) == 1 {
			row = append(row, fmt.Sprintf("%.4g", 1e3*classes[0].Measured[k]), fmt.Sprintf("%.4g", 1e3*classes[0].Played[k]), fmt.Sprintf("%+.1f", 100*off[0]))
			continue
		}
		for i := range off {
			off[i] = math.Abs(off[i])
		}
		slices.Sort(off)
		row = append(row, "", "", fmt.Sprintf("%.1f", 100*stat.Median(off)))
	}
	e.Add(row...)
}

// put adds the median, the mean and the 90th percentile of the errors, and writes the table.
func (e *evidenceTable) put(t *testing.T, name string, gates [len(analysis.PlayedFigures)]float64) {
	t.Helper()
	for k := range e.errors {
		slices.Sort(e.errors[k])
	}
	for _, of := range []struct {
		name  string
		value func(sorted []float64) float64
	}{
		{"median error", stat.Median}, {"mean error", stat.Mean}, {"p90 error", func(sorted []float64) float64 { return stat.Quantile(sorted, 0.9) }},
	} {
		row := []string{of.name, fmt.Sprint(len(e.errors[0]))}
		for k := range e.errors {
			row = append(row, "", "", fmt.Sprintf("%.1f", 100*of.value(e.errors[k])))
		}
		e.Add(row...)
	}
	putTable(t, evidence, name, e.Table.String(), "make accuracy", *update)
	for k, gate := range gates {
		if median := stat.Median(e.errors[k]); median > gate {
			t.Errorf("%s: %s is off by %.3f in the median, want at most %.3f", name, analysis.PlayedFigures[k], median, gate)
		}
	}
}
