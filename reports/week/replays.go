package week

import (
	"fmt"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/escape"
)

// replays is the dot of 95_replays.html.
type replays struct {
	Table  *table
	Broken []certificate
	Lacks  *lacks
	Query  string
}

// certificate lists what broke in a run; what broke is never folded.
type certificate struct {
	Run    string
	Of     string
	Broken []string
}

func replaysView(f *facts) (any, string, error) {
	if len(f.Runs) == 0 {
		return replays{Lacks: &lacks{"Nothing of this week was replayed. This command replays a part of it:", "tidemark replay " + escape.Shell(f.trafficName()) + " --base-url URL --model " + dash(f.Deployment.Model)}}, "Nothing of this week was replayed", nil
	}
	valid := 0
	t := &table{Class: "stack", Heads: []head{words("Run"), words("Traffic"), numbers("p99 TTFT", "s"), numbers("p99 TPOT", "ms"), numbers("Time per token", "× prediction"), words("Validity")}}
	v := replays{Table: t, Query: f.ofRuns()}
	for _, run := range f.Runs {
		r := cells(run.ID, dash(run.Traffic), of(run.P99TTFT, figures), of(run.P99TPOT, func(s float64) string { return figures(s * 1e3) }), of(run.Ratio, figures), outcome(run))
		r.Cells[0].Tag = originTag(run.Origin)
		if r.Cells[5].Mark = ticked("valid"); run.IsValid {
			valid++
		} else {
			r.Cells[5].Mark, r.Class = crossed("invalid"), "broken"
		}
		t.Rows = append(t.Rows, r)
		if len(run.Broken) > 0 {
			v.Broken = append(v.Broken, certificate{run.ID, fmt.Sprintf("%d of %s broke", len(run.Broken), counted(run.Checks, "line")), run.Broken})
		}
	}
	t.Title = fmt.Sprintf("%s, %s of them valid", wordCounted(len(f.Runs), "replay"), strings.ToLower(numberWord(valid)))
	if len(f.Runs) == 1 {
		t.Title = map[bool]string{true: "One replay, and it is valid", false: "One replay, and it is not valid"}[valid == 1]
	} else if valid == 0 {
		t.Title = wordCounted(len(f.Runs), "replay") + ", none of them valid"
	}
	return v, t.Title, nil
}

// outcome follows the mark of validity.
func outcome(run week.Run) string {
	switch {
	case !run.IsValid:
		return dash(run.Why)
	case run.Met == nil:
		return fmt.Sprintf("%s of the certificate hold", counted(run.Checks, "line"))
	case *run.Met:
		return fmt.Sprintf("SLO met; %s hold", counted(run.Checks, "line"))
	}
	return fmt.Sprintf("SLO not met; %s hold", counted(run.Checks, "line"))
}
