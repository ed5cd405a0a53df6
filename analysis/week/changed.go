package week

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/changepoint"
	"tidemark/analysis/week/fleet"
	"tidemark/analysis/week/service"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
)

// Did the system change or the workload, and on which day? A figure of each hour is looked at for a change (package changepoint):
//
//	system    time per token over what the law expects at that hour's batch, context and prompts. How the law is off over the batch is taken from the hours
//	          of single days, in which no server changes, and taken out: a batch that grows must not look like a slower server. The law knows the rhythm of
//	          the week, so that its days need not be compared with the same day of other weeks.
//	workload  requests a second, tokens of a prompt and of an answer, share of the prompts' tokens that no prefix cache had
//
// A change is shown where its p-value and its size pass the bounds below. They were chosen on seeds that internal/proof/drift does not use.
const (
	changeLevel    = 0.001 // by chance, of each figure: there are five
	leastOfSystem  = 0.04  // leaves room for how the law is off over lengths, which is not taken out
	leastOfTraffic = 0.04
	leastOfHour    = 20 // requests of an hour that counts
)

// Changed is what changed in some weeks.
type Changed struct {
	Verdict     string // system, workload, both, none; unknown: nothing changed, and of the system nothing is known
	Sentence    string
	Figures     []ChangedFigure
	Rehearsed   []RehearsedFigure // nothing where nothing changed
	RehearsedOf string            // which hours
}

// ChangedFigure is one figure.
type ChangedFigure struct {
	Name     string
	IsSystem bool
	IsKnown  bool // else there is too little data
	IsShown  bool
	changepoint.Change
}

// RehearsedFigure is what the busiest hour of now and the same hour of then come to, by then's constants of the server and by now's.
type RehearsedFigure struct {
	Name      string
	Then, Now float64
	Traffic   float64 // Now / Then = (1 + Traffic) * (1 + System)
	System    float64
}

// changeable are the figures of a service, the system's first.
var changeable = []struct{ name, words string }{
	{"tpot_over_expected", "TPOT at the same batch"}, {"requests_per_s", "requests"}, {"mean_input_tokens", "tokens of a prompt"}, {"mean_output_tokens", "tokens of an answer"},
	{"computed_input_ratio", "uncached prompt tokens"},
}

// Figure in words.
func (f *ChangedFigure) Words() string {
	return changeable[slices.IndexFunc(changeable, func(o struct{ name, words string }) bool { return o.name == f.Name })].words
}

// ChangedIn judges hours of several weeks. Steps and servers may be empty: then nothing is known of the system.
func ChangedIn(hours []Hour, steps []StepTime, servers []ServerHour, zone *time.Location) *Changed {
	values := map[string][]changepoint.Hour{"tpot_over_expected": atTheSameBatch(steps, zone)}
	add := func(name string, at time.Time, ratio float64) {
		if ratio > 0 {
			values[name] = append(values[name], changepoint.Hour{At: at.In(zone), Value: math.Log(ratio)})
		}
	}
	c := &Changed{}
	for i := range hours {
		h := &hours[i]
		if h.IsMissing || h.Requests == nil || *h.Requests < leastOfHour {
			continue
		}
		n := float64(*h.Requests)
		add("requests_per_s", h.Start, n/h.length().Seconds())
		add("mean_input_tokens", h.Start, float64(maybe.Or(h.InputTokens, 0))/n)
		add("mean_output_tokens", h.Start, float64(maybe.Or(h.OutputTokens, 0))/n)
	}
	for _, s := range servers {
		if share, isKnown := s.ratio("cached_tokens", "prompt_tokens"); isKnown {
			add("computed_input_ratio", s.Start, 1-share)
		}
	}
	for i, of := range changeable {
		f := ChangedFigure{Name: of.name, IsSystem: i == 0}
		f.Change, f.IsKnown = changepoint.Find(values[of.name], changeLevel, !f.IsSystem)
		least := leastOfTraffic
		if f.IsSystem {
			least = leastOfSystem
		}
		f.IsShown = f.IsKnown && f.P <= changeLevel && math.Abs(f.Size) >= math.Log1p(least)
		f.Visible = max(f.Visible, math.Log1p(least))
		c.Figures = append(c.Figures, f)
	}
	c.conclude()
	return c
}

