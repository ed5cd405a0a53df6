package week

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
)

// demand is the dot of 20_demand.html.
type demand struct {
	Figure  *figure
	Classes *table
	Facts   []fact
	Gaps    *table
	Notes   []string
}

func demandView(f *facts) (any, string, error) {
	figure, err := drawn("demand", f)
	if err != nil {
		return nil, "", err
	}
	figure.From, figure.Notes = "marts.service_hours", fmt.Sprintf("one row a service and hour · %s of %s", count(f.Covered), counted(len(f.Hours), "hour"))
	figure.Tables = []table{f.days()}
	figure.Queries = []string{f.ofHours("requests", "rate_per_s", "peak_rate_per_s", "input_tokens", "output_tokens", "is_missing")}
	v := demand{Figure: figure, Classes: f.classes(), Gaps: f.gaps(), Notes: f.Notes}
	v.Facts = keepFacts(fact{"Fullest minute", f.fullest()}, fact{"Sessions", f.sessions()}, fact{"Burstiness", f.burstiness()}, fact{"Failed or without an answer", f.failed()})
	return v, figure.Title, nil
}

// days adds the hours of each day up.
func (f *facts) days() table {
	t := table{Class: "stack", Caption: "Seven days; missing hours are left out", Heads: []head{words("Day"), numbers("Requests", ""), numbers("Input", "million tokens"),
		numbers("Output", "million tokens"), numbers("Busiest five minutes", "requests/s"), numbers("Missing", "h")}}
	for day := range 7 {
		var requests, input, output int64
		var peak float64
		hours, missing, name := 0, 0, ""
		for i := range f.Hours {
			h := &f.Hours[i]
			if h.Day != day {
				continue
			}
			name, hours = localHour(h).Format("Mon 2 Jan"), hours+1
			if h.IsMissing {
				missing++
				continue
			}
			requests, input, output = requests+maybe.Or(h.Requests, 0), input+maybe.Or(h.InputTokens, 0), output+maybe.Or(h.OutputTokens, 0)
			peak = max(peak, maybe.Or(h.PeakRatePerS, 0))
		}
		if name != "" && missing == hours {
			t.Rows = append(t.Rows, cells(name, unknown, unknown, unknown, unknown, count(missing)))
		} else if name != "" {
			t.Rows = append(t.Rows, cells(name, count(requests), figures(float64(input)/1e6), figures(float64(output)/1e6), figures(peak), count(missing)))
		}
	}
	return t
}

func (f *facts) classes() *table {
	if len(f.Classes) == 0 || len(f.Classes) == 1 && f.Classes[0].Name == "" {
		return nil
	}
	t := &table{Class: "fit", Title: f.classFinding(), Caption: "By class or model; requests against last week over the hours that both weeks cover",
		Heads: []head{words("Class"), numbers("Requests", "%"), numbers("Input", "% of tokens"), numbers("Output", "% of tokens"), numbers("Requests", "% against last week")}}
	for _, c := range f.Classes {
		t.Rows = append(t.Rows, cells(c.Name, fraction(c.Requests, f.Sums.Requests), fraction(c.InputTokens, f.Sums.InputTokens), fraction(c.OutputTokens, f.Sums.OutputTokens), of(c.Growth, signed)))
	}
	return t
}

func fraction(of, all int64) string {
	if all == 0 {
		return unknown
	}
	return whole(float64(of) / float64(all))
}

func (f *facts) classFinding() string {
	largest := f.Classes[0]
	if len(f.Classes) == 1 || f.Sums.OutputTokens == 0 {
		return "All of it is " + largest.Name
	}
	return fmt.Sprintf("%s writes %s%s%% of the output tokens", upper(largest.Name), fraction(largest.OutputTokens, f.Sums.OutputTokens), narrow)
}

func (f *facts) fullest() string {
	if f.Fullest == nil {
		return ""
	}
	return fmt.Sprintf("%s with %s (%s)", f.hour(f.Fullest.Start), counted(f.Fullest.Requests, "request"), rate(float64(f.Fullest.Requests)/60))
}

// sessions is how many there are, or which input would say it.
func (f *facts) sessions() string {
	if f.Agents == nil {
		return "not known: no request names its session; a trace with session_id, turn and think times has them"
	}
	return f.agents() + f.outside()
}

// agents are the sessions of the week, their rounds and waits.
func (f *facts) agents() string {
	a := f.Agents
	text := fmt.Sprintf("%s of %s rounds on average", counted(a.Sessions, "session"), figures(float64(a.Rounds)/float64(a.Sessions)))
	if a.Waits == 0 || a.P50WaitS == nil || a.P90WaitS == nil {
		return text + "; the waits between rounds are not known"
	}
	return text + fmt.Sprintf("; between rounds %s s pass at p50, %s s at p90", figures(*a.P50WaitS), figures(*a.P90WaitS))
}

// outside is how many requests name no session.
func (f *facts) outside() string {
	if rest := f.Sums.Requests - f.Agents.Rounds; rest > 0 {
		return fmt.Sprintf("; %s name no session", counted(rest, "request"))
	}
	return ""
}

// failed is how many requests have no length.
func (f *facts) failed() string {
	if f.FailedRequests == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s (%s): they count as demand, but lengths and rehearsals leave them out",
		count(f.FailedRequests), counted(f.Sums.Requests, "request"), percent(float64(f.FailedRequests)/float64(max(f.Sums.Requests, 1))))
}

// burstiness is the usual hour's and the worst hour's index of dispersion.
func (f *facts) burstiness() string {
	var known []*week.Hour
	for i := range f.Hours {
		if f.Hours[i].BurstRatio != nil {
			known = append(known, &f.Hours[i])
		}
	}
	if len(known) == 0 {
		return ""
	}
	slices.SortStableFunc(known, func(a, b *week.Hour) int { return compare(*a.BurstRatio, *b.BurstRatio) })
	worst := known[len(known)-1]
	return fmt.Sprintf("the count of five minutes varies %s× as much as that of independent arrivals would in the usual hour, %s× in the burstiest, %s",
		figures(*known[len(known)/2].BurstRatio), figures(*worst.BurstRatio), f.hour(worst.Start))
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// gaps are the missing hours, with the reason.
func (f *facts) gaps() *table {
	if len(f.Gaps) == 0 {
		return nil
	}
	t := &table{Class: "fit", Title: fmt.Sprintf("%s of %s %s missing and counted nowhere", count(f.Sums.MissingHours), counted(len(f.Hours), "hour"), show.Verb(f.Sums.MissingHours, "is", "are")),
		Heads: []head{words("Missing"), numbers("Hours", ""), words("Why")}}
	for _, g := range f.Gaps {
		t.Rows = append(t.Rows, cells(f.span(g.From, g.Until), count(g.Hours), strings.TrimSuffix(g.Why, ".")))
	}
	return t
}
