package profile

import (
	"time"

	"tidemark/internal/yamlfile"
)

// read refuses combinations that contradict each other, such as a rate and
// windows with rates of their own.
func (a *Arrivals) read(where string, node *yamlfile.Node) error {
	err := yamlfile.Fields{
		"process":    yamlfile.OneOf(&a.Process, "constant", "poisson", "gamma", "trace", "at_once"),
		"rate_per_s": yamlfile.Number(&a.RatePerS, isRate, "above 0 and at most a million"),
		"burstiness": shape(&a.Burstiness),
		"source":     yamlfile.Text(&a.Source),
		"windows":    yamlfile.Each(a.addWindow),
	}.Read(where, node)
	switch {
	case err != nil:
		return err
	case a.Process == "":
		return yamlfile.Errorf(node, "%s: process is missing", where)
	case a.Process == "gamma" && a.Burstiness == 0:
		return yamlfile.Errorf(node, "%s: gamma needs burstiness: 1 is poisson, below is burstier", where)
	case a.Process != "gamma" && a.Burstiness != 0:
		return yamlfile.Errorf(node, "%s: burstiness is of process gamma", where)
	case (a.Process == "trace") != (a.Source != ""):
		return yamlfile.Errorf(node, "%s: process trace and source belong together", where)
	case a.RatePerS > 0 && len(a.Windows) > 0:
		return yamlfile.Errorf(node, "%s: rate_per_s and windows exclude each other", where)
	case a.Process == "at_once" && (a.RatePerS > 0 || len(a.Windows) > 0):
		return yamlfile.Errorf(node, "%s: at once has no rate", where)
	case a.RatePerS == 0 && len(a.Windows) == 0 && a.Process != "trace" && a.Process != "at_once":
		return yamlfile.Errorf(node, "%s: rate_per_s is missing, or windows with theirs", where)
	}
	return nil
}

func isRate(v float64) bool { return v > 0 && v <= 1e6 }

// shape reads the shape of a gamma distribution. Beyond these bounds nothing
// but its ends would be left: nearly all values 0, or all equal.
func shape(into *float64) func(string, *yamlfile.Node) error {
	return yamlfile.Between(into, 0.01, 10_000)
}

func (a *Arrivals) addWindow(where string, node *yamlfile.Node) error {
	var w Window
	err := yamlfile.Fields{
		"from": timeOfDay(&w.From), "until": timeOfDay(&w.Until),
		"rate_per_s": yamlfile.Number(&w.RatePerS, isRate, "above 0 and at most a million; leave a window out where nothing arrives"),
	}.Read(where, node)
	switch {
	case err != nil:
		return err
	case w.RatePerS == 0:
		return yamlfile.Errorf(node, "%s: rate_per_s is missing", where)
	}
	endBefore := time.Duration(0)
	if n := len(a.Windows); n > 0 {
		endBefore = a.Windows[n-1].Until
	}
	a.Windows = append(a.Windows, w)
	return checkWindow(where, node, w.From, w.Until, endBefore)
}
