package week

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/week/service"
	"tidemark/internal/show"
)

// The one recommendation of a week. Rules are asked in order and the first that has something to say wins: what users would feel comes before what
// must be known, and that before what only saves money. No rule switches anything off on a capacity that nobody has measured.

// From these on a rule speaks.
const (
	leastSaved      = 0.10 // of the week's cost: less is not worth a change
	mostMissing     = 0.05 // of the week's hours
	oldCapacityDays = 31
)

// Names of the rules, in the order in which they are asked.
const (
	RuleChange    = "out_of_reach" // the SLO, of any number of GPUs
	RuleBuy       = "does_not_hold"
	RuleFix       = "broke_with_capacity" // the SLO broke, and GPUs would not have helped
	RuleMeasure   = "missing_or_old"      // data, or the capacity
	RuleMove      = "cheaper_alternative"
	RuleScale     = "scale_by_hour"
	RuleSwitchOff = "fewer_replicas" // hold every hour
	RuleNothing   = "nothing"
)

// Recommend is what to do first. It reads a report whose other fields are filled.
func Recommend(r *Report) Do {
	for _, rule := range []func(*Report) *Do{change, buy, fix, measure} {
		if do := rule(r); do != nil {
			return *do
		}
	}
	if do := save(r); do != nil {
		return *do
	}
	return Do{Verb: "nothing", Rule: RuleNothing, Text: "Nothing to do: what is paid for holds every covered hour, and nothing cheaper does."}
}

// save is the first rule that saves money; nil if none does.
func save(r *Report) *Do {
	for _, rule := range []func(*Report) *Do{move, scale, switchOff} {
		if do := rule(r); do != nil {
			return do
		}
	}
	return nil
}

// change speaks if no rate is small enough for the SLO at the busiest hour's lengths.
func change(r *Report) *Do {
	h := r.busiest()
	if !r.Basis.IsImpossible || h == nil {
		return nil
	}
	text := fmt.Sprintf("Change the SLO or the deployment: at the lengths of %s no rate is small enough for %s, so that more of these GPUs do not help.", r.hourName(h.Start), r.Basis.Binding)
	if r.Basis.Alone > 0 {
		text += fmt.Sprintf(" Requests that have a replica to themselves come to %s.", show.Duration(r.Basis.Alone))
	}
	for _, a := range r.Alternatives {
		if a.Kind != "today" && a.Headroom != nil && *a.Headroom >= 0 {
			text += fmt.Sprintf(" %s would hold (%s, not measured).", a.Name, a.Kind)
			break
		}
	}
	return &Do{Verb: "fix", Rule: RuleChange, Text: text}
}

// MayBeOutOfReach says that at the low end of the capacity no rate is small enough for the SLO in some hour.
func (r *Report) MayBeOutOfReach() bool {
	return slices.ContainsFunc(r.Hours, func(h Hour) bool { return h.NeededReplicas != nil && h.HighNeeded == nil })
}

// buy speaks if the verdict is that more replicas are needed than are paid for, now or before an order made now would serve.
func buy(r *Report) *Do {
	v, paid := r.Verdict, r.paidNow()
	switch v.Kind {
	case Order:
		text := fmt.Sprintf("Order %s now: by the forecast %s will be too few from %s on, and what is ordered now serves from %s on.",
			r.gpus(1), show.Things(paid, "replica", "replicas"), r.monday(r.OrdersBy()), r.monday(r.LeadUntil))
		return &Do{Verb: "buy", Rule: RuleBuy, Text: text + r.ifLow()}
	case Buy:
	default:
		return nil
	}
	var hours []time.Time
	worst := -1
	for i := range r.Hours {
		if n := r.DecisiveNeed(&r.Hours[i]); n != nil && *n > paid {
			hours = append(hours, r.Hours[i].Start)
			if worst < 0 || *n > *r.DecisiveNeed(&r.Hours[worst]) {
				worst = i
			}
		}
	}
	short := *v.Replicas - paid
	text := fmt.Sprintf("Buy %s now: ", r.gpus(short))
	if worst >= 0 && *r.DecisiveNeed(&r.Hours[worst]) == *v.Replicas {
		text += fmt.Sprintf("%s needed %s at the %s of the capacity, and %s %s paid for.", r.hourName(r.Hours[worst].Start), show.Count(*v.Replicas), r.decisiveEnd(), show.Count(paid), show.Verb(paid, "is", "are"))
	} else {
		text += fmt.Sprintf("%s %s advised since last week, and this week differs by no more than chance; %s %s paid for.", show.Count(*v.Replicas), show.Verb(*v.Replicas, "is", "are"), show.Count(paid), show.Verb(paid, "is", "are"))
	}
	prevents := ""
	if len(hours) > 0 {
		prevents = "prevents that " + show.Things(len(hours), "hour goes", "hours go") + " beyond what the fleet handles"
	}
	cost := usd(float64(short*r.Deployment.GPUsPerReplica)*Lasting(r.Hours), r.Price)
	switch {
	case cost != nil && prevents != "":
		text += fmt.Sprintf(" It costs %s a week and %s.", dollars(*cost), prevents)
	case cost != nil:
		text += fmt.Sprintf(" It costs %s a week.", dollars(*cost))
	case prevents != "":
		text += " It " + prevents + "."
	}
	return &Do{Verb: "buy", Rule: RuleBuy, Text: text + r.ifLow()}
}

