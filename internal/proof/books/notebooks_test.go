//go:build notebooks

package books

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

const folder = "../../../docs/notebooks"

// TestNotebooks runs what a user copies from docs. All parts share one warehouse, because making it costs more than they do.
func TestNotebooks(t *testing.T) {
	p := live(t)
	pictures := os.Getenv("BOOKS_OUTPUT") // the executed notebooks and their pictures stay there
	if pictures == "" {
		pictures = t.TempDir()
	}
	must.Do(t, os.MkdirAll(pictures, 0o755))
	notebooks, err := filepath.Glob(folder + "/*.ipynb")
	if err != nil || len(notebooks) < 6 {
		t.Fatalf("%s has %d notebooks, want six or more (%v)", folder, len(notebooks), err)
	}
	for _, notebook := range notebooks {
		name := strings.TrimSuffix(filepath.Base(notebook), ".ipynb")
		t.Run(name, func(t *testing.T) { p.runNotebook(t, notebook, pictures) })
	}
	t.Run("duckdb of before", func(t *testing.T) {
		other := "PYTHONPATH=" + filepath.Join(filepath.Dir(filepath.Dir(os.Getenv("BOOKS_PYTHON"))), "other-duckdb")
		if ours, theirs := p.duckdbVersion(t), p.duckdbVersion(t, other); !strings.HasPrefix(ours, "2.0.") || !strings.HasPrefix(theirs, "1.5.") {
			t.Fatalf("the notebook runs in DuckDB %s and %s, want 2.0 and 1.5", ours, theirs)
		}
		p.runNotebook(t, folder+"/duckdb.ipynb", t.TempDir(), other)
		p.runNotebook(t, folder+"/adbc.ipynb", t.TempDir(), other)
	})
	t.Run("a warehouse's file", func(t *testing.T) { p.askAFile(t) })
	t.Run("marimo", func(t *testing.T) { p.runMarimo(t, pictures) })
	t.Run("Grafana", func(t *testing.T) { p.askPanels(t) })
	t.Run("polars against marts", func(t *testing.T) { p.compareFigures(t) })
}

func (p place) duckdbVersion(t *testing.T, environment ...string) (version string) {
	t.Helper()
	p.python(t, &version, environment, "-c", "import duckdb, json; print(json.dumps(duckdb.__version__))")
	return version
}

// askAFile has tidemark.py start a server of its own for a warehouse, whose predictions are those of the command line.
func (p place) askAFile(t *testing.T) {
	module := must.Get(filepath.Abs("../../serve"))(t)
	var said struct {
		Runs, Asked int
		TPOT        float64
		Unit        string
	}
	p.python(t, &said, []string{"PYTHONPATH=" + module, "PYTHONDONTWRITEBYTECODE=1", "PATH=" + filepath.Dir(p.tidemark) + ":" + os.Getenv("PATH")}, "-c", `
import json, sys, tidemark
db = tidemark.connect(sys.argv[1])
frame = tidemark.predict("H200", catalog_model="llama-3.1-70b", concurrency=64, quantization="fp8", input_tokens=2000, output_tokens=300)
print(json.dumps({"runs": len(tidemark.runs()), "asked": len(tidemark.ask("from marts.runs where run_id = $run", run=db.runs().run_id[0])), "tpot": float(frame.predicted_tpot_s[0]), "unit": frame.attrs["units"]["predicted_tpot_s"]}))
`, filepath.Join(p.dir, "tidemark.duckdb"))
	out := must.Get(p.command("predict", "--gpu", "H200", "--catalog-model", "llama-3.1-70b", "--concurrency", "64", "--quantization", "fp8", "--input-tokens", "2000", "--output-tokens", "300", "--json").Output())(t)
	var rows []struct {
		TPOT float64 `json:"predicted_tpot_s"`
	}
	if err := json.Unmarshal(out, &rows); err != nil || len(rows) != 1 || said.Runs != len(p.runs) || said.Asked != 1 || said.Unit != "s" || !isSame(said.TPOT, rows[0].TPOT, 1e-9) {
		t.Errorf("Python says %+v; tidemark predict %+v (%v)", said, rows, err)
	}
}

// executed is what testdata/run.py says of a notebook.
type executed struct {
	Shown    []string // by the last cell
	Pictures []string
}

func (p place) runNotebook(t *testing.T, notebook, output string, environment ...string) {
	t.Helper()
	var e executed
	p.python(t, &e, environment, "testdata/run.py", notebook, output)
	p.check(t, notebook, e)
}

// runMarimo exports the notebook with its outputs, as Jupyter's format has them.
func (p place) runMarimo(t *testing.T, output string) {
	notebook, made := folder+"/with_marimo.py", filepath.Join(output, "with_marimo.ipynb")
	text := must.Get(os.ReadFile(notebook))(t)
	copied := filepath.Join(t.TempDir(), filepath.Base(notebook)) // marimo leaves a folder of its own beside it
	must.Do(t, os.WriteFile(copied, text, 0o644))
	marimo := func(args ...string) {
		command := exec.Command(filepath.Join(filepath.Dir(os.Getenv("BOOKS_PYTHON")), "marimo"), args...)
		command.Env = p.environment()
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("marimo %s: %v\n%s", args[0], err, out)
		}
	}
	marimo("check", "--strict", copied)
	marimo("export", "ipynb", "--include-outputs", "--force", "--output", made, copied)
	var e executed
	p.python(t, &e, nil, "testdata/outputs.py", made, output)
	p.check(t, notebook, e)
}

// A notebook names the query that gives its figure, in SQL between quotes or, in JSON, between escaped ones.
var promised = regexp.MustCompile(`tidemark sql \\?"([^"\\]+)\\?"`)

// check compares the figure that the last cell shows with what the command line gives that the notebook names.
func (p place) check(t *testing.T, notebook string, e executed) {
	t.Helper()
	text := must.Get(os.ReadFile(notebook))(t)
	query := promised.FindSubmatch(text)
	if query == nil || len(e.Shown) != 1 {
		t.Fatalf("the last cell shows %q; want one figure, and a command line that gives it", e.Shown)
	}
	got, err := strconv.ParseFloat(e.Shown[0], 64)
	if want := p.number(t, string(query[1])); err != nil || !isSame(got, want, 1e-9) {
		t.Errorf("%s: the notebook shows %s, tidemark sql %v", query[1], e.Shown[0], want)
	}
	if len(e.Pictures) == 0 {
		t.Error("no picture came out")
	}
	for _, picture := range e.Pictures {
		if !hasSomethingDrawn(t, picture) {
			t.Errorf("%s: nothing is drawn", picture)
		}
	}
	t.Logf("%s is %s; pictures %q", query[1], e.Shown[0], e.Pictures)
}

// hasSomethingDrawn reports that a picture is large enough to look at and has one of the colours in which the notebooks draw data.
func hasSomethingDrawn(t *testing.T, path string) bool {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	drawn, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	coloured := 0
	for y := drawn.Bounds().Min.Y; y < drawn.Bounds().Max.Y; y++ {
		for x := drawn.Bounds().Min.X; x < drawn.Bounds().Max.X; x++ {
			r, g, b, _ := drawn.At(x, y).RGBA()
			if slices.Max([]uint32{r, g, b})-slices.Min([]uint32{r, g, b}) > 0x4000 {
				coloured++
			}
		}
	}
	return drawn.Bounds().Dx() >= 400 && drawn.Bounds().Dy() >= 300 && coloured > 500
}
