package week_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tidemark/analysis/week"
	"tidemark/internal/proof/golden"
	"tidemark/internal/proof/must"
	page "tidemark/reports/week"
	"tidemark/reports/week/sample"
)

func TestSummaryIsAsItsGoldenFile(t *testing.T) {
	got := string(page.Summary(sample.Report()))
	golden.Check(t, "summary.md", got, got, *update)
	js := must.Get(page.JSON(sample.Report()))(t)
	golden.Check(t, "summary.json", string(js), string(js), *update)
	for name, text := range map[string][]byte{"summary.txt": page.SummaryText(sample.Report()), "summary.html": page.SummaryHTML(sample.Report()), "summary.slack.json": slackOf(t, sample.Report())} {
		golden.Check(t, name, string(text), string(text), *update)
	}
}

func slackOf(t *testing.T, r *week.Report) []byte {
	t.Helper()
	text := must.Get(page.SummarySlack(r))(t)
	return text
}

// A name is shown as it is: it calls nobody in a channel, and is no element of a mail.
func TestNamesAreNoMarksInASummary(t *testing.T) {
	r := sample.Report()
	r.Service = "<!channel> *loud* <b>"
	var slack struct{ Text string }
	if err := json.Unmarshal(slackOf(t, r), &slack); err != nil || !strings.HasPrefix(slack.Text, "*&lt;!channel&gt; ∗loud∗ &lt;b&gt;: ") {
		t.Errorf("%v: %.80s", err, slack.Text)
	}
	mail := string(page.SummaryHTML(r))
	must.Say(t, mail, "<h1>&lt;!channel&gt; *loud* &lt;b&gt;: ")
	must.NotSay(t, mail, "<b>")
	if text := string(page.SummaryText(r)); !strings.HasPrefix(text, r.Service+": ") {
		t.Errorf("%.80s", text)
	}
}

func TestSummaryHasAtMostFifteenLines(t *testing.T) {
	for name, r := range sample.All() {
		if n := strings.Count(string(page.Summary(r)), "\n"); n > 15 {
			t.Errorf("%s: got %d lines", name, n)
		}
	}
}

// The fields are a promise: the columns of marts.service_weeks, and what gates and dashboards ask for.
func TestSummaryHasThePromisedFields(t *testing.T) {
	promised := []string{"schema", "service", "week", "requests_growth_ratio", "low_requests_growth_ratio", "high_requests_growth_ratio", "tokens_growth_ratio", "low_tokens_growth_ratio", "high_tokens_growth_ratio",
		"forecast_peak_rate_per_s", "low_forecast_peak_rate_per_s", "high_forecast_peak_rate_per_s", "naive_forecast_peak_rate_per_s", "low_naive_forecast_peak_rate_per_s", "high_naive_forecast_peak_rate_per_s",
		"next_replica_week", "is_met", "sentence"}
	sums := reflect.TypeFor[week.Sums]()
	for i := range sums.NumField() {
		promised = append(promised, sums.Field(i).Tag.Get("json"))
	}
	for name, r := range sample.All() {
		js, err := page.JSON(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got map[string]any
		if err := json.Unmarshal(js, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, field := range promised {
			if _, isThere := got[field]; !isThere {
				t.Errorf("%s: no field %s", name, field)
			}
		}
		if got["schema"] != "tidemark.week/1" || got["sentence"] != page.Headline(r) {
			t.Errorf("%s: got schema %v, sentence %v", name, got["schema"], got["sentence"])
		}
	}
}

// 100 prompts' tokens that grew by 10 % and 300 answers' that fell by 2 % are 400 that grew by 1 %.
func TestTokensTogether(t *testing.T) {
	r := sample.Report()
	r.Changes = []week.Change{{Figure: "input_tokens", Before: ptr(100.0), Ratio: ptr(0.1), Low: ptr(0.06), High: ptr(0.14)}, {Figure: "output_tokens", Before: ptr(300.0), Ratio: ptr(-0.02), Low: ptr(-0.06), High: ptr(0.02)}}
	js := must.Get(page.JSON(r))(t)
	var got struct {
		Ratio float64 `json:"tokens_growth_ratio"`
		Low   float64 `json:"low_tokens_growth_ratio"`
		High  float64 `json:"high_tokens_growth_ratio"`
	}
	must.Do(t, json.Unmarshal(js, &got))
	for _, c := range [][2]float64{{got.Ratio, 0.01}, {got.Low, -0.03}, {got.High, 0.05}} {
		if d := c[0] - c[1]; d > 1e-9 || d < -1e-9 {
			t.Errorf("got %v, want 0.01 (-0.03 to 0.05)", got)
		}
	}
}
