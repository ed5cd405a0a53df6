//go:build duckdb_arrow

package gate_test

import (
	"database/sql"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/analysis/gate"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

func question(t *testing.T, bound, metrics string) gate.Question {
	t.Helper()
	var q gate.Question
	q.Bound = must.Get(gate.ParseBound(bound))(t)
	q.Metrics = must.Get(gate.ParseMetrics(metrics))(t)
	return q
}

func decide(t *testing.T, db *sql.DB, before, after []string, q gate.Question) gate.Gate {
	t.Helper()
	comparison := must.Get(analysis.Compare(t.Context(), db, before, after))(t)
	decision := must.Get(gate.Judge(t.Context(), db, comparison, q))(t)
	return decision
}

func TestParseBound(t *testing.T) {
	for text, want := range map[string]float64{"5%": 0.05, "5 %": 0.05, "0.5%": 0.005, "99.9%": 0.999} {
		if got, err := gate.ParseBound(text); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("ParseBound(%q): got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"5": "a percentage or a share", "0.05": "a percentage or a share", "0": "not a percentage", "abc": "not a percentage", "": "not a percentage",
		"NaN": "not a percentage", "5%%": "not a percentage", "%": "not a percentage", "0%": "must be above 0%", "-5%": "must be above 0%",
		"NaN%": "must be above 0%", "100%": "and below 100%", "Inf%": "and below 100%",
	} {
		if _, err := gate.ParseBound(text); err == nil || !hint.IsMisuse(err) || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "5%") {
			t.Errorf("ParseBound(%q): got %v (%s), want %q and a hint", text, err, hint.Of(err), want)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	metrics, err := gate.ParseMetrics("")
	if err != nil || len(metrics) != 7 {
		t.Errorf("got %d metrics, %v; want the seven of the documents", len(metrics), err)
	}
	for text, want := range map[string]string{
		"p98_ttft": `no metric "p98_ttft"`, "p99": `no metric "p99"`, "p99_ttft,": `no metric ""`, "mean_itl,mean_itl": "mean_itl is there twice", "output_tokens": "no metric",
	} {
		if _, err := gate.ParseMetrics(text); !hint.IsMisuse(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMetrics(%q): got %v, want %q", text, err, want)
		}
	}
}

// run inserts a run of a hundred requests a second apart, of which the last ones failed. All others have one TTFT, in seconds.
func run(id string, ttft float64, failed int, isValid bool) []string {
	return []string{
		fmt.Sprintf(`insert into raw.runs values ('%s', (select count(*) from raw.runs), '{"status": "done", "ended_at": "2026-01-01T00:00:00Z", "plan": {"fingerprint": "%[1]s"},
			"settings": {"max_failures_ratio": 0.2}, "result": {"is_valid": %[2]v, "invalid_reason": "the client was late"}, "environment": {"gpu": "H100", "catalog_model": "llama-3.1-8b"}}')`, id, isValid),
		fmt.Sprintf(`insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported, failure)
			select '%s', seq, false, 1, 1, seq, seq, seq + %v, seq + 9, seq + 9, 1, case when seq >= %d then 'http_500' end from range(100) as numbers (seq)`, id, ttft, 100-failed),
	}
}

func ids(prefix string) []string { return []string{prefix + "1", prefix + "2", prefix + "3"} }

// TTFT before is 1.00, 1.01 and 1.02 s, so that logarithms scatter by 0.0099 around their mean and its standard error is 0.0057. After, with
// the same scatter, both together have 0.0081 and four degrees of freedom. With two metrics Student's t is that of 2.5 % (2.776): the
// interval is exp(+-0.0224) around the ratio. 1.08 is red (1.056), 1.06 cannot be told (1.037 to 1.084), 1.02 is not worse (1.043).
// Nine of ten requests answered: the standard error of 300 answers is 0.0173, or 0.0192 of the share, with two degrees of freedom (4.303):
// 0.9 * exp(+-0.083) is 0.829 to 0.978, which holds 0.95 and lies above 0.80.
func TestTheIntervalDecides(t *testing.T) {
	var statements []string
	for i, scatter := range []float64{1, 1.01, 1.02} {
		for side, factor := range map[string]float64{"b": 1, "red": 1.08, "open": 1.06, "green": 1.02, "faster": 0.5} {
			statements = append(statements, run(fmt.Sprint(side, i+1), factor*scatter, 0, true)...)
		}
		statements = append(statements, run(fmt.Sprint("refusing", i+1), scatter, 10, true)...)
		statements = append(statements, run(fmt.Sprint("failed", i+1), scatter, 30*(i/2), true)...)
		statements = append(statements, run(fmt.Sprint("invalid", i+1), 2*scatter, 0, i < 2)...)
	}
	w := warehousetest.Open(t, statements...)
	q := question(t, "5%", "p50_ttft,answered")
	for _, c := range []struct {
		before, after, ttft, answered string
		bound                         string
		isRed                         bool
		line                          string
	}{
		{"b", "red", gate.Worse, gate.NotWorse, "5%", true, "red: worse by more than 5 %: p50 TTFT +8.00 % (+5.60 % to +10.5 %)"},
		{"b", "open", gate.CannotTell, gate.NotWorse, "5%", false, "no decision: of no time and no throughput can it tell whether it is worse by more than 5 %"},
		{"b", "green", gate.NotWorse, gate.NotWorse, "5%", false, "green: 2 metrics are not worse by more than 5 %"},
		{"b", "faster", gate.NotWorse, gate.NotWorse, "5%", false, "green: 2 metrics"},
		{"b", "refusing", gate.NotWorse, gate.CannotTell, "5%", false, "cannot tell of requests answered"},
		{"b", "refusing", gate.NotWorse, gate.NotWorse, "20%", false, "green: 2 metrics are not worse by more than 20 %"},
		{"b", "refusing", gate.CannotTell, gate.Worse, "2%", true, "red: worse by more than 2 %: requests answered -10.0 % (-17.2 % to -2.23 %)"},
		{"b", "failed", gate.CannotTell, gate.CannotTell, "5%", true, "red: after the change too many requests failed: failed3: 30 of 100 failed"},
		{"failed", "b", gate.CannotTell, gate.CannotTell, "5%", false, "no decision, runs are invalid or failed: failed3: 30 of 100 failed"},
		{"b", "invalid", gate.CannotTell, gate.CannotTell, "5%", false, "no decision, runs are invalid or failed: invalid3: the client was late"},
		{"invalid", "failed", gate.CannotTell, gate.CannotTell, "5%", false, "no decision"},
	} {
		q.Bound, _ = gate.ParseBound(c.bound)
		g := decide(t, w.DB(), ids(c.before), ids(c.after), q)
		if g.Judged[0].Outcome != c.ttft || g.Judged[1].Outcome != c.answered || g.IsRed() != c.isRed || !strings.Contains(g.FirstLine(), c.line) {
			t.Errorf("%s, then %s: TTFT %s (%.4f to %.4f), answered %s (%.4f to %.4f), red %v: %s", c.before, c.after, g.Judged[0].Outcome, g.Judged[0].Low, g.Judged[0].High,
				g.Judged[1].Outcome, g.Judged[1].Low, g.Judged[1].High, g.IsRed(), g.FirstLine())
		}
		checkJUnit(t, g)
	}
	// The metrics of a gate share its chance: of seven the interval of the same runs is wider.
	two, seven := decide(t, w.DB(), ids("b"), ids("red"), q), decide(t, w.DB(), ids("b"), ids("red"), question(t, "5%", ""))
	if seven.Judged[0].Low >= two.Judged[0].Low {
		t.Errorf("of seven metrics the interval begins at %v, of two at %v", seven.Judged[0].Low, two.Judged[0].Low)
	}
	if one := decide(t, w.DB(), []string{"b1"}, []string{"red1"}, q); one.Judged[0].Outcome != gate.Worse {
		t.Errorf("one run each, 8 %% slower without any scatter: %s, %s", one.Judged[0].Outcome, one.FirstLine())
	}
}

// checkJUnit reads the report as a CI system does.
func checkJUnit(t *testing.T, g gate.Gate) {
	t.Helper()
	text := must.Get(g.JUnit())(t)
	type outcome struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var report struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Class   string   `xml:"classname,attr"`
				Name    string   `xml:"name,attr"`
				Failure *outcome `xml:"failure"`
				Error   *outcome `xml:"error"`
				Skipped *outcome `xml:"skipped"`
				Out     *outcome `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &report); err != nil || len(report.Suites) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	suite := report.Suites[0]
	var names []string
	failures, broken, skipped := 0, 0, 0
	for _, one := range suite.Cases {
		if one.Name == "" || one.Class == "" || slices.Contains(names, one.Name) {
			t.Errorf("test case %q of %q: GitLab wants a name that no other has", one.Name, one.Class)
		}
		names = append(names, one.Name)
		if one.Failure != nil {
			failures++
			if one.Name != "runs" && (!strings.Contains(one.Failure.Text, "\nbefore ") || !strings.Contains(one.Failure.Text, "\nto do ")) {
				t.Errorf("%s: failure without before, or what to do: %s", one.Name, one.Failure.Text)
			}
		}
		if one.Error != nil {
			broken++
		}
		if one.Skipped != nil {
			skipped++
		}
	}
	if suite.Tests != len(suite.Cases) || suite.Failures != failures || suite.Errors != broken || suite.Skipped != skipped || (failures > 0) != g.IsRed() {
		t.Errorf("red %v: counts do not fit the cases: %s", g.IsRed(), text)
	}
}

// What a run says of itself may hold anything.
func TestTextsInAReportStayTexts(t *testing.T) {
	w := warehousetest.Open(t, append(run("b", 1, 0, true), run("a", 2, 0, true)...)...)
	comparison := must.Get(analysis.Compare(t.Context(), w.DB(), []string{"b"}, []string{"a"}))(t)
	settings := &comparison.Settings
	row := make([]any, len(settings.Columns))
	row[settings.Place("setting")], row[settings.Place("value")], row[settings.Place("other_value")] = "body", "]]><failure/>\x1b[2J\x00", "| <b>`x`</b> |\n# head"
	settings.Rows = append(settings.Rows, row)
	g := must.Get(gate.Judge(t.Context(), w.DB(), comparison, question(t, "5%", "p50_ttft,p99_itl")))(t)
	checkJUnit(t, g)
	text := string(g.Markdown())
	must.NotSay(t, text, "<b>", "\n# head", "\x1b", " `x`")
	must.Say(t, text, "| p50 TTFT | 1.00 s | 2.00 s | +100 % | +100 % to +100 % | **worse** |\n", "cannot tell of p99 ITL: it has no value in both\n")
}
