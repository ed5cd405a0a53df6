package week_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tidemark/analysis/week"
	"tidemark/analysis/week/forecast"
	"tidemark/internal/proof/must"
	page "tidemark/reports/week"
	"tidemark/reports/week/sample"
)

func ptr[T any](v T) *T { return &v }

// plainly writes the page's spaces and minus signs as a keyboard does.
var plainly = strings.NewReplacer("\u202f", " ", "\u00a0", " ", "\u2212", "-")

// ledeOf is the paragraph below the headline of summary.md, where bold is marked: what the capacity rests on, where it is known, then the lede.
func ledeOf(r *week.Report) string {
	return plainly.Replace(strings.Split(string(page.Summary(r)), "\n\n")[1])
}

// with changes a week of the samples, and its verdict by it.
func with(r *week.Report, change func(r *week.Report)) *week.Report {
	change(r)
	r.Verdict = r.AsNeeded()
	return r
}

// changedTo sets the replicas from an hour of the week on.
func changedTo(r *week.Report, hour, replicas int) *week.Report {
	for i := hour; i < len(r.Hours); i++ {
		r.Hours[i].PaidReplicas = replicas
	}
	r.Verdict = r.AsNeeded()
	return r
}

var weeks = []struct {
	name     string
	r        *week.Report
	headline string
	lede     []string // each must be there
	not      []string // and none of these
}{
	{"it fits, and a slow GPU broke the SLO", sample.Report(), "Buy no GPUs: 6 replicas hold with 17 % to spare",
		[]string{"Tue 14:00 brought **41.0 requests/s** at p99 TTFT 0.5 to 0.75 s, limit 1 s.", "The 7th replica is needed in **the week of ", " at the earliest (+2.2 % a week, -0.6 to +5.0).",
			"Fri 10:00 and 11:00 **broke the SLO** (a GPU runs slow), not for lack of GPUs.", "**3 of 168 hours are missing**.", "The capacity was measured on 11 November. The same verdict as last week. Traffic in the fullest five minutes ~ +2.2 %"}, nil},
	{"it does not fit: which hours, by how much, what it takes", sample.DoesNotFit(), "Buy 4 GPUs: 6 replicas are 17 % short at Tue 14:00",
		[]string{"**29 hours from Mon 10:00 to Fri 14:00** needed up to **8 replicas**, 2 more than are paid for ($1,949 a week)", "**broke the SLO**"}, []string{"not known", "7th"}},
	{"it does not fit at the low end alone", with(sample.Report(), func(r *week.Report) { r.Hours[24+14].HighNeeded, r.Sums.LowHeadroom = ptr(7), ptr(-0.03) }), "Buy 2 GPUs: 6 replicas may be 3 % short at Tue 14:00",
		[]string{"**Tue 14:00** may have needed **7 replicas**, 1 more than are paid for ($974 a week), due now; Tue 14:00 brought 41.0 requests/s."}, nil},
	{"it does not fit, said by an earlier version", func() *week.Report { r := sample.DoesNotFit(); r.Verdict = week.Verdict{}; return r }(), "Buy 4 GPUs: 6 replicas are 17 % short at Tue 14:00", nil, nil},
	{"it does not fit and the headroom is not known", with(sample.DoesNotFit(), func(r *week.Report) { r.Sums.LowHeadroom = nil }), "Buy 4 GPUs: 8 replicas are needed, 6 paid for", nil, nil},
	{"the SLO broke by a slow GPU in an hour that had too few as well", with(sample.DoesNotFit(), func(r *week.Report) { r.Hours[4*24+10].HighNeeded = ptr(7) }), "Buy 4 GPUs: 6 replicas are 17 % short at Tue 14:00",
		[]string{"Fri 10:00 and 11:00 **broke the SLO**, also for lack of GPUs."}, nil},
	{"one replica", with(changedTo(sample.Report(), 0, 1), func(r *week.Report) {
		for i := range r.Hours {
			if !r.Hours[i].IsMissing {
				r.Hours[i].NeededReplicas, r.Hours[i].HighNeeded = ptr(1), ptr(1)
			}
		}
	}), "Buy no GPUs: 1 replica holds with 17 % to spare", nil, nil},
	{"traffic falls, on a capacity measured at another shape", sample.Falling(), "Buy no GPUs: 6 replicas hold with 46 % to spare",
		[]string{"Traffic **fell by 9.6 %** on last week (8.4 to 11)", "No 7th replica is needed in the next 12 weeks", "The capacity was measured on 11 November **at another shape** of requests and corrected by -0.8 %."}, []string{"missing"}},
	{"much is missing", sample.Missing(), "Buy no GPUs: 6 replicas hold in the 108 hours known", []string{"**60 of 168 hours are missing**, and a busier one may be among them."}, nil},
	{"the first week", sample.NoHistory(), "Buy no GPUs: 6 replicas hold with 17 % to spare", []string{"broke the SLO", "missing"}, []string{"needed in"}},
	{"no metrics of production", sample.NoMetrics(), "Buy no GPUs: 6 replicas hold with 17 % to spare", []string{"Tue 14:00 brought **41.0 requests/s**, which needs 5 replicas, 6 at capacity’s low end."}, []string{"TTFT", "broke"}},
	{"nothing says what a replica handles", sample.NoCapacity(), "Not known if 6 replicas hold: no capacity was found", []string{"Tue 14:00 brought **41.0 requests/s** to 6 replicas, and nothing says what one replica handles."}, []string{"needed in"}},
	{"no number of replicas keeps the SLO", sample.OutOfReach(), "No number of these GPUs keeps p99 TTFT from due at most 1 s", []string{"by rehearsal no rate keeps p99 TTFT from due at most 1 s."}, []string{"nothing says"}},
	{"it rests on a rehearsal", sample.Rehearsed(), "Buy no GPUs: 6 replicas hold with 8 % to spare", []string{"The capacity is **rehearsed, not measured**"}, nil},
	{"it rests on a rehearsal, and the model decides", with(sample.Rehearsed(), func(r *week.Report) {
		r.Hours[24+14].HighNeeded, r.Sums.LowHeadroom, r.Basis.Model = ptr(8), ptr(-0.2), ptr(0.27)
	}), "Measure before you buy: 6 replicas hold, or 8 if 27 % slow", []string{"Tue 14:00 brought **41.0 requests/s**: by the model it needs 5 replicas, and **8 if 27 % slow**. Half an hour of load tells which."}, []string{"due now"}},
	{"too little time to order", with(sample.Report(), func(r *week.Report) {
		r.LeadUntil, r.Forecast.Needs = "2027-W05", []forecast.Need{{Replicas: 7, Week: "2027-W03"}}
	}), "Order 2 GPUs: 7 replicas are needed from 18 January on", nil, nil},
	{"a first week beyond what is paid for, by chance", func() *week.Report {
		r := with(sample.Report(), func(r *week.Report) { r.Hours[24+14].HighNeeded, r.Sums.LowHeadroom = ptr(7), ptr(-0.03) })
		r.Verdict.Kind, r.Verdict.Replicas, r.Verdict.NeededBefore, r.Verdict.Chance = week.Hold, ptr(6), ptr(6), 0.04
		return r
	}(), "Buy no GPUs yet: 6 replicas were 3 % short, by chance", []string{"Tue 14:00 brought **41.0 requests/s**, more than is paid for, by no more than chance."}, []string{"due now"}},
	{"seven were needed last week", func() *week.Report {
		r := sample.Report()
		r.Verdict.Kind, r.Verdict.Replicas, r.Verdict.Chance = week.Buy, ptr(7), 0.04
		return r
	}(), "Buy 2 GPUs: 7 replicas are needed, 6 paid for", []string{"**7 replicas** are advised since last week, 1 more than paid for, due now, and this week differs by no more than chance (± 4.0 %)"}, nil},
	{"it rests on a month-old search", with(sample.Report(), func(r *week.Report) { r.Basis.AgeDays = ptr(45.2) }), "Buy no GPUs: 6 replicas hold with 17 % to spare", []string{"The capacity was measured **45 days ago**."}, nil},
	{"it rests on an old search at another shape", with(sample.Falling(), func(r *week.Report) { r.Basis.AgeDays = ptr(45.2) }), "Buy no GPUs: 6 replicas hold with 46 % to spare", []string{"The capacity was measured **45 days ago** **at another shape** of requests"}, nil},
	{"it rests on a simulated server", with(sample.Report(), func(r *week.Report) { r.Basis.Kind = "simulated" }), "Buy no GPUs: 6 replicas hold with 17 % to spare", []string{"The capacity is of **a simulated server** on 11 November."}, nil},
	{"a seventh replica came on Wednesday", sample.Changed(), "Buy no GPUs: 7 replicas hold with 36 % to spare", []string{"7 replicas are paid for since **Wed 00:00**, 6 before."}, nil},
	{"eight came on Wednesday, and six had been too few", changedTo(sample.DoesNotFit(), 48, 8), "Buy no GPUs: the 8 replicas since Wed hold every hour", []string{"8 replicas are paid for since **Wed 00:00**, 6 before"}, []string{"more than are paid for"}},
	{"two were switched off on Wednesday, and that is too few", changedTo(sample.Report(), 48, 4), "Buy 4 GPUs: 4 replicas are 22 % short at Tue 14:00", []string{"up to **6 replicas**, 2 more than are paid for"}, nil},
	{"one in ten failed", with(sample.NoMetrics(), func(r *week.Report) { r.FailedRequests = r.Sums.Requests / 10 }), "Buy no GPUs: 6 replicas hold with 17 % to spare", []string{" requests failed** or have no answer"}, nil},
	{"one in a thousand failed", with(sample.NoMetrics(), func(r *week.Report) { r.FailedRequests = r.Sums.Requests / 1000 }), "Buy no GPUs: 6 replicas hold with 17 % to spare", nil, []string{"failed"}},
	{"all failed", with(sample.NoMetrics(), func(r *week.Report) { r.FailedRequests = r.Sums.Requests }), "Not known if 6 replicas hold: no request was answered", []string{"**No request was answered**"}, nil},
	{"no request came", with(sample.NoMetrics(), func(r *week.Report) {
		r.Sums.Requests, r.FailedRequests, r.Sums.BusiestHourStart, r.Sums.LowHeadroom = 0, 0, nil, nil
	}), "Buy no GPUs: no request came in the hours known", []string{"No request came in the 165 hours known."}, nil},
	{"it broke the SLO though it had capacity, and nothing says why", with(sample.Report(), func(r *week.Report) { r.Symptoms = nil }), "Buy no GPUs: 6 replicas hold with 17 % to spare",
		[]string{"Fri 10:00 and 11:00 **broke the SLO** though 6 replicas should hold; no symptom says why."}, nil},
	{"it broke the SLO, and GPUs would have helped though there was room", with(sample.Report(), func(r *week.Report) { r.Symptoms[0].Name, r.Symptoms[0].IsForGPUs = "kv_full", true }), "Check before you buy: 6 replicas fit, yet the SLO broke",
		[]string{"**broke the SLO** for lack of GPUs: kv full."}, nil},
}

