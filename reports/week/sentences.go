package week

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tidemark/analysis/week"
	"tidemark/analysis/week/forecast"
	"tidemark/internal/show"
	"tidemark/reports/week/draw"
)

// The headline, the lede and what to do first. Each has a sentence for every kind of week: it fits, it does not, nothing says what a replica
// takes, the replicas changed, much is missing, the SLO broke though there was room, it is the first week.

const (
	longestHeadline = 60
	longestLede     = 296 // characters that fit on three lines of the page
	mostBold        = 4
	oldSearchDays   = 31
)

// Headline is the decision, its subject and the margin in at most 60 characters. A decision is made at capacity’s low end of the capacity's
// interval.
func Headline(r *week.Report) string { return newFacts(r).headline() }

func (f *facts) headline() string {
	switch {
	case f.isAllFailed(): // hours without a request need nothing, and say nothing of the others
		return fits("Not known if "+holding(f.Paid, "replica holds", "replicas hold")+": no request was answered", "Not known: no request was answered")
	case f.Basis.IsImpossible:
		return fits("No number of these GPUs keeps "+f.binds(), "No number of these GPUs keeps the SLO")
	case f.MayBeOutOfReach():
		return fits("Not known if "+holding(f.Paid, "replica holds", "replicas hold")+": the SLO may be out of reach", "Not known: the SLO may be out of reach")
	case f.Known == 0:
		return fits("Not known if "+holding(f.Paid, "replica holds", "replicas hold")+": no capacity was found", "Not known: no capacity was found")
	case f.Sums.Requests == 0:
		return "Buy no GPUs: no request came in the hours known"
	case f.Verdict.Kind == week.Buy:
		return f.buyHeadline()
	case f.Verdict.Kind == week.Order:
		return fits(fmt.Sprintf("Order %s: %s needed from %s on", counted(max(f.Deployment.GPUsPerReplica, 1), "GPU"), holding(f.Paid+1, "replica is", "replicas are"), mondayInWords(f.OrdersBy(), f.Week)), "Order a replica now: it is needed before it can serve")
	case f.Verdict.Kind == week.Measure:
		return f.measureHeadline()
	case f.wantsGPUs():
		return fits("Check before you buy: "+holding(f.Paid, "replica fits", "replicas fit")+", yet the SLO broke", "Check before you buy: the SLO broke")
	case f.isOver():
		return fits("Buy no GPUs yet: "+holding(f.Paid, "replica was", "replicas were")+" "+sparePercent(-*f.Margin)+" short, by chance", "Buy no GPUs yet: one week may be chance")
	case !f.ChangedAt.IsZero() && len(f.Short) > 0:
		return fits(fmt.Sprintf("Buy no GPUs: the %s since %s hold every hour", replicas(f.Paid), f.local(f.ChangedAt).Format("Mon")), "Buy no GPUs: what is paid for now holds")
	case f.isLargelyMissing():
		return fits(fmt.Sprintf("Buy no GPUs: %s in the %s known", holding(f.Paid, "replica holds", "replicas hold"), counted(f.Known, "hour")), "Buy no GPUs on the hours that are known")
	case f.Verdict.Cautious != nil && 2**f.Verdict.Cautious <= f.Paid:
		return fits(fmt.Sprintf("Buy no GPUs: %s of %s", count(*f.Verdict.Cautious), replicas(f.Paid)+" "+show.Verb(*f.Verdict.Cautious, "is", "are")+" enough"), "Buy no GPUs: fewer replicas are enough")
	case f.MarginLow == nil || *f.MarginLow < 0:
		return fits("Buy no GPUs: "+holding(f.Paid, "replica holds", "replicas hold")+" every hour", "Buy no GPUs")
	}
	return fits(fmt.Sprintf("Buy no GPUs: %s with %s to spare", holding(f.Paid, "replica holds", "replicas hold"), sparePercent(*f.MarginLow)), "Buy no GPUs: what is paid for holds")
}

// isOver says that an hour of this week needed more than is paid for, but by no more than chance and for the first time.
func (f *facts) isOver() bool {
	return len(f.ShortNow) > 0 && f.Margin != nil && *f.Margin < 0 && f.Verdict.Kind == week.Hold
}

// further are the replicas that are advised on top of those paid for.
func (f *facts) further() int { return *f.Verdict.Replicas - f.Paid }