// atTheSameBatch is ln of measured over expected time per token, without what of it goes with the batch within days.
func atTheSameBatch(steps []StepTime, zone *time.Location) (values []changepoint.Hour) {
	days := map[string][]int{}
	for i, s := range steps {
		day := s.Start.In(zone).Format(time.DateOnly)
		days[day] = append(days[day], i)
	}
	off := func(i int) float64 { return math.Log(steps[i].ratio()) }
	batch := func(i int) float64 { return math.Log(max(1, steps[i].Running)) }
	var both, squares, usual float64
	for _, of := range days {
		var meanOff, meanBatch float64
		for _, i := range of {
			meanOff, meanBatch = meanOff+off(i)/float64(len(of)), meanBatch+batch(i)/float64(len(of))
		}
		for _, i := range of {
			both += (off(i) - meanOff) * (batch(i) - meanBatch)
			squares += (batch(i) - meanBatch) * (batch(i) - meanBatch)
			usual += batch(i) / float64(len(steps))
		}
	}
	slope := both / max(squares, 1e-9)
	for i, s := range steps {
		values = append(values, changepoint.Hour{At: s.Start.In(zone), Value: off(i) - slope*(batch(i)-usual)})
	}
	return values
}

// isKnown says that of some figure enough is known to look for a change.
func (c *Changed) isKnown() bool {
	return slices.ContainsFunc(c.Figures, func(f ChangedFigure) bool { return f.IsKnown })
}

// shown are the figures of the system or of the workload that changed, the surest first.
func (c *Changed) shown(ofSystem bool) (all []*ChangedFigure) {
	for i := range c.Figures {
		if f := &c.Figures[i]; f.IsShown && f.IsSystem == ofSystem {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *ChangedFigure) int {
		return cmp.Compare(a.P-math.Abs(a.Size)/(a.High-a.Low), b.P-math.Abs(b.Size)/(b.High-b.Low))
	})
	return all
}

// First is the surest figure that changed, the system's before the workload's; nil: none did.
func (c *Changed) First() *ChangedFigure {
	if all := append(c.shown(true), c.shown(false)...); len(all) > 0 {
		return all[0]
	}
	return nil
}

// conclude says which of the two changed. The first sentence has the date.
func (c *Changed) conclude() {
	system, workload := c.shown(true), c.shown(false)
	isKnown := c.Figures[0].IsKnown
	switch {
	case len(system) > 0 && len(workload) > 0:
		c.Verdict = "both"
		c.Sentence = "The system " + changedOn(system) + ". The workload " + changedOn(workload) + "."
	case len(system) > 0:
		c.Verdict = "system"
		c.Sentence = "The system " + changedOn(system) + "; the workload did not: " + c.visible(false) + "."
	case len(workload) > 0 && isKnown:
		c.Verdict = "workload"
		c.Sentence = "The workload " + changedOn(workload) + "; the system did not: " + c.visible(true) + "."
	case len(workload) > 0:
		c.Verdict = "workload"
		c.Sentence = "The workload " + changedOn(workload) + ". Whether the system did is not known: there are no two weeks of its time per token."
	case isKnown:
		c.Verdict = "none"
		c.Sentence = "No change shown, of the system or of the workload: " + c.visible(true) + ", " + c.visible(false) + "."
	default:
		c.Verdict = "unknown"
		c.Sentence = "No change of the workload shown; whether the system changed is not known: there are no two weeks of its time per token."
	}
}