func TestSentences(t *testing.T) {
	for _, c := range weeks {
		if got := plainly.Replace(page.Headline(c.r)); got != c.headline {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.headline)
		}
		lede := ledeOf(c.r)
		for _, want := range c.lede {
			must.Say(t, lede, want)
		}
		for _, not := range c.not {
			must.NotSay(t, lede, not)
		}
	}
}

// What drift finds stands behind what changed since last week; that it finds nothing is said below, where the time per token is.
func TestDriftStandsBehindWhatChanged(t *testing.T) {
	for _, one := range []struct {
		verdict string
		is      bool
	}{{"system", true}, {"workload", true}, {"both", true}, {"none", false}, {"unknown", false}} {
		r := sample.Report()
		r.Verdict.Since = []week.Since{{What: "traffic"}}
		r.Changed = &week.WhatChanged{Verdict: one.verdict, Sentence: "The system changed on 2026-11-18."}
		if got := strings.Contains(ledeOf(r), "othing changed since then. Over several weeks: the system changed on 2026-11-18."); got != one.is {
			t.Errorf("%s: the summary says\n%s", one.verdict, ledeOf(r))
		}
		var out strings.Builder
		must.Do(t, page.Write(&out, r, page.Options{}))
		must.Say(t, out.String(), r.Changed.Sentence)
	}
}