func (f *facts) buyHeadline() string {
	buy := fmt.Sprintf("Buy %s: ", counted(f.further()*max(f.Deployment.GPUsPerReplica, 1), "GPU"))
	if f.Margin == nil || *f.Margin >= 0 {
		return fits(buy+holding(f.Paid+f.further(), "replica is", "replicas are")+" needed, "+count(f.Paid)+" paid for", buy+"the fleet is too small")
	}
	is := holding(f.Paid, "replica is", "replicas are")
	if len(f.ShortCentre) == 0 {
		is = holding(f.Paid, "replica may be", "replicas may be")
	}
	short := buy + is + " " + sparePercent(-*f.Margin) + " short"
	if f.Busiest != nil {
		return fits(short+" at "+f.hour(f.Busiest.Start), short, buy+"the fleet is too small")
	}
	return fits(short, buy+"the fleet is too small")
}

// measureHeadline says what is enough by the model, and what it takes if the model is off.
func (f *facts) measureHeadline() string {
	enough := "Measure before you buy: " + holding(f.Paid, "replica holds", "replicas hold")
	if f.Verdict.Cautious == nil {
		return fits(enough + ", if the model is right")
	}
	return fits(enough+", or "+count(*f.Verdict.Cautious)+f.ifSlow(), enough+", or "+count(*f.Verdict.Cautious)+" do", enough)
}

// ifSlow is the condition under which the low end of the capacity holds.
func (f *facts) ifSlow() string {
	if f.Basis.Model == nil {
		return " at capacity’s low end"
	}
	return " if " + percent(*f.Basis.Model) + " slow"
}

// wantsGPUs says that the SLO broke together with a symptom of which more GPUs would have been the cure.
func (f *facts) wantsGPUs() bool {
	return slices.ContainsFunc(f.Symptoms, func(s week.Symptom) bool { return s.IsForGPUs && isDuring(&s, f.Broken) })
}

// fits is the first of the texts that is short enough for a headline.
func fits(texts ...string) string {
	for _, text := range texts {
		if utf8.RuneCountInString(text) <= longestHeadline {
			return text
		}
	}
	return texts[len(texts)-1]
}

// holding counts replicas before a verb: 6 replicas hold.
func holding(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", count(n), many)
}

// candidate is a sentence of the lede. Where there is no room for its long form the short one is taken, and where there is none for that it is
// left out, the least important first.
type candidate struct {
	rank        int // 1 is never left out
	long, short prose
}

// lede has at most three lines with at most four bold facts, of which the line above it may have taken some.
func (f *facts) lede() []prose {
	var all []candidate
	for _, c := range []candidate{f.sayBusiest(), f.sayChange(), f.sayTraffic(), f.sayNext(), f.sayBroken(), f.sayFailed(), f.sayMissing()} {
		if len(c.long) > 0 {
			all = append(all, c)
		}
	}
	length := func() int {
		n := -1
		for _, c := range all {
			n += c.long.length() + 1
		}
		return n
	}
	for rank := 7; rank > 0 && length() > longestLede; rank-- {
		for i := len(all) - 1; i >= 0 && length() > longestLede; i-- {
			if all[i].rank == rank && len(all[i].short) > 0 {
				all[i].long = all[i].short
			}
		}
	}
	for rank := 7; rank > 1 && length() > longestLede; rank-- {
		for i := len(all) - 1; i >= 0 && length() > longestLede; i-- {
			if all[i].rank == rank {
				all = slices.Delete(all, i, i+1)
			}
		}
	}
	out := make([]prose, len(all))
	for i, c := range all {
		out[i] = slices.Clone(c.long)
	}
	limitBold(slices.Insert(slices.Clone(out), 0, f.restsOn()), mostBold)
	return out
}

