//go:build duckdb_arrow

package decide

import (
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/analysis/metric"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

func ofRow(value, run, status string, cost float64) Judged {
	j := Judged{RunID: run, Rule: "rule of " + run, status: status, value: value}
	if cost > 0 {
		j.Cost = new(cost)
	}
	return j
}

func rulings(d Decision) string {
	var said []string
	for _, r := range d.Runs {
		said = append(said, r.RunID+" "+r.Status+": "+r.Why)
	}
	for _, j := range d.Undecided {
		said = append(said, j.RunID+" open")
	}
	return strings.Join(said, "; ")
}

// Of a series the cheapest row whose repeats would all do; what says nothing is left out.
func TestASeriesChoosesTheCheapestRow(t *testing.T) {
	for _, c := range []struct {
		want   string
		judged []Judged
	}{
		{"b accepted: rule of b; a rejected: it would do, and another was chosen: 3.00 per million accepted tokens, of that one 2.00; c rejected: rule of c; d open",
			[]Judged{ofRow("1", "a", Accepted, 3), ofRow("2", "b", Accepted, 2), ofRow("4", "c", Rejected, 0), ofRow("8", "d", Open, 0)}},
		{"b accepted: rule of b; b2 accepted: rule of b2; a rejected: it would do, and another was chosen: 1.00 per million accepted tokens, of that one 2.00; a2 rejected: rule of a2",
			[]Judged{ofRow("1", "a", Accepted, 1), ofRow("1", "a2", Rejected, 0), ofRow("2", "b", Accepted, 2), ofRow("2", "b2", Accepted, 2)}},
		{"a accepted: rule of a; b rejected: rule of b", []Judged{ofRow("1", "a", Accepted, 0), ofRow("2", "b", Rejected, 0)}},
		{"b rejected: rule of b; a open", []Judged{ofRow("1", "a", Open, 0), ofRow("2", "b", Rejected, 0)}},
	} {
		d, err := OfSeries(c.judged, nil, Words{At: time.Now()})
		if got := rulings(d); err != nil || got != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
	_, err := OfSeries([]Judged{ofRow("1", "a", Accepted, 1), ofRow("2", "b", Accepted, 0)}, nil, Words{})
	must.Fail(t, err, "2 rows of the series would do, and what their tokens cost is not known", "tidemark decide a --rejected RUN")
}

// Where the path stops without an answer nothing is decided, unless the user decides even so.
func TestAnOpenPathDecidesNothing(t *testing.T) {
	judged := []Judged{ofRow("", "a", Open, 0), ofRow("", "b", Rejected, 0)}
	if d := OfRun(judged, nil, false, Words{}); rulings(d) != "a open" || d.IsAccepted() || d.IsEvenSo {
		t.Errorf("got %s", rulings(d))
	}
	if d := OfRun(judged, nil, true, Words{}); rulings(d) != "a accepted: rule of a; b rejected: rule of b" || !d.IsEvenSo {
		t.Errorf("even so: got %s", rulings(d))
	}
	if d := OfRun([]Judged{ofRow("", "a", Accepted, 0)}, nil, true, Words{}); d.IsEvenSo {
		t.Error("what the path accepts is not accepted even so")
	}
}

// What the model expected stands beside what was measured, and a user's words mean nothing in Markdown.
func TestARecordSaysWhatTheModelExpected(t *testing.T) {
	j := Judged{RunID: "r", Name: "a|b", MeasuredOn: "vllm on H100", Rule: "met: stop tuning", status: Accepted, TPOT: new(0.011), Predicted: new(0.01), Slowdown: new(1.1),
		Objectives: []Objective{{Metric: metric.FailureRatio, AtMost: 0.01, Observed: new(0.002), Low: new(0.001), High: new(0.003), Outcome: analysis.Met},
			{Metric: metric.TPOT, Percentile: 99, Class: "chat", AtMost: 0.02, Outcome: analysis.Undecided}}}
	text := string(OfRun([]Judged{j}, nil, false, Words{Reason: "# not a heading\n- nor a *list*", By: "ann"}).Markdown())
	must.Say(t, text,
		"# a\\|b accepted\n\nWhy: # not a heading", "The model expected a median time per token of 10.0 ms; it was 11.0 ms: 1.10 times the prediction",
		"| share of failures | 1.00 % | 0.200 % | 0.100 % to 0.300 % | met |", "| p99 TPOT of class chat | 20.0 ms | not known | none | undecided |", `\n- nor a \*list\*`,
	)
}

func TestWhatBinds(t *testing.T) {
	of := func(name string, observed float64, outcome string) analysis.ObjectiveVerdict {
		o := analysis.ObjectiveVerdict{Objective: analysis.Objective{Metric: name, AtMost: 1}, Outcome: outcome}
		if observed > 0 {
			o.Observed = new(observed)
		}
		return o
	}
	for want, objectives := range map[string][]analysis.ObjectiveVerdict{
		metric.TPOT:         {of(metric.TTFT, 1.5, analysis.NotMet), of(metric.TPOT, 2, analysis.NotMet), of(metric.E2E, 9, analysis.Undecided)},
		metric.FailureRatio: {of(metric.TTFT, 9, analysis.NotMet), of(metric.FailureRatio, 1.1, analysis.NotMet)},
		metric.E2E:          {of(metric.E2E, 0, analysis.NotMet)},
		"":                  {of(metric.TTFT, 0.5, analysis.Met)},
	} {
		if got := binds(analysis.SLOVerdict{Objectives: objectives}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Whatever the answers, a walk through the tree ends at a rule: each node that is named is there, each is reached, and none leads back.
func TestTheTreeEndsAtARule(t *testing.T) {
	table := must.Get(answers.Ask(t.Context(), warehousetest.Open(t).DB(), "from seeds.decision_tree"))(t)
	nodes, reached := map[string]map[string]any{}, map[string]bool{}
	for _, row := range table.Records() {
		nodes[row["node"].(string)] = row
	}
	var walk func(name string, before []string)
	walk = func(name string, before []string) {
		node, isThere := nodes[name]
		if !isThere || len(before) > len(nodes) {
			t.Fatalf("from %v to %q: no such node, or a circle", before, name)
		}
		reached[name] = true
		if node["question"] == nil {
			if status := node["status"]; status != Accepted && status != Rejected && status != Open || node["rule"] == nil {
				t.Errorf("%s: status %v, rule %v", name, status, node["rule"])
			}
			return
		}
		for _, answer := range []string{"if_yes", "if_no", "if_unknown"} {
			next, _ := node[answer].(string)
			walk(next, append(before, name))
		}
	}
	walk("valid", nil)
	if len(reached) != len(nodes) {
		t.Errorf("%d of %d nodes are reached", len(reached), len(nodes))
	}
}