// changedOn is "changed on 2026-10-14 (between 2026-10-13 and 2026-10-15): TPOT at the same batch +12 % (10 % to 14 %)".
func changedOn(figures []*ChangedFigure) string {
	first, text := figures[0], ""
	switch {
	case first.IsGradual:
		text = "changed bit by bit, from " + first.From.Format(time.DateOnly) + " to " + first.Until.Format(time.DateOnly)
	case first.From.Equal(first.Until):
		text = "changed on " + first.Day.Format(time.DateOnly)
	default:
		text = "changed on " + first.Day.Format(time.DateOnly) + " (between " + first.From.Format(time.DateOnly) + " and " + first.Until.Format(time.DateOnly) + ")"
	}
	var said []string
	for _, f := range figures {
		one := fmt.Sprintf("%s %s (%s to %s)", f.Words(), plus(f.Size), plus(f.Low), plus(f.High))
		if !f.IsGradual && !f.Day.Equal(first.Day) {
			one += " on " + f.Day.Format(time.DateOnly)
		}
		said = append(said, one)
	}
	return text + ": " + strings.Join(said, ", ")
}

// plus is a change of ln in percent, with its sign.
func plus(ln float64) string {
	if text := signed(math.Expm1(ln)); math.Expm1(ln) < 0 {
		return text
	}
	return "+" + signed(math.Expm1(ln))
}

// visible says which changes would have shown: that of the noisiest figure.
func (c *Changed) visible(ofSystem bool) string {
	var most *ChangedFigure
	known := 0
	for i := range c.Figures {
		if f := &c.Figures[i]; f.IsKnown && f.IsSystem == ofSystem {
			known++
			if most == nil || f.Visible > most.Visible {
				most = f
			}
		}
	}
	switch {
	case most == nil:
		return "of it nothing is known"
	case known == 1 || math.Expm1(most.Visible) > leastOfTraffic+1e-9:
		return fmt.Sprintf("a change of %s by %s would have shown", most.Words(), show.Percent(math.Expm1(most.Visible)))
	}
	return fmt.Sprintf("a change of the workload by %s would have shown", show.Percent(leastOfTraffic))
}

// Rows are what a program reads: one for each figure, and one for each that was rehearsed.
func (c *Changed) Rows() (rows [][]any) {
	known := func(is bool, v any) any {
		if !is {
			return nil
		}
		return v
	}
	day := func(at time.Time) string { return at.Format(time.DateOnly) }
	ratio := func(is bool, ln float64) any { return known(is, math.Expm1(ln)) }
	for _, f := range c.Figures {
		is := f.IsKnown
		rows = append(rows, []any{f.Name, f.of(), known(is, f.IsShown), known(is && f.IsShown && !f.IsGradual, day(f.Day)), known(f.IsShown, day(f.From)), known(f.IsShown, day(f.Until)),
			known(f.IsShown, f.IsGradual), ratio(is, f.Size), ratio(f.IsShown, f.Low), ratio(f.IsShown, f.High), known(is, f.P), ratio(is, f.Visible), nil, nil, nil, nil})
	}
	for _, f := range c.Rehearsed {
		rows = append(rows, []any{f.Name, "rehearsed", nil, nil, nil, nil, nil, finite(f.Now/f.Then - 1), nil, nil, nil, nil, finite(f.Then), finite(f.Now), finite(f.Traffic), finite(f.System)})
	}
	return rows
}