// sayBusiest: the busiest hour and its load, or the hours that are too much.
func (f *facts) sayBusiest() candidate {
	if f.Covered > 0 && f.Sums.Requests == 0 {
		return candidate{1, plain("No request came in the " + counted(f.Covered, "hour") + " known."), nil}
	}
	if f.Busiest == nil || f.Busiest.PeakRatePerS == nil {
		return candidate{1, plain("No hour of this week has data."), nil}
	}
	brought := join(f.hour(f.Busiest.Start)+" brought ", bold(figures(*f.Busiest.PeakRatePerS)+narrow+"requests/s"))
	switch {
	case f.Basis.IsImpossible:
		return candidate{1, join(brought, "; by rehearsal no rate keeps "+f.binds()+"."), join(brought, ".")}
	case f.MayBeOutOfReach():
		return candidate{1, join(brought, "; if step times are at the long end of the band, no rate keeps the SLO."), join(brought, ".")}
	case f.Known == 0:
		return candidate{1, join(brought, " to "+replicas(f.Paid)+", and nothing says what one replica handles."), join(brought, ".")}
	case f.Verdict.Kind == week.Buy:
		return f.sayShort()
	case f.Verdict.Kind == week.Measure && f.Verdict.Cautious != nil:
		return candidate{1, join(brought, fmt.Sprintf(": by the model it needs %s, and ", replicas(f.Most)), bold(count(*f.Verdict.Cautious)+f.ifSlow()), ". Half an hour of load tells which."), join(brought, ".")}
	case f.isOver():
		return candidate{1, join(brought, fmt.Sprintf(", which needs %s. That is within chance (%s), and last week needed %s: a second such week would count.",
			replicas(f.Most), "±"+narrow+percent(f.Verdict.Chance), of(f.Verdict.NeededBefore, count[int]))), join(brought, ", more than is paid for, by no more than chance.")}
	}
	if felt := f.feltAt("ttft", f.Busiest.Start); felt != nil && felt.P99 != nil && felt.Limit != nil {
		return candidate{1, join(brought, " at p99 TTFT "+bounds(felt.P99, exact)+narrow+"s, limit "+setting(*felt.Limit)+"."), join(brought, ".")}
	}
	if h := f.Busiest; h.NeededReplicas != nil && h.HighNeeded != nil && *h.HighNeeded != *h.NeededReplicas {
		return candidate{1, join(brought, fmt.Sprintf(", which needs %s, %s at capacity’s low end.", replicas(*h.NeededReplicas), count(*h.HighNeeded))), join(brought, ".")}
	}
	if h := f.Busiest; h.NeededReplicas != nil {
		return candidate{1, join(brought, ", which needs "+replicas(*h.NeededReplicas)+"."), join(brought, ".")}
	}
	return candidate{1, join(brought, "."), nil}
}

func (f *facts) sayShort() candidate {
	hours, need := f.ShortNow, " needed"
	if len(hours) == 0 {
		said := join(bold(replicas(*f.Verdict.Replicas)), " "+show.Verb(*f.Verdict.Replicas, "is", "are")+" advised since last week, "+count(f.further())+" more than paid for, due now, and this week differs by no more than chance (±"+narrow+percent(f.Verdict.Chance)+")")
		return candidate{1, join(said, "; "+f.hour(f.Busiest.Start)+" brought "+figures(*f.Busiest.PeakRatePerS)+narrow+"requests/s."), join(said, ".")}
	}
	if len(f.ShortCentre) == 0 {
		need = " may have needed"
	}
	up := ""
	if len(hours) > 1 {
		up = " up to"
	}
	takes := fmt.Sprintf(", %s more than %s paid for", count(f.further()), show.Verb(f.Paid, "is", "are"))
	if cost := f.weekly(f.further()); cost != "" {
		takes += " (" + cost + " a week)"
	}
	said := join(bold(f.hoursInWords(hours)), need+up+" ", bold(replicas(f.Paid+f.further())), takes+", due now")
	return candidate{1, join(said, "; "+f.hour(f.Busiest.Start)+" brought "+figures(*f.Busiest.PeakRatePerS)+narrow+"requests/s."), join(said, ".")}
}

// weekly is what so many replicas cost in a week, or nothing without a price.
func (f *facts) weekly(n int) string {
	if f.Price.USDPerGPUHour == nil {
		return ""
	}
	return dollars(*f.Price.USDPerGPUHour * float64(n*max(f.Deployment.GPUsPerReplica, 1)) * week.Lasting(f.Hours))
}

// sayChange: replicas changed in mid-week.
func (f *facts) sayChange() candidate {
	if f.ChangedAt.IsZero() {
		return candidate{}
	}
	said := join(replicas(f.Paid)+" "+show.Verb(f.Paid, "is", "are")+" paid for since ", bold(f.hour(f.ChangedAt)), ", "+count(f.PaidFirst)+" before")
	if n := len(f.Short); n > 0 && f.Verdict.Kind != week.Buy {
		return candidate{3, join(said, ", too few in "+counted(n, "hour")+"."), join(said, ".")}
	}
	return candidate{3, join(said, "."), nil}
}

