package draw

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/analysis/week"
	"tidemark/internal/proof/must"
	"tidemark/reports/style"
	"tidemark/reports/week/sample"
)

var order = []string{"need", "demand", "heat map", "capacity", "felt", "steps", "cost", "forecast"}

// hex is a colour that no stylesheet can change.
var hex = regexp.MustCompile(`#[0-9a-fA-F]{3,6}"|rgb`)

func TestDrawingsTakeTheirColoursFromThePage(t *testing.T) {
	bytes := 0
	for _, figure := range order {
		f, err := plans[figure](sample.Report()).drawn()
		if err != nil {
			t.Fatalf("%s: %v", figure, err)
		}
		for _, svg := range []string{f.Wide, f.Narrow} {
			bytes += len(svg)
			if found := hex.FindString(svg); found != "" {
				t.Errorf("%s has a colour of its own: %s", figure, found)
			}
			must.NotSay(t, svg, "NaN", "Infinity", "undefined", "<script", "<style", "rotate", "clip-path")
			if !strings.Contains(svg, `role="img" aria-label="`) || !strings.HasSuffix(svg, "</svg>") {
				t.Errorf("%s: got %.200s", figure, svg)
			}
			if isHourly := figure != "heat map" && figure != "capacity" && figure != "forecast"; isHourly != strings.Contains(svg, `fill="url(#hatch)"`) {
				t.Errorf("%s: hatching is %v", figure, !isHourly)
			}
		}
	}
	if bytes > 400_000 {
		t.Errorf("the drawings are %d bytes", bytes)
	}
}

func TestTheSameReportIsTheSameBytes(t *testing.T) {
	for _, figure := range []string{"need", "capacity"} {
		first := must.Get(plans[figure](sample.Report()).drawn())(t)
		if second, _ := plans[figure](sample.Report()).drawn(); first.Wide != second.Wide || first.Narrow != second.Narrow {
			t.Errorf("%s: two drawings differ", figure)
		}
	}
}

// TestLook writes every figure to the folder TIDEMARK_DRAW_LOOK, a page a week, to be looked at in a browser;
// TIDEMARK_DRAW_WEEK names one week.
func TestLook(t *testing.T) {
	dir := os.Getenv("TIDEMARK_DRAW_LOOK")
	if dir == "" {
		t.Skip("TIDEMARK_DRAW_LOOK names no folder")
	}
	for name, r := range allWeeks() {
		if only := os.Getenv("TIDEMARK_DRAW_WEEK"); only != "" && only != name {
			continue
		}
		look(t, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".html"), r)
	}
}

func look(t *testing.T, path string, r *week.Report) {
	page := "<!doctype html><meta charset=utf-8><style>" + style.Sheet + "</style>" + Hatch
	for _, figure := range order {
		f, err := plans[figure](r).drawn()
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		page += "<figure><figcaption><strong>" + f.Title + "</strong><span>" + f.Soft + "</span></figcaption><div>" + f.Wide + "</div><div>" + f.Narrow + "</div></figure>"
	}
	must.Do(t, os.WriteFile(path, []byte(page), 0o644))
}

// BenchmarkGallery draws every figure of every week at both widths.
func BenchmarkGallery(b *testing.B) {
	weeks := sample.All()
	for b.Loop() {
		for _, r := range weeks {
			for _, figure := range order {
				must.Get(plans[figure](r).drawn())(b)
			}
		}
	}
	b.ReportMetric(float64(len(weeks)), "weeks")
}