// Shown are the rows for people: of the figures, and of what was rehearsed.
func (c *Changed) Shown() (figures, rehearsed [][]any) {
	percent := func(ratio float64) any {
		if finite(ratio) == nil {
			return nil
		}
		return fmt.Sprintf("%+.1f", 100*ratio)
	}
	for _, f := range c.Figures {
		on := "no change shown"
		low, high := percent(math.Expm1(f.Low)), percent(math.Expm1(f.High))
		switch {
		case !f.IsKnown:
			figures = append(figures, []any{f.Words(), "not known", nil, nil, nil, nil})
			continue
		case f.IsShown && f.IsGradual:
			on = "bit by bit"
		case f.IsShown:
			on = f.Day.Format(time.DateOnly)
		default: // of many days one looks best by chance: its interval would leave out 0
			low, high = nil, nil
		}
		figures = append(figures, []any{f.Words(), on, percent(math.Expm1(f.Size)), low, high, strings.TrimPrefix(fmt.Sprint(percent(math.Expm1(f.Visible))), "+")})
	}
	for _, f := range c.Rehearsed {
		words, value := strings.TrimSuffix(show.Words(f.Name), " s"), show.Duration
		if f.Name == "replica_rate_per_s" {
			words, value = "a replica takes", func(x float64) string { return show.Figures(x) + "/s" }
		}
		rehearsed = append(rehearsed, []any{words, value(f.Then), value(f.Now), percent(f.Traffic), percent(f.System)})
	}
	return figures, rehearsed
}

func (f *ChangedFigure) of() string {
	if f.IsSystem {
		return "system"
	}
	return "workload"
}