// sayTraffic: it fell, and fewer would do. Growth is told with the next replica.
func (f *facts) sayTraffic() candidate {
	c := f.change("requests")
	if f.Last == nil && len(f.Before) == 0 {
		return candidate{6, plain("It is the first week with data, so nothing is compared."), nil}
	}
	if c == nil || !c.IsTold || c.Ratio == nil || *c.Ratio >= 0 {
		return candidate{}
	}
	fell := join("Traffic ", bold("fell by "+percent(-*c.Ratio)), " on last week")
	ends := ""
	if c.Low != nil && c.High != nil {
		ends = " (" + interval(whole(-*c.High), whole(-*c.Low)) + ")"
	}
	if f.Known > 0 && f.Most > 0 && f.Verdict.Cautious != nil && *f.Verdict.Cautious < f.Paid && !f.isLargelyMissing() {
		return candidate{4, join(fell, ends+fmt.Sprintf("; %s of the %s would do.", count(*f.Verdict.Cautious), replicas(f.Paid))), join(fell, ends+".")}
	}
	return candidate{4, join(fell, ends+"."), join(fell, ".")}
}

// sayNext: when the next replica is needed, the earliest date, growth with its interval.
func (f *facts) sayNext() candidate {
	a := f.Forecast
	if f.Known == 0 {
		return candidate{}
	}
	if a.Why != "" {
		return candidate{6, plain("There is no forecast: " + f.noForecast() + "."), plain("There is no forecast yet.")}
	}
	next := f.nextReplica()
	growth := ""
	if a.GrowthRatio != nil {
		growth = fmt.Sprintf(" (%s%s%% a week", signed(*a.GrowthRatio), narrow)
		if a.LowGrowth != nil && a.HighGrowth != nil {
			growth += ", " + interval(signed(*a.LowGrowth), signed(*a.HighGrowth))
		}
		growth += ")"
	}
	ahead := "within a year"
	if n := a.HoldsUntilWeeks; n > 0 && n < 52 {
		ahead = "in the next " + counted(n, "week")
	}
	first, earliest := mondayInWords(next.Week, f.Week), mondayInWords(next.Earliest, f.Week)
	switch {
	case next.Week == "" && next.Earliest == "":
		return candidate{5, plain(fmt.Sprintf("No %s replica is needed %s%s.", show.Ordinal(next.Replicas), ahead, growth)), plain(fmt.Sprintf("No %s replica is needed %s.", show.Ordinal(next.Replicas), ahead))}
	case next.Week == "":
		said := join(fmt.Sprintf("The %s replica is needed ", show.Ordinal(next.Replicas)), bold("in the week of "+earliest+" at the earliest"))
		return candidate{4, join(said, growth+"."), join(said, ".")}
	}
	said := join(fmt.Sprintf("The %s replica is needed in ", show.Ordinal(next.Replicas)), bold("the week of "+first))
	if next.Earliest != "" && next.Earliest != next.Week {
		said = join(said, ", "+earliest+" at the earliest")
	}
	return candidate{4, join(said, growth+"."), join(said, ".")}
}

// noForecast is why there is none, to go on a sentence.
func (f *facts) noForecast() string {
	return strings.TrimSuffix(strings.TrimPrefix(f.Forecast.Why, "There is no forecast: "), ".")
}

// nextReplica is the first one beyond what is paid for, or beyond what this week needs already.
func (f *facts) nextReplica() forecast.Need {
	enough := f.Paid
	if f.Verdict.Kind == week.Buy {
		enough += f.further()
	}
	for _, n := range f.Forecast.Needs {
		if n.Replicas > enough {
			return n
		}
	}
	if len(f.Forecast.Needs) > 0 {
		return forecast.Need{Replicas: enough + 1}
	}
	return forecast.Need{Replicas: enough + 1, Week: f.Forecast.NextReplicaWeek, Earliest: f.Forecast.EarliestReplica}
}

