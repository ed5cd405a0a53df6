package experiment

import (
	"errors"
	"fmt"

	"tidemark/internal/yamlfile"
)

// Expect is the hypothesis in a form that can be judged. What is empty is not expected; what is given must hold all together.
type Expect struct {
	MetAt    string // the value of a row that meets the SLO
	NotMetAt string // the value of a row that does not
	Binds    string // the metric that is furthest beyond its bound at the first row that does not meet the SLO
}

func (f *File) readExpect(where string, node *yamlfile.Node) error {
	return yamlfile.Fields{
		"met_at":     yamlfile.Text(&f.Expect.MetAt),
		"not_met_at": yamlfile.Text(&f.Expect.NotMetAt),
		"binds":      yamlfile.Text(&f.Expect.Binds),
	}.Read(where, node)
}

// checkExpect refuses what no outcome of the rows could decide.
func (f *File) checkExpect() error {
	if f.Expect == (Expect{}) {
		return nil
	}
	if f.SLO == "" {
		return errors.New("expect: needs an slo")
	}
	known := map[string]bool{"": true}
	for _, r := range f.rows {
		known[r.value] = true
	}
	for _, value := range []string{f.Expect.MetAt, f.Expect.NotMetAt} {
		if !known[value] {
			return fmt.Errorf("expect: no row %q", value)
		}
	}
	return nil
}
