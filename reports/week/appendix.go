package week

import (
	"fmt"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/show"
)

// appendix is the dot of 99_appendix.html.
type appendix struct {
	Sources    *table
	Deployment []fact
	File       week.File
	Weeks      table
	WeeksQuery string
	Hours      table
	HoursQuery string
	Words      []fact
}

func appendixView(f *facts) (any, string, error) {
	v := appendix{Sources: f.sources(), Deployment: f.deployment(), File: f.File, Weeks: f.weeks(), Hours: f.everyHour(), Words: definitions}
	v.WeeksQuery = f.ofSums(append([]field{{"week", "VARCHAR"}, {"requests", "BIGINT"}}, append(doubles("peak_rate_per_s", "low_headroom_ratio", "gpu_hours_needed", "gpu_hours_paid", "cost_usd", "within_slo_ratio"), field{"missing_hours", "BIGINT"})...)...)
	v.HoursQuery = f.ofHours("is_missing", "requests", "peak_rate_per_s", "input_tokens", "output_tokens", "low_needed_replicas", "needed_replicas", "high_needed_replicas", "paid_replicas")
	return v, fmt.Sprintf("%s, the service file, every week and hour, words", wordCounted(len(f.Report.Sources), "source")), nil
}

func (f *facts) sources() *table {
	t := &table{Class: "stack", Caption: "What this page rests on", Heads: []head{words("Source"), words("For"), numbers("Rows", ""), words("First and last row"), words("Covers"), words("Counted"), words("sha256")}}
	for _, s := range f.Report.Sources {
		span := unknown
		if s.From != nil && s.Until != nil {
			span = f.instant(*s.From) + " to " + f.instant(*s.Until)
		}
		counted := "yes"
		switch {
		case s.DuplicateOf != "":
			counted = "no: the same rows as " + s.DuplicateOf
		case s.Class != "" || s.Model != "":
			counted = "only " + strings.TrimSpace(s.Class+" requests") + strings.TrimSuffix(" for "+s.Model, " for ")
		}
		r := cells(s.Name, s.Role+", "+s.Format, count(s.Rows), span, dash(s.Covers), counted, shortHash(s.SHA256))
		r.Cells[0].Small, r.Cells[6].Code = s.Note, true
		if s.DuplicateOf != "" {
			r.Class = "lost"
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// shortHash keeps the first twelve digits, which are enough to find the file.
func shortHash(sha256 string) string {
	if len(sha256) > 12 {
		return sha256[:12]
	}
	return dash(sha256)
}

func (f *facts) deployment() []fact {
	d := f.Deployment
	said := "worked out from the metrics"
	if d.IsSaidByTheFile {
		said = "said by " + f.file()
	}
	seqs := "the engine’s default"
	if d.MaxNumSeqs > 0 {
		seqs = count(d.MaxNumSeqs)
	}
	var objectives []string
	for _, o := range f.SLO.Objectives {
		text := fmt.Sprintf("%s %s at most %s", show.Percentile(o.Percent), metricName(o.Metric), setting(o.AtMost))
		if o.Metric == "failure_ratio" {
			text = "failed requests at most " + percent(o.AtMost)
		}
		if o.Class != "" {
			text += " of " + o.Class
		}
		objectives = append(objectives, text)
	}
	price := ""
	if f.Price.USDPerGPUHour != nil {
		price = dollars(*f.Price.USDPerGPUHour) + " a GPU-hour, " + dash(f.Price.Source)
	}
	return keepFacts(fact{"One replica", d.InWords + "; " + said}, fact{"Sequences at once", seqs}, fact{"Replicas paid for", f.replicasOverTime()},
		fact{"SLO", strings.TrimPrefix(f.SLO.Name+": ", ": ") + strings.Join(objectives, "; ")}, fact{"Price", price},
		fact{"Service file", f.file() + ", sha256 " + dash(f.File.SHA256)}, fact{"Time zone", f.Zone()}, fact{"Tidemark", f.Version})
}

// replicasOverTime: 6; from 18 Nov 00:00 on 7.
func (f *facts) replicasOverTime() string {
	var out []string
	for _, r := range f.Replicas {
		text := count(r.Replicas)
		if !r.From.IsZero() {
			text = "from " + f.instant(r.From) + " on " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// weeks are this week and those before.
func (f *facts) weeks() table {
	t := table{Class: "stack", Caption: "This week and those before", Heads: []head{words("Week"), numbers("Requests", ""), numbers("Peak", "requests/s"), numbers("Headroom", "%, low end"),
		numbers("Needed", "GPU-hours"), numbers("Paid", "GPU-hours"), numbers("Cost", "USD"), numbers("Within SLO", "%"), numbers("Missing", "h")}}
	add := func(s *week.Sums) {
		t.Rows = append(t.Rows, cells(s.Week, count(s.Requests), of(s.PeakRatePerS, figures), of(s.LowHeadroom, spare), of(s.GPUHoursNeeded, count[float64]),
			count(s.GPUHoursPaid), of(s.CostUSD, amount), of(s.WithinSLO, share), count(s.MissingHours)))
	}
	for i := range f.Before {
		add(&f.Before[i])
	}
	add(&f.Sums)
	t.Rows[len(t.Rows)-1].Class = "now"
	return t
}

// everyHour is the whole week as a table.
func (f *facts) everyHour() table {
	t := table{Class: "stack hourly", Caption: "Every hour of the week", Heads: []head{words("Hour"), numbers("Requests", ""), numbers("Busiest five minutes", "requests/s"), numbers("Input", "tokens"), numbers("Output", "tokens"), numbers("Needed", "replicas, 90"+narrow+"% interval"), numbers("Paid", "replicas")}}
	for i := range f.Hours {
		h := &f.Hours[i]
		r := cells(h.Local, of(h.Requests, count[int64]), of(h.PeakRatePerS, figures), of(h.InputTokens, count[int64]), of(h.OutputTokens, count[int64]), needRange(h), count(h.PaidReplicas))
		if h.IsMissing {
			r.Class, r.Cells[0].Small = "lost", "missing"
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func needRange(h *week.Hour) string {
	if h.NeededReplicas == nil {
		return unknown
	}
	text := count(*h.NeededReplicas)
	if h.LowNeeded != nil && h.HighNeeded != nil && *h.LowNeeded != *h.HighNeeded {
		text += " (" + interval(count(*h.LowNeeded), count(*h.HighNeeded)) + ")"
	}
	return text
}

// definitions are the words that the page uses.
var definitions = []fact{
	{"TTFT", "Time to first token, from sending a request to the first chunk that holds a token."},
	{"TPOT", "Time per output token, from the first token to the last, over the tokens less one."},
	{"Busiest hour", "The hour that needs most replicas, then the one with the busiest five minutes by the clock."},
	{"Needed", "Whole replicas for the busiest five minutes of an hour, with the lengths of its own requests. The page decides on capacity’s low end, which needs more; sums of GPU-hours needed are at the middle."},
	{"Headroom", "What is paid for, at the lower end of the capacity’s interval, over the busiest five minutes, less 1."},
	{"Floor", "Bytes that a decode step must read over the peak bandwidth of the memory. Nothing is faster."},
	{"Accepted", "Tokens of requests that met every limit of the SLO; predicted where production’s latencies are not known."},
	{"Missing", "An hour that no source covers. It is not zero, and it is left out of sums and means."},
	{"KS", "The largest difference between two distributions in the share of requests below any length."},
}