// sayBroken: what broke the SLO, and whether GPUs would have helped.
func (f *facts) sayBroken() candidate {
	if len(f.Broken) == 0 {
		if f.Sums.IsMet != nil && !*f.Sums.IsMet {
			return candidate{2, join("Over the week production ", bold("did not meet the SLO"), "."), nil}
		}
		return candidate{}
	}
	broke := join(upper(f.hoursInWords(f.Broken))+" ", bold("broke the SLO"))
	symptom := f.symptomOf(f.Broken)
	switch {
	case symptom != nil && !symptom.IsConfirmed() && !f.wereShort(f.Broken):
		return candidate{2, join(broke, "; it may be that "+draw.Lower(said(symptom.Name))+", which is not confirmed."), join(broke, ", and nothing that is confirmed says why.")}
	case symptom != nil && symptom.IsForGPUs:
		return candidate{2, join(broke, " for lack of GPUs: "+draw.Lower(said(symptom.Name))+"."), join(broke, " for lack of GPUs.")}
	case symptom != nil && f.wereShort(f.Broken):
		return candidate{2, join(broke, ": "+draw.Lower(said(symptom.Name))+", and there were too few GPUs."), join(broke, ", also for lack of GPUs.")}
	case symptom != nil:
		return candidate{2, join(broke, " ("+draw.Lower(said(symptom.Name))+"), not for lack of GPUs."), join(broke, ", not for lack of GPUs.")}
	case f.wereShort(f.Broken):
		return candidate{2, join(broke, " for lack of GPUs."), nil}
	case f.Known == 0:
		return candidate{2, join(broke, "."), nil}
	}
	return candidate{2, join(broke, " though "+replicas(f.Paid)+" should hold; no symptom says why."), join(broke, ", and no symptom says why.")}
}

// wereShort says that in one of these hours fewer replicas were paid for than were needed.
func (f *facts) wereShort(hours []time.Time) bool {
	return slices.ContainsFunc(hours, func(at time.Time) bool { return slices.ContainsFunc(f.Short, at.Equal) })
}

// restsOn says under the headline where the capacity comes from; nothing where none is known.
func (f *facts) restsOn() prose {
	b := f.Basis
	switch {
	case f.Known == 0 || b.RatePerS == nil:
		return nil
	case b.Kind == "predicted" && b.Model != nil:
		return join("The capacity is ", bold("rehearsed, not measured"), fmt.Sprintf(" (step times ±%s%s).", narrow, percent(*b.Model)))
	case b.Kind == "predicted", b.Kind == "rehearsed":
		return join("The capacity is ", bold("rehearsed, not measured"), ".")
	case b.Kind == "simulated":
		return join("The capacity is of ", bold("a simulated server"), f.searchedOn()+".")
	}
	text := join("The capacity was measured" + f.searchedOn())
	if b.AgeDays != nil && *b.AgeDays > oldSearchDays {
		text = join("The capacity was measured ", bold(counted(int(math.Round(*b.AgeDays)), "day")+" ago"))
	}
	if b.IsOtherShape {
		text = join(text, " ", bold("at another shape"), " of requests")
		if b.Correction != nil {
			text = join(text, " and corrected by "+signed(*b.Correction-1)+narrow+"%")
		}
	}
	return join(text, ".")
}

// searchedOn is the day on which the search ended, where that is known.
func (f *facts) searchedOn() string {
	if f.Basis.EndedAt == nil {
		return ""
	}
	return " on " + f.local(*f.Basis.EndedAt).Format("2 January")
}

// isAllFailed says that no request of the week was answered.
func (f *facts) isAllFailed() bool {
	return f.FailedRequests > 0 && f.FailedRequests >= f.Sums.Requests
}

// sayFailed: how many requests have no length, from one in a hundred on.
func (f *facts) sayFailed() candidate {
	n := f.FailedRequests
	switch {
	case n == 0 || 100*n < f.Sums.Requests:
		return candidate{}
	case f.isAllFailed():
		return candidate{2, join(bold("No request was answered"), ", so what they need is not known."), join(bold("No request was answered"), ".")}
	}
	said := join(bold(fmt.Sprintf("%s of %s failed", count(n), counted(f.Sums.Requests, "request"))), " or have no answer")
	return candidate{2, join(said, ": they count, and their lengths do not."), join(said, ".")}
}

