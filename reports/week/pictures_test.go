package week

import (
	"bytes"
	"testing"

	report "tidemark/analysis/week"
	"tidemark/internal/proof/must"
	"tidemark/reports/plot"
	"tidemark/reports/week/sample"
)

func TestPicturesFitAMail(t *testing.T) {
	for name, report := range map[string]func() []Picture{
		"a whole week": func() []Picture { return pictures(t, sample.Report) },
		"a first week": func() []Picture { return pictures(t, sample.NoHistory) },
	} {
		all, again := report(), report()
		if len(all) != 3 {
			t.Fatalf("%s: %d pictures", name, len(all))
		}
		for i, p := range all {
			if len(p.PNG) > plot.MostBytes || !bytes.HasPrefix(p.PNG, []byte("\x89PNG")) || !bytes.Equal(p.PNG, again[i].PNG) {
				t.Errorf("%s: %s has %d bytes, or others the second time", name, p.Name, len(p.PNG))
			}
		}
	}
}

func pictures(t *testing.T, of func() *report.Report) []Picture {
	t.Helper()
	all := must.Get(Pictures(of()))(t)
	return all
}
