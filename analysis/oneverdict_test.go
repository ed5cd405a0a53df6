//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/proof/must"
)

// Whatever spoils a run or its SLO, all places that judge it say the same: the verdict with its objectives, the list of runs, what is
// accepted of it, and judge with the same SLO. An invalid run counts nowhere as met, and its first line says why.
func TestARunHasOneVerdict(t *testing.T) {
	const fast, tight = `{"metric": "ttft", "percentile": 99, "at_most": 0.5}`, `{"metric": "ttft", "percentile": 99, "at_most": 0.005, "class": "b"}`
	document := func(status, objectives, rest string) string {
		return fmt.Sprintf(`{"status": "%s", "settings": {"max_lateness_s": 0.01}, "result": {"is_valid": true}, "slo": {"schema": "tidemark.slo/2", "name": "s", "objectives": [%s]}%s}`, status, objectives, rest)
	}
	w := open(t,
		run("good", 600, 1e-3, document("done", fast, "")),
		run("late", 600, 0.05, document("done", fast, "")),
		run("warm", 600, 1e-3, document("done", fast, "")),
		"update raw.requests set is_warm_up = seq < 10, first_token_s = first_token_s + case when seq < 10 then 9 else 0 end, last_token_s = last_token_s + case when seq < 10 then 9 else 0 end where run_id = 'warm'",
		run("cut", 600, 1e-3, document("interrupted", fast, `, "stopped_by": "user", "stop_reason": "interrupted"`)),
		run("failing", 600, 1e-3, document("done", fast, "")),
		"update raw.requests set failure = 'http_500' where run_id = 'failing' and seq % 20 = 0",
		run("few", 80, 1e-3, document("done", fast, "")),
		run("class", 600, 1e-3, document("done", fast+", "+tight, "")),
		"update raw.requests set class = case when seq % 2 = 0 then 'a' else 'b' end where run_id = 'class'",
		run("running", 600, 1e-3, `{"status": "running", "slo": {"schema": "tidemark.slo/2", "name": "s", "objectives": [`+fast+`]}}`),
	)
	ctx := context.Background()
	// judge attaches the file, which one process opens once only: it gets a copy.
	must.Get(w.DB().Exec("checkpoint"))(t)
	text := must.Get(os.ReadFile(w.Path()))(t)
	file := filepath.Join(t.TempDir(), "copy.duckdb")
	must.Do(t, os.WriteFile(file, text, 0o600))
	brief := must.Get(analysis.RunsInBrief(ctx, w.DB()))(t)
	listed := map[any]string{}
	for _, row := range brief.Records() {
		listed[row["id"]] = fmt.Sprint(row["verdict"])
	}
	for _, c := range []struct{ run, want, why string }{
		{"good", analysis.Met, "valid"}, {"warm", analysis.Met, "valid"},
		{"late", analysis.Invalid, "p99 lateness 50.0 ms is above 10.0 ms"},
		{"running", analysis.Invalid, "never ended"},
		{"failing", analysis.NotMet, "30 of 600 failed"},
		{"class", analysis.NotMet, "p99 TTFT of class b"},
		{"few", analysis.Undecided, "80 samples"},
		{"cut", analysis.Undecided, "the run was stopped before its end"},
	} {
		verdict := must.Get(analysis.JudgeSLO(ctx, w.DB(), c.run))(t)
		if verdict.Outcome != c.want || !strings.Contains(verdict.FirstLine(), c.why) {
			t.Errorf("%s: JudgeSLO says %s (%s), want %s with %q", c.run, verdict.Outcome, verdict.FirstLine(), c.want, c.why)
		}
		list := c.want
		if c.run == "failing" {
			list = "failed" // which says more than that the SLO is not met
		}
		if listed[c.run] != list {
			t.Errorf("%s: the list of runs says %s, want %s", c.run, listed[c.run], list)
		}
		var accepted string
		if err := w.DB().QueryRow("select outcome from marts.goodput where run_id = ?", c.run).Scan(&accepted); err != nil || accepted != c.want {
			t.Errorf("%s: goodput says %s (%v), want %s", c.run, accepted, err, c.want)
		}
		asked := analysis.SLO{Schema: "tidemark.slo/2", Name: "s"}
		for _, o := range verdict.Objectives {
			if o.Metric != "failure_ratio" { // the limit of a run whose SLO has none
				asked.Objectives = append(asked.Objectives, o.Objective)
			}
		}
		judged, err := analysis.JudgeAny(ctx, w.DB(), file, c.run, asked)
		if err != nil || len(judged) != 1 || judged[0].Outcome != c.want {
			t.Errorf("%s: judge says %v (%v), want %s", c.run, judged, err, c.want)
		} else if got, want := judged[0].FirstLine(), verdict.FirstLine(); got != want { // with no more than a verdict reads
			t.Errorf("%s: judge says %s, want %s", c.run, got, want)
		}
	}
}

// What a verdict reads is filled where it is judged: a relation that is missing in the list would have no rows there.
func TestVerdictReadsIsWhatAVerdictReads(t *testing.T) {
	t.Parallel()
	listed, reading := strings.Fields(analysis.VerdictReads), regexp.MustCompile(`(?:from|join) ((?:marts|staging)\.\w+)`)
	for _, file := range []string{"verdict.go", "verdictbasis.go", "judge_slo.go", "whatifrun.go"} {
		text, _, _ := strings.Cut(string(must.Get(os.ReadFile(file))(t)), "\nfunc Certificate(")
		found := reading.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s reads nothing: this test looks for it in vain", file)
		}
		for _, f := range found {
			if !slices.Contains(listed, f[1]) {
				t.Errorf("%s reads %s, and VerdictReads does not have it", file, f[1])
			}
		}
	}
}
