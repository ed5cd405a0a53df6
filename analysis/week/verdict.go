package week

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/week/fleet"
	"tidemark/internal/stat"
)

// The verdict of a week: how many replicas the service should have, and whether that is more than are paid for.
//
// It stands until something changes it. Two rehearsals of one shape differ, and so do the busiest five minutes of two weeks of the same traffic; a
// verdict that follows them says "buy" on one Monday and "10 % to spare" on the next. So it is last week's, unless this week's load is above it by
// more than chance, or that of both weeks together is above it; or both are below it by more than chance.
//
// A measured capacity is judged at the low end of its interval. The interval of one that is only rehearsed is mostly how far the model may be off, which
// half an hour of load would tell: there the middle decides whether to buy, and where only the low end says so the verdict is to measure.

// Kinds of verdicts.
const (
	Buy     = "buy"     // more than are paid for
	Order   = "order"   // they will be too few before an order made now could serve
	Measure = "measure" // enough, or too few if the model is off: nobody knows before it is measured
	Hold    = "hold"    // what is paid for is enough
	Unknown = "unknown"
)

// Verdict is what the first line of a page says. Replicas are whole ones, at the end of the capacity that decides where nothing else is said.
type Verdict struct {
	Kind         string  `json:"kind"`
	Replicas     *int    `json:"advised_replicas"`               // nil: not known
	Cautious     *int    `json:"cautious_advised_replicas"`      // at the low end of the capacity; nil: no number is enough there
	LastKind     string  `json:"last_kind,omitempty"`            // of the page of last week; empty: none is kept
	LastReplicas *int    `json:"last_advised_replicas"`          // likewise
	LastCautious *int    `json:"last_cautious_advised_replicas"` // likewise
	Needed       *int    `json:"needed_replicas"`                // in this week's fullest hour
	NeededBefore *int    `json:"last_needed_replicas"`           // in last week's
	Chance       float64 `json:"chance_ratio"`                   // by which the load of this week's fullest hour may be off by chance, one side
	Since        []Since `json:"since"`
}

// Since is something that changed since last week, or did not, and what that alone does to the headroom plus one.
type Since struct {
	What   string   `json:"what"`    // traffic, lengths, fleet, model
	Ratio  *float64 `json:"ratio"`   // minus 1; of traffic the ratio of the loads; nil: not known
	IsTold bool     `json:"is_told"` // it is more than chance
	Text   string   `json:"text"`    // of the fleet from what to what; of the model what changed; empty: nothing
}

// Decisive is the one of two figures, at the middle and at the low end of the capacity, that decides.
func (r *Report) Decisive(middle, low *float64) *float64 {
	if r.isMeasured() {
		return low
	}
	return middle
}

func (r *Report) decisiveOf(middle, cautious *int) *int {
	if r.isMeasured() {
		return cautious
	}
	return middle
}

// DecisiveNeed are the replicas that an hour needs, at the end of the capacity that decides.
func (r *Report) DecisiveNeed(h *Hour) *int { return r.decisiveOf(h.NeededReplicas, h.HighNeeded) }

func (r *Report) isMeasured() bool { return r.Basis.Kind == fleet.Measured }

// Takes is what so many replicas take of the busiest hour together, where one of those that are paid for takes perS.
func (r *Report) Takes(replicas int, perS float64) float64 {
	return fleet.Takes(r.Basis.Fleets, replicas, perS)
}

// Holds is the rate that so many replicas hold in the busiest hour, at the end of the capacity that decides, requests per second; 0: not known.
func (r *Report) Holds(replicas int) float64 {
	perS := r.Decisive(r.Basis.RatePerS, r.Basis.LowRatePerS)
	if busy := r.busiest(); busy != nil && busy.ReplicaRatePerS != nil {
		perS = r.Decisive(busy.ReplicaRatePerS, busy.LowReplicaRate)
	}
	if perS == nil {
		return 0
	}
	return r.Takes(replicas, *perS)
}

// enough is the smallest number of replicas that take so many requests a second.
func (r *Report) enough(rate, perS float64) int {
	return fleet.Smallest(rate, perS, func(n int) float64 { return r.Takes(n, perS) })
}

// stands is how many replicas are advised where last week advised so many. It is raised to what this week needs though chance was against it (surely), or
// to what the two weeks together need; it is lowered to what either week would need if chance had helped it.
func stands(advised, surely, together, atMost, atMostBefore int) int {
	return min(max(advised, surely, together), max(atMost, atMostBefore))
}