// sayMissing: how many hours, and where they hide too much.
func (f *facts) sayMissing() candidate {
	n := f.Sums.MissingHours
	if n == 0 {
		return candidate{}
	}
	said := bold(fmt.Sprintf("%s of %s %s missing", count(n), counted(len(f.Hours), "hour"), show.Verb(n, "is", "are")))
	if !f.isLargelyMissing() {
		return candidate{1, join(said, "."), nil}
	}
	return candidate{1, join(said, ", and a busier one may be among them."), join(said, ".")}
}

// since says what changed against last week: the verdict, and each of what it follows from, by the same estimates for both weeks.
func (f *facts) since() prose {
	v := f.Verdict
	if len(v.Since) == 0 {
		return nil
	}
	said := plain("Last week’s page is not kept. ")
	switch {
	case v.LastKind == "":
	case v.LastKind == v.Kind && (v.Kind != week.Buy && v.Kind != week.Hold || sameNumber(v.LastReplicas, v.Replicas)):
		said = plain("The same verdict as last week. ")
	default:
		said = plain("Last week’s page said " + f.lastVerdict() + ". ")
	}
	var changed, same []string
	for _, s := range v.Since {
		what := map[string]string{"traffic": "traffic in the fullest five minutes", "lengths": "what a replica handles of it", "fleet": "the fleet", "model": "the SLO, the deployment and the model"}[s.What]
		switch {
		case s.Ratio == nil:
		case s.What == "model" && s.IsTold:
			changed = append(changed, s.Text+" ("+signed(*s.Ratio)+narrow+"% of headroom)")
		case s.What == "fleet" && s.IsTold:
			changed = append(changed, what+" from "+s.Text)
		case s.IsTold:
			changed = append(changed, what+" "+signed(*s.Ratio)+narrow+"%")
		case math.Abs(*s.Ratio) >= 0.0005:
			changed = append(changed, what+" ~ "+signed(*s.Ratio)+narrow+"%")
		default:
			same = append(same, what)
		}
	}
	if len(changed) == 0 {
		changed = []string{"nothing changed since then"}
	}
	text := upper(strings.Join(changed, ", "))
	if len(same) > 0 {
		text += "; the same: " + strings.Join(same, ", ")
	}
	text += "."
	if f.Changed != nil && f.Changed.Verdict != "none" && f.Changed.Verdict != "unknown" {
		text += " Over several weeks: " + draw.Lower(f.Changed.Sentence)
	}
	return join(said, text)
}

func sameNumber(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

// lastVerdict is what the page of last week said, to go on a sentence.
func (f *facts) lastVerdict() string {
	n := of(f.Verdict.LastReplicas, count[int])
	switch f.Verdict.LastKind {
	case week.Buy:
		return "to have " + n + " replicas"
	case week.Order:
		return "to order one more replica"
	case week.Measure:
		return "to measure before buying"
	case week.Hold:
		return "that " + n + " would do"
	}
	return "that nothing is known"
}

// doFirst is the one recommendation, without its label.
func (f *facts) doFirst() prose {
	text := strings.TrimSpace(f.Do.Text)
	if text == "" {
		return plain("nothing; no rule fired.")
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	said := plain(draw.Lower(strings.TrimPrefix(text, "Nothing to do: ")))
	if f.Do.Verb == "nothing" {
		said = join("nothing; ", said)
	}
	if f.Do.SavesUS == nil || *f.Do.SavesUS <= 0 || strings.Contains(text, dollars(*f.Do.SavesUS)) || strings.Contains(text, " saves ") {
		return said
	}
	said = join(said, " It saves ", bold(dollars(*f.Do.SavesUS)+" a week"))
	if cost := f.Sums.CostUSD; cost != nil && *cost > 0 {
		said = join(said, " ("+percent(*f.Do.SavesUS / *cost)+" of the cost)")
	}
	return join(said, ".")
}

// said makes words of a name such as wrong_precision.
func said(name string) string { return strings.ReplaceAll(name, "_", " ") }

// upper starts a text large.
func upper(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// exact writes a bucket's bound, which was chosen and not measured.
func exact(x float64) string { return set(show.Exact(x)) }

// bounds are the two ends of a bucket without their unit: 0.75 to 1, above 5.
func bounds(b *week.Bounds, write func(float64) string) string {
	switch {
	case b == nil:
		return unknown
	case b.High == nil:
		return "above " + write(b.Low)
	case b.Low == *b.High:
		return write(b.Low)
	}
	return interval(write(b.Low), write(*b.High))
}