// However large the numbers, the headline stays short, and the lede within its lines and its bold facts.
func TestSentencesAreShort(t *testing.T) {
	for _, c := range weeks {
		r := c.r
		for _, large := range []bool{false, true} {
			if large {
				r = with(r, func(r *week.Report) {
					for i := range r.Hours {
						h := &r.Hours[i]
						h.PaidReplicas *= 10_000
						for _, n := range []*int{h.NeededReplicas, h.HighNeeded, h.LowNeeded} {
							if n != nil {
								*n *= 10_000
							}
						}
					}
					r.Deployment.GPUsPerReplica = 16
				})
			}
			if n := utf8.RuneCountInString(page.Headline(r)); n > 60 {
				t.Errorf("%s: the headline has %d characters: %s", c.name, n, page.Headline(r))
			}
			lede := ledeOf(r)
			if n := strings.Count(lede, "**"); n > 8 {
				t.Errorf("%s: %d bold facts, want at most four: %s", c.name, n/2, lede)
			}
			_, after, isKnown := strings.Cut(lede, "\n")
			if isKnown {
				lede = after
			}
			if n := utf8.RuneCountInString(strings.ReplaceAll(lede, "**", "")); n > 296 {
				t.Errorf("%s: the lede has %d characters: %s", c.name, n, lede)
			}
		}
	}
}

// A symptom of another hour does not explain why the SLO broke.
func TestASymptomOfAnotherHourExplainsNothing(t *testing.T) {
	r := sample.Report()
	monday := r.Hours[3].Start
	r.Symptoms[0].First, r.Symptoms[0].Last = &monday, ptr(monday.Add(time.Hour))
	must.Say(t, ledeOf(r), "no symptom says why")
}