// AsNeeded is the verdict of a week that nothing stands before: what its hours need.
func (r *Report) AsNeeded() Verdict {
	v := Verdict{}
	most := func(most **int, n *int) {
		if n != nil && (*most == nil || *n > **most) {
			*most = n
		}
	}
	for i := range r.Hours {
		most(&v.Replicas, r.DecisiveNeed(&r.Hours[i]))
		most(&v.Cautious, r.Hours[i].HighNeeded)
	}
	if r.MayBeOutOfReach() {
		v.Cautious = nil
	}
	if r.Basis.IsImpossible {
		v.Replicas, v.Cautious = nil, nil
	}
	v.Needed = v.Replicas
	v.Kind = r.judged(v)
	return v
}

// fillVerdict fills the verdict of the week.
func (m *maker) fillVerdict() {
	r := m.report
	r.Verdict = r.AsNeeded()
	v := &r.Verdict
	if m.answer.Before == nil || m.answer.Busiest < 0 || v.Replicas == nil { // nothing to compare, or no request came
		return
	}
	v.Since = m.since()
	if printed := m.printed; printed != nil {
		v.LastKind, v.LastReplicas, v.LastCautious = printed.Verdict.Kind, printed.Verdict.Replicas, printed.Verdict.Cautious
	}
	chance := m.answer.Chance(peakSD(r.Before))
	v.Chance = math.Expm1(chance)
	v.Replicas = m.advised(chance, r.decisiveOf, v.LastReplicas)
	v.Cautious = m.advised(chance, func(_, cautious *int) *int { return cautious }, v.LastCautious)
	v.NeededBefore = r.decisiveOf(m.answer.Before.NeededAt(1))
	v.Kind = r.judged(*v)
}

// takePrinted makes last week's headline figures those of its own page, where that rests on what this one rests on: two pages in one mail must not name two.
func (m *maker) takePrinted() {
	if !m.restsOnTheSame(m.printed) {
		return
	}
	r := m.report
	last, own := &r.Before[len(r.Before)-1], &m.printed.Sums
	last.BusiestHourStart, last.PeakRatePerS = own.BusiestHourStart, own.PeakRatePerS
	last.HeadroomRatio, last.LowHeadroom, last.HighHeadroom = own.HeadroomRatio, own.LowHeadroom, own.HighHeadroom
	last.GPUHoursNeeded = own.GPUHoursNeeded
	for i, c := range Changes(Side{Hours: r.Hours}, Side{Hours: m.printed.Hours}, r.Deployment.GPUsPerReplica) {
		if c.Figure == "peak_rate_per_s" || c.Figure == "gpu_hours_needed" {
			r.Changes[i] = c
		}
	}
}

// restsOnTheSame says that a page of last week named a busiest hour by what this week's page rests on.
func (m *maker) restsOnTheSame(printed *Report) bool {
	return printed != nil && printed.Sums.BusiestHourStart != nil && m.changedModel(printed) == ""
}

// judged is the kind of a verdict on what is paid for now.
func (r *Report) judged(v Verdict) string {
	paid := r.paidNow()
	switch {
	case v.Replicas == nil:
		return Unknown
	case *v.Replicas > paid:
		return Buy
	case r.OrdersBy() != "":
		return Order
	case v.Cautious == nil || *v.Cautious > paid:
		return Measure
	}
	return Hold
}

// OrdersBy is the week in which more replicas are needed than are paid for, where an order made now serves no sooner; empty: there is time.
func (r *Report) OrdersBy() string {
	for _, n := range r.Forecast.Needs {
		if n.Replicas > r.paidNow() && n.Week != "" && n.Week <= r.LeadUntil {
			return n.Week
		}
	}
	return ""
}

// advised is what stands of last week's advice: of its page, or of what it needed where no page is kept. Both weeks are by this week's SLO, deployment
// and estimates, so that a page that rested on others is held to these.
func (m *maker) advised(chance float64, pick func(middle, cautious *int) *int, printed *int) *int {
	this, last := m.answer, m.answer.Before
	of := func(a *fleet.Answer, load float64) *int { return pick(a.NeededAt(load)) }
	if last.Load() == 0 || this.Load() == 0 {
		return of(this, 1)
	}
	less, more := math.Exp(-chance), math.Exp(chance)
	needs := []*int{of(last, 1), of(this, less), of(this, math.Sqrt(last.Load()/this.Load())), of(this, more), of(last, more)}
	if slices.Contains(needs, nil) {
		return of(this, 1)
	}
	was := needs[0]
	if printed != nil {
		was = printed
	}
	return new(stands(*was, *needs[1], *needs[2], *needs[3], *needs[4]))
}

