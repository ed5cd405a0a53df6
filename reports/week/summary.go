package week

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/escape"
	"tidemark/internal/maybe"
)

// told is what a summary says, in whatever form: each paragraph is one or several lines.
type told struct {
	title      string
	paragraphs [][]prose
	items      []prose
	foot       string
}

func summaryOf(r *week.Report) told {
	f := newFacts(r)
	t := told{title: r.Service + ": " + f.headline()}
	rests, since := f.restsOn(), f.since()
	if len(rests) > 0 && len(since) > 0 {
		rests = join(rests, " ")
	}
	var lines []prose
	if rests = join(rests, since); len(rests) > 0 {
		lines = append(lines, rests)
	}
	var lede prose
	for i, sentence := range f.lede() {
		if i > 0 {
			lede = join(lede, " ")
		}
		lede = join(lede, sentence)
	}
	do := join(bold("Do first:"), " ", f.doFirst())
	if command := f.Do.Command; command != "" && !strings.Contains(command, "`") {
		do = join(do, " ", prose{{text: command, isCode: true}})
	}
	t.paragraphs = [][]prose{append(lines, lede), {do}}
	for _, tile := range f.tiles() {
		item := join(tile.Label+": ", bold(tile.Value))
		if tile.Basis != "" {
			item = join(item, " ("+tile.Basis+")")
		}
		if tile.Before != "" {
			item = join(item, ", ")
			if tile.Sign.Mark != "" {
				item = join(item, tile.Sign.Mark+" ")
			}
			item = join(item, tile.Before)
		}
		t.items = append(t.items, item)
	}
	if f.Agents != nil { // not a line of its own: fifteen are the most
		t.items[0] = join(t.items[0], "; "+f.agents())
	}
	d := document{facts: f}
	t.foot = fmt.Sprintf("%s, %s. %s.", d.WeekInWords(), r.Zone(), d.Fleet())
	if r.Version != "" {
		t.foot += fmt.Sprintf(" Tidemark %s.", r.Version)
	}
	return t
}

// lined is a summary as lines of text, in the marks of a form.
func (t told) lined(title func(string) string, item string, text func(prose) string) string {
	out := title(t.title) + "\n\n"
	for _, paragraph := range t.paragraphs {
		for _, line := range paragraph {
			out += text(line) + "\n"
		}
		out += "\n"
	}
	for _, one := range t.items {
		out += item + text(one) + "\n"
	}
	return escape.Direction(out + "\n" + text(plain(t.foot)) + "\n")
}

// Summary is summary.md: at most 15 lines of Markdown, to paste into a chat or a pull request.
func Summary(r *week.Report) []byte {
	return []byte(summaryOf(r).lined(func(title string) string { return "# " + markdown(title) }, "- ", prose.Markdown))
}

// SummaryText is summary.txt, for a mail.
func SummaryText(r *week.Report) []byte {
	return []byte(summaryOf(r).lined(func(title string) string { return title }, "- ", prose.String))
}

// SummarySlack is summary.slack.json, as a webhook of Slack takes it.
func SummarySlack(r *week.Report) ([]byte, error) {
	text := summaryOf(r).lined(func(title string) string { return bold(title).Slack() }, "• ", prose.Slack)
	return json.Marshal(map[string]string{"text": text})
}