// finite is nil for what a rehearsal could not say.
func finite(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

// DriftWeeks are looked at unless more or fewer are asked for.
const DriftWeeks = 4

// DriftOptions choose the weeks.
type DriftOptions struct {
	Week  string // the last one; empty: the last that the data cover to its end
	Weeks int    // so many, with that one
	Told  func(doing string)
}

// DriftSince answers for a service what changed in its last weeks. It writes nothing.
func DriftSince(ctx context.Context, db *sql.DB, f service.File, o DriftOptions) (*Changed, error) {
	slo, err := analysis.ReadSLO(f.SLO)
	if err != nil {
		return nil, fmt.Errorf("service file %s: %w", f.Path, err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	f.GrowthWeeks = o.Weeks - 1
	m := &maker{ctx: ctx, db: db, conn: conn, file: f, slo: slo, kept: &Kept{}, told: o.Told, report: &Report{Service: f.Service, TimeZone: f.TimeZone}}
	for _, do := range []func() error{m.readParts, func() error { return m.chooseWeek(o.Week) }, m.describe, m.addUpWeeks} {
		if err := do(); err != nil {
			return nil, err
		}
	}
	m.weeks = slices.DeleteFunc(m.weeks, func(w weekOf) bool {
		return w.week.Start().Before(m.weeks[len(m.weeks)-1].week.Add(1 - o.Weeks).Start())
	})
	ids, err := m.metricsIDs()
	if err != nil {
		return nil, err
	}
	var hours []Hour
	for _, w := range m.weeks {
		hours = append(hours, w.hours...)
	}
	m.tell("comparing the time per token with the law")
	servers, err := ServerHours(ctx, db, ids, hours)
	if err != nil {
		return nil, err
	}
	steps, err := StepsOf(ctx, db, servers, m.report, f.Deployment)
	if err != nil {
		return nil, err
	}
	c := ChangedIn(hours, steps, servers, f.Zone)
	if !c.isKnown() {
		return nil, m.hintOfData(hint.Errorf("service %s has no two weeks with days of %d hours of %d requests each: days of one week have no others to be compared with", f.Service, changepoint.LeastHours, leastOfHour))
	}
	return c, m.rehearseChange(c, steps)
}

// rehearseChange plays the busiest hour since the change, and the same hour of the week before it, on servers as fast as then and as fast as now. Each
// part of a change is the mean of the two orders in which the traffic and the server can be exchanged.
func (m *maker) rehearseChange(c *Changed, steps []StepTime) error {
	first := c.First()
	if first == nil {
		return nil
	}
	if err := m.leaveOutObjectives(); err != nil {
		return err
	}
	server, err := fleet.ServerOf(m.ctx, m.db, m.file.Deployment, m.slo)
	if errors.Is(err, fleet.ErrNoLatency) {
		return nil
	}
	if err != nil {
		return m.file.Mistake("deployment", err)
	}
	server.Routing = m.file.Routing
	day := first.Day
	then, now, err := m.hoursAround(day)
	if err != nil || then == nil {
		return err
	}
	if fleet.Alike(&then.Shape, &now.Shape) { // what a replica takes must not differ by which requests the hours happened to bring
		now.Shape = then.Shape
	}
	m.tell("rehearsing then's traffic and now's, on then's constants and on now's")
	level, n := 0.0, 0.0
	for _, s := range steps {
		if s.Start.Before(day) {
			level, n = level+math.Log(s.ratio()), n+1
		}
	}
	level /= max(n, 1)
	change := 0.0
	if system := c.shown(true); len(system) > 0 {
		change = system[0].Size
	}
	var played [2][2]fleet.Played // by traffic and constants, then and now
	for i, hour := range []*fleet.Hour{then, now} {
		for j, ln := range []float64{level, level + change} {
			if j == 1 && change == 0 {
				played[i][1] = played[i][0]
				continue
			}
			server.Replicas = hour.Paid
			if played[i][j], err = server.Play(m.ctx, hour.Shape, hour.PeakPerS, ln); err != nil {
				return err
			}
		}
	}
	c.RehearsedOf = fmt.Sprintf("%s and %s", then.Start.In(m.file.Zone).Format("2006-01-02 15:04"), now.Start.In(m.file.Zone).Format("2006-01-02 15:04"))
	for _, f := range []struct {
		name string
		of   func(p fleet.Played) float64
	}{
		{"p99_ttft_s", func(p fleet.Played) float64 { return p.TTFT }},
		{"p99_tpot_s", func(p fleet.Played) float64 { return p.TPOT }},
		{"replica_rate_per_s", func(p fleet.Played) float64 { return p.PerS }},
	} {
		var v [2][2]float64
		for i := range v {
			for j := range v[i] {
				v[i][j] = f.of(played[i][j])
			}
		}
		c.Rehearsed = append(c.Rehearsed, RehearsedFigure{
			Name: f.name, Then: v[0][0], Now: v[1][1],
			Traffic: math.Sqrt(v[1][0]/v[0][0]*v[1][1]/v[0][1]) - 1, System: math.Sqrt(v[0][1]/v[0][0]*v[1][1]/v[1][0]) - 1,
		})
	}
	return nil
}

// hoursAround are the busiest hour from a day on and the same hour of the week in the last week before; nil where there is no such pair.
func (m *maker) hoursAround(day time.Time) (then, now *fleet.Hour, err error) {
	type place struct {
		hour *Hour
		week *weekOf
	}
	var after []place
	before := map[int]place{}
	for i := range m.weeks {
		w := &m.weeks[i]
		for j := range w.hours {
			h := &w.hours[j]
			switch {
			case h.IsMissing || maybe.Or(h.Requests, 0) < leastOfHour:
			case h.Start.Before(day):
				before[hourOfWeek(h.Start, m.file.Zone)] = place{h, w}
			default:
				after = append(after, place{h, w})
			}
		}
	}
	slices.SortStableFunc(after, func(a, b place) int { return cmp.Compare(*b.hour.PeakRatePerS, *a.hour.PeakRatePerS) })
	shaped := func(p place) (*fleet.Hour, error) {
		if p.week.samples == nil {
			if p.week.samples, err = m.samplesOf(p.week.week, p.week.demand); err != nil {
				return nil, err
			}
		}
		all, err := m.sampled(p.week)
		if err != nil {
			return nil, err
		}
		return &all[slices.IndexFunc(all, func(h fleet.Hour) bool { return h.Start.Equal(p.hour.Start) })], nil
	}
	for _, p := range after {
		if b, isThere := before[hourOfWeek(p.hour.Start, m.file.Zone)]; isThere {
			if now, err = shaped(p); err != nil {
				return nil, nil, err
			}
			then, err = shaped(b)
			return then, now, err
		}
	}
	return nil, nil, nil
}