// peakSD is the standard deviation of the busiest five minutes from week to week, in ln, without their growth; 0: too few weeks are known.
func peakSD(before []Sums) float64 {
	var grown []float64
	last := 0.0
	for _, s := range before {
		if s.PeakRatePerS == nil || *s.PeakRatePerS <= 0 {
			continue
		}
		if last > 0 {
			grown = append(grown, math.Log(*s.PeakRatePerS/last))
		}
		last = *s.PeakRatePerS
	}
	const fewest = 4
	if len(grown) < fewest {
		return 0
	}
	middle := stat.Median(grown)
	for i := range grown {
		grown[i] = math.Abs(grown[i] - middle)
	}
	return 1.4826 * stat.Median(grown) / math.Sqrt2 // two weeks differ by the noise of both
}

// printedBefore is the page of last week as it is kept; nil: there is none.
func (m *maker) printedBefore(last *weekOf) (*Report, error) {
	var document string
	err := m.conn.QueryRowContext(m.ctx, "select document::varchar from raw.service_weeks where service = ? and week = ?", m.file.Service, last.week.String()).Scan(&document)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	printed := &Report{}
	if err == nil {
		err = json.Unmarshal([]byte(document), printed)
	}
	return printed, err
}

// changedModel says in what the page of last week rests on something else than this one's; empty: in nothing.
func (m *maker) changedModel(printed *Report) string {
	var changed []string
	for _, is := range []struct {
		changed bool
		what    string
	}{
		{printed.Deployment != m.report.Deployment, "the deployment"},
		{!slices.Equal(printed.SLO.Objectives, m.report.SLO.Objectives), "the SLO"},
		{printed.Basis.Kind != m.report.Basis.Kind || printed.Basis.Search != m.report.Basis.Search, "the capacity it rests on"},
		{printed.Basis.Constants != m.report.Basis.Constants && printed.Deployment == m.report.Deployment, "the model’s constants"},
	} {
		if is.changed {
			changed = append(changed, is.what)
		}
	}
	return strings.Join(changed, ", ")
}

// since says what changed against last week, and by how much each changes the headroom that the two pages say.
func (m *maker) since() (all []Since) {
	last, printed := m.lastWeek(), m.printed
	if last == nil || m.answer.Before == nil || m.answer.Before.Busiest < 0 {
		return nil
	}
	hour, before := m.report.Hours[m.answer.Busiest], last.hours[m.answer.Before.Busiest]
	i := slices.IndexFunc(m.report.Changes, func(c Change) bool { return c.Figure == "peak_rate_per_s" })
	peak := m.report.Changes[i]
	// A page that rehearses its own week must not call the same what last week's page has another number of. In a fleet of another size a replica takes another rate.
	if m.restsOnTheSame(printed) && printed.paidNow() == m.report.paidNow() {
		if i := slices.IndexFunc(printed.Hours, func(h Hour) bool { return h.Start.Equal(*printed.Sums.BusiestHourStart) }); i >= 0 {
			before = printed.Hours[i]
		}
	}
	lengths := Since{What: "lengths", Ratio: ratioOf(hour.ReplicaRatePerS, before.ReplicaRatePerS)}
	lengths.IsTold = lengths.Ratio != nil && math.Abs(math.Log1p(*lengths.Ratio)) > m.answer.ChanceOfChange()
	all = append(all, Since{What: "traffic", Ratio: peak.Ratio, IsTold: peak.IsTold}, lengths)
	paid, had := m.report.paidNow(), last.hours[len(last.hours)-1].PaidReplicas
	all = append(all, Since{What: "fleet", Ratio: ratioOf(new(float64(paid)), new(float64(had))), IsTold: paid != had, Text: fmt.Sprintf("%d to %d replicas", had, paid)})
	if printed == nil {
		return all
	}
	model := Since{What: "model", Text: m.changedModel(printed), Ratio: new(0.0)}
	model.IsTold = model.Text != ""
	if now, was := m.report.Before[len(m.report.Before)-1].HeadroomRatio, printed.Sums.HeadroomRatio; model.Text != "" && now != nil && was != nil {
		model.Ratio = ratioOf(new(1+*now), new(1+*was))
	}
	return append(all, model)
}

// ratioOf is this over that, minus 1; nil where it is not known.
func ratioOf(this, that *float64) *float64 {
	if this == nil || that == nil || *that <= 0 {
		return nil
	}
	return new(*this / *that - 1)
}