// SummaryHTML is summary.html, for a mail: no style, since programs for mail have their own.
func SummaryHTML(r *week.Report) []byte {
	t := summaryOf(r)
	var out strings.Builder
	fmt.Fprintf(&out, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>%[1]s</title>\n<h1>%[1]s</h1>\n", template.HTMLEscapeString(t.title))
	for _, paragraph := range t.paragraphs {
		for i, line := range paragraph {
			out.WriteString(map[bool]string{true: "<p>", false: "<br>"}[i == 0] + string(line.HTML()))
		}
		out.WriteString("</p>\n")
	}
	out.WriteString("<ul>\n")
	for _, item := range t.items {
		out.WriteString("<li>" + string(item.HTML()) + "</li>\n")
	}
	fmt.Fprintf(&out, "</ul>\n<p>%s</p>\n", template.HTMLEscapeString(t.foot))
	return []byte(escape.Direction(out.String()))
}

// summarySchema is a promise: a field is added, never renamed.
const summarySchema = "tidemark.week/1"

// summary is summary.json: the columns of marts.service_weeks and what else a dashboard or a gate asks for.
type summary struct {
	Schema   string `json:"schema"`
	Service  string `json:"service"`
	TimeZone string `json:"time_zone"`
	week.Sums
	FailedRequests    int64        `json:"failed_requests"` // of requests: failed or without an answer
	Replicas          int          `json:"paid_replicas"`   // at the week's end
	GPUsPerReplica    int          `json:"gpus_per_replica"`
	RequestsGrowth    *float64     `json:"requests_growth_ratio"`
	LowRequestsGrowth *float64     `json:"low_requests_growth_ratio"`
	HighRequests      *float64     `json:"high_requests_growth_ratio"`
	TokensGrowth      *float64     `json:"tokens_growth_ratio"`
	LowTokensGrowth   *float64     `json:"low_tokens_growth_ratio"`
	HighTokensGrowth  *float64     `json:"high_tokens_growth_ratio"`
	ForecastPeak      *float64     `json:"forecast_peak_rate_per_s"` // of next week
	LowForecastPeak   *float64     `json:"low_forecast_peak_rate_per_s"`
	HighForecastPeak  *float64     `json:"high_forecast_peak_rate_per_s"`
	NaivePeak         *float64     `json:"naive_forecast_peak_rate_per_s"`
	LowNaivePeak      *float64     `json:"low_naive_forecast_peak_rate_per_s"`
	HighNaivePeak     *float64     `json:"high_naive_forecast_peak_rate_per_s"`
	NextReplicaWeek   *string      `json:"next_replica_week"`     // null: none is in sight
	EarliestReplica   *string      `json:"earliest_replica_week"` // by the upper edge of the band
	Verdict           week.Verdict `json:"verdict"`
	Do                week.Do      `json:"do"`
	Version           string       `json:"version"`
}

// JSON is summary.json: every headline figure in base units, for a dashboard or a gate.
func JSON(r *week.Report) ([]byte, error) {
	f := newFacts(r)
	s := summary{Schema: summarySchema, Service: r.Service, TimeZone: r.TimeZone, Sums: r.Sums, FailedRequests: r.FailedRequests, Replicas: f.Paid, GPUsPerReplica: r.Deployment.GPUsPerReplica, Verdict: r.Verdict, Do: r.Do, Version: r.Version}
	s.Sums.Sentence = f.headline()
	if c := f.change("requests"); c != nil {
		s.RequestsGrowth, s.LowRequestsGrowth, s.HighRequests = c.Ratio, c.Low, c.High
	}
	if c := f.tokensChange(); c != nil {
		s.TokensGrowth, s.LowTokensGrowth, s.HighTokensGrowth = c.Ratio, c.Low, c.High
	}
	if w := r.Forecast.PeakAhead; w != nil {
		s.ForecastPeak, s.LowForecastPeak, s.HighForecastPeak = &w.Peak, w.Low, w.High
	}
	if w := r.Forecast.NaivePeakAhead; w != nil {
		s.NaivePeak, s.LowNaivePeak, s.HighNaivePeak = &w.Peak, w.Low, w.High
	}
	s.NextReplicaWeek, s.EarliestReplica = maybe.Known(r.Forecast.NextReplicaWeek), maybe.Known(r.Forecast.EarliestReplica)
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("summary of %s, %s: %w", r.Service, r.Week, err)
	}
	return append(out, '\n'), nil
}

// tokensChange is that of prompts and answers together. Where the report has only the two apart, they are weighted with last week's tokens; the
// ends of its interval are those of the two added up, which is exact if they rise and fall together and too wide otherwise.
func (f *facts) tokensChange() *week.Change {
	if c := f.change("tokens"); c != nil {
		return c
	}
	in, out := f.change("input_tokens"), f.change("output_tokens")
	if in == nil || out == nil || in.Before == nil || out.Before == nil || *in.Before+*out.Before <= 0 {
		return nil
	}
	weighted := func(a, b *float64) *float64 {
		if a == nil || b == nil {
			return nil
		}
		x := (*in.Before**a + *out.Before**b) / (*in.Before + *out.Before)
		return &x
	}
	return &week.Change{Figure: "tokens", Ratio: weighted(in.Ratio, out.Ratio), Low: weighted(in.Low, out.Low), High: weighted(in.High, out.High)}
}