// ifLow is how many replicas are needed if a capacity that nobody measured is at the low end of its interval, where that is more.
func (r *Report) ifLow() string {
	v := r.Verdict
	if r.isMeasured() || v.Cautious == nil || *v.Cautious <= *v.Replicas {
		return ""
	}
	return fmt.Sprintf(" Nobody measured that capacity: if it is at the low end of its interval, %s are needed.", show.Count(*v.Cautious))
}

// monday is the first day of a week.
func (r *Report) monday(week string) string {
	w, err := service.ParseWeek(week, r.zone())
	if err != nil {
		return week
	}
	return w.Start().Format("2 January")
}

// gpus are so many replicas with the GPUs that they are: 2 replicas (4 H100).
func (r *Report) gpus(replicas int) string {
	return fmt.Sprintf("%s (%s %s)", show.Things(replicas, "replica", "replicas"), show.Count(replicas*r.Deployment.GPUsPerReplica), r.Deployment.GPU)
}

// decisiveEnd names the end of the capacity that decides.
func (r *Report) decisiveEnd() string {
	if r.isMeasured() {
		return "low end"
	}
	return "middle"
}

// fix speaks of hours that broke the SLO though what was paid for was enough. Where the need is not known, a symptom that no GPU helps against decides.
func fix(r *Report) *Do {
	enough := map[int64]*Hour{}
	for i, h := range r.Hours {
		if n := r.DecisiveNeed(&h); n != nil && *n <= h.PaidReplicas {
			enough[h.Start.Unix()] = &r.Hours[i]
		}
	}
	var cause *Symptom
	for i, s := range r.Symptoms {
		if s.IsBroken && !s.IsForGPUs {
			cause = &r.Symptoms[i]
			break
		}
	}
	var broken []time.Time
	others := map[int64]bool{} // broke too, but the symptom was not there
	for _, f := range r.Felt {
		switch {
		case !f.IsBroken || cause == nil && enough[f.Start.Unix()] == nil:
		case cause != nil && cause.First != nil && cause.Last != nil && (f.Start.Before(*cause.First) || f.Start.After(*cause.Last)):
			others[f.Start.Unix()] = true
		case !slices.Contains(broken, f.Start):
			broken = append(broken, f.Start)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	slices.SortFunc(broken, time.Time.Compare)
	text := "Fix what broke the SLO " + r.hourNames(broken)
	switch {
	case cause != nil && cause.IsConfirmed():
		text += ": " + lowerFirst(cause.Name) + ". Try first: " + strings.TrimSuffix(cause.Try, ".") + "."
	case cause != nil:
		text += ". It may be that " + lowerFirst(cause.Name) + ", which is not confirmed. Try first: " + strings.TrimSuffix(cause.Try, ".") + "."
	default:
		text += "; no symptom that can be looked for explains it: replay one of these hours and look at the diagnosis."
	}
	if h := enough[broken[0].Unix()]; h != nil {
		text += fmt.Sprintf(" More GPUs would not help: %s needed %s of the %s paid for.", r.hourName(h.Start), show.Count(*r.DecisiveNeed(h)), show.Things(h.PaidReplicas, "replica", "replicas"))
	}
	if len(others) > 0 {
		text += fmt.Sprintf(" The SLO broke in %s too, by something else.", show.Things(len(others), "other hour", "other hours"))
	}
	return &Do{Verb: "fix", Rule: RuleFix, Text: text}
}

// measure speaks if the page rests on too little: no capacity, one that nobody measured, an old one or one of another shape, or too few hours.
func measure(r *Report) *Do {
	why, command := "", r.Commands.Search
	switch b := r.Basis; {
	case b.RatePerS == nil:
		why = "Measure what a replica handles (tidemark capacity): no capacity is known, so nobody can say whether the traffic fits."
	case r.MayBeOutOfReach():
		why = "Measure what a replica handles (tidemark capacity): at the low end of what was rehearsed no rate is small enough for the SLO."
	case r.Verdict.Kind == Measure && r.Verdict.Cautious != nil:
		why = fmt.Sprintf("Measure what a replica handles before you buy (tidemark capacity, half an hour of load): %s %s by the model, and %s are needed if the capacity is at the low end of its interval.",
			show.Things(r.paidNow(), "replica", "replicas"), show.Verb(r.paidNow(), "is enough", "are enough"), show.Count(*r.Verdict.Cautious))
	case r.isGappy():
		how := "tidemark collect"
		if command = r.Commands.Collect; command == "" {
			how = "tidemark ingest, the traces of these hours"
		}
		why = fmt.Sprintf("Close the gaps in the data first (%s): %s of %s hours are missing, and the busiest may be among them.", how, show.Count(r.Sums.MissingHours), show.Count(r.Sums.Hours))
	case b.Kind == "predicted":
		why = "Measure what a replica handles (tidemark capacity): every number of replicas here rests on a rehearsal."
	case b.AgeDays != nil && *b.AgeDays > oldCapacityDays:
		why = fmt.Sprintf("Measure again what a replica handles (tidemark capacity): the capacity is %.0f days old.", *b.AgeDays)
	case b.IsOtherShape:
		why = "Measure again what a replica handles (tidemark capacity): this week's requests have other lengths than those of the search."
	default:
		return nil
	}
	do := &Do{Verb: "measure", Rule: RuleMeasure, Text: why, Command: command}
	if r.isGappy() {
		return do
	}
	for _, rule := range []func(*Report) *Do{scale, switchOff} { // what that measurement can confirm: another deployment is not measured by it
		if then := rule(r); then != nil && then.SavesUS != nil {
			do.Text += " If it agrees, " + lowerFirst(then.Text)
			break
		}
	}
	return do
}

// isGappy says that so many hours are missing that nothing may be switched off on the others.
func (r *Report) isGappy() bool {
	return r.Sums.Hours > 0 && float64(r.Sums.MissingHours) > mostMissing*float64(r.Sums.Hours)
}

// move speaks of the cheapest other deployment that holds at its low end, gives the same answers, and saves a tenth.
func move(r *Report) *Do {
	if len(r.Alternatives) == 0 || r.Alternatives[0].USDPerWeek == nil {
		return nil
	}
	today := r.Alternatives[0]
	var best *Alternative
	for i, a := range r.Alternatives[1:] {
		isSafe := a.Headroom != nil && *a.Headroom >= 0 && !a.IsDominated && !a.IsOther && a.Kind != "predicted"
		if isSafe && a.USDPerWeek != nil && !isSameDeployment(a, today) && (best == nil || *a.USDPerWeek < *best.USDPerWeek) {
			best = &r.Alternatives[i+1]
		}
	}
	if best == nil {
		return nil
	}
	saved := rounded(*today.USDPerWeek-*best.USDPerWeek, 2)
	if !(saved > leastSaved**today.USDPerWeek) {
		return nil
	}
	text := fmt.Sprintf("Move to %s. It saves %s a week (%s of the cost) and holds the busiest hour with %s to spare at the low end.",
		best.Name, dollars(saved), show.Percent(saved / *today.USDPerWeek), spare(*best.Headroom))
	if best.Replicas == 1 {
		text += " One replica has no spare when it fails."
	}
	if best.Kind != "measured" {
		text += " Measure one replica of it first (tidemark capacity): this is " + best.Kind + "."
	}
	return &Do{Verb: "move", Rule: RuleMove, Text: text, SavesUS: &saved}
}

// scale speaks if switching replicas by the table of hours saves a tenth, with replicas that start before they are needed.
func scale(r *Report) *Do {
	var way *Scaling
	for i, s := range r.Scaling {
		if s.Name == ScaledByTable && way == nil || strings.HasPrefix(s.Name, scaledAheadName) {
			way = &r.Scaling[i]
		}
	}
	if way == nil || way.Saved == nil || !(*way.Saved > leastSaved) {
		return nil
	}
	least, most := math.MaxInt, 0
	var leastAt, mostAt time.Time
	for _, h := range r.Hours {
		if h.IsMissing || h.HighNeeded == nil {
			continue
		}
		if n := max(1, *h.HighNeeded); n < least {
			least, leastAt = n, h.Start
		}
		if n := max(1, *h.HighNeeded); n > most {
			most, mostAt = n, h.Start
		}
	}
	if least >= most {
		return nil
	}
	started := ""
	if minutes, isAhead := strings.CutPrefix(way.Name, scaledAheadName); isAhead && way.Name != ScaledAhead(0) {
		started = ", replicas started " + strings.TrimSuffix(minutes, " ahead") + " early"
	}
	text := fmt.Sprintf("Scale by the table of hours%s, from %s %s to %s %s.", started, show.Things(least, "replica", "replicas"), r.hourName(leastAt), show.Count(most), r.hourName(mostAt))
	do := &Do{Verb: "scale", Rule: RuleScale}
	if way.USD != nil {
		do.SavesUS = new(rounded(*way.USD/(1-*way.Saved)**way.Saved, 2)) // of what was paid: way = paid * (1 - saved)
		text += fmt.Sprintf(" It saves %s a week (%s of the cost) and holds every covered hour.", dollars(*do.SavesUS), show.Percent(*way.Saved))
	} else {
		text += fmt.Sprintf(" It saves %s of the GPU-hours and holds every covered hour.", show.Percent(*way.Saved))
	}
	do.Text = text
	return do
}

// switchOff speaks if fewer replicas than are paid for now hold every hour of the week, and the forecast's next peak too.
func switchOff(r *Report) *Do {
	if len(r.Replicas) == 0 {
		return nil
	}
	paid, most := r.Replicas[len(r.Replicas)-1].Replicas, 0
	for _, h := range r.Hours {
		if h.HighNeeded != nil {
			most = max(most, *h.HighNeeded)
		}
	}
	if most == 0 {
		return nil
	}
	// The peak of next week at the band's upper edge, by the low end of the capacity of this week's busiest hour.
	if h, next := r.busiest(), r.Forecast.PeakAhead; h != nil && next != nil && next.High != nil && h.LowReplicaRate != nil && *h.LowReplicaRate > 0 {
		most = max(most, r.enough(*next.High, *h.LowReplicaRate))
	}
	if most >= paid {
		return nil
	}
	gpus := (paid - most) * r.Deployment.GPUsPerReplica
	do := &Do{Verb: "scale", Rule: RuleSwitchOff, SavesUS: usd(float64(gpus)*Lasting(r.Hours), r.Price)}
	do.Text = fmt.Sprintf("Switch off %s (%s %s): %s %s enough for the busiest hour at the low end of the capacity.",
		show.Things(paid-most, "replica", "replicas"), show.Count(gpus), r.Deployment.GPU, show.Count(most), show.Verb(most, "is", "are"))
	if do.SavesUS != nil {
		do.Text += fmt.Sprintf(" It saves %s a week.", dollars(*do.SavesUS))
	}
	return do
}

// dollars are whole ones.
func dollars(usd float64) string { return "$" + show.Count(math.Round(usd)) }

// spare is a headroom in a sentence; from ten times the load on it is no per cent that a reader could picture.
func spare(headroom float64) string {
	if headroom >= 10 {
		return show.Figures(headroom) + " times its load"
	}
	return show.Percent(headroom)
}

// paidNow are the replicas at the week's end: what a decision is about, where the number changed in the week.
func (r *Report) paidNow() int {
	if len(r.Hours) == 0 {
		return 0
	}
	return r.Hours[len(r.Hours)-1].PaidReplicas
}

// changedAt is when the number of replicas changed last; zero: not in this week.
func (r *Report) changedAt() (at time.Time) {
	for i := 1; i < len(r.Hours); i++ {
		if r.Hours[i].PaidReplicas != r.Hours[i-1].PaidReplicas {
			at = r.Hours[i].Start
		}
	}
	return at
}

// hourName is an hour in a sentence: on Tue at 14:00.
func (r *Report) hourName(at time.Time) string { return at.In(r.zone()).Format("Mon 15:04") }

// hourNames are at most three hours, and how many more there are.
func (r *Report) hourNames(all []time.Time) string {
	var names []string
	for _, at := range all[:min(3, len(all))] {
		names = append(names, r.hourName(at))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, show.Things(more, "more hour", "more hours"))
	}
	if len(names) == 1 {
		return "on " + names[0]
	}
	return "on " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// lowerFirst writes a title inside a sentence, but for one that begins with an abbreviation.
func lowerFirst(title string) string {
	if len(title) < 2 || title[1] >= 'A' && title[1] <= 'Z' {
		return title
	}
	return strings.ToLower(title[:1]) + title[1:]
}

// busiest is the busiest hour of the week; nil if none is known.
func (r *Report) busiest() *Hour {
	if r.Sums.BusiestHourStart == nil {
		return nil
	}
	for i, h := range r.Hours {
		if h.Start.Equal(*r.Sums.BusiestHourStart) {
			return &r.Hours[i]
		}
	}
	return nil
}

// zone is the service's; UTC where its name is not known here.
func (r *Report) zone() *time.Location {
	if zone, err := time.LoadLocation(r.TimeZone); err == nil {
		return zone
	}
	return time.UTC
}

// isSameDeployment says that two rows differ in replicas alone.
func isSameDeployment(a, b Alternative) bool {
	_, x, _ := strings.Cut(a.Name, " × ")
	_, y, _ := strings.Cut(b.Name, " × ")
	return x == y
}
