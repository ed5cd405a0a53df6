package week

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/analysis/week/fleet"
	"tidemark/analysis/week/service"
	"tidemark/internal/deployment"
	"tidemark/internal/show"
)

// fillNeeds says what every hour of the week needs, and the same of the week before, by one capacity: the newest search that fits, else
// rehearsal.
func (m *maker) fillNeeds() error {
	if err := m.leaveOutObjectives(); err != nil {
		return err
	}
	server, err := fleet.ServerOf(m.ctx, m.db, m.file.Deployment, m.slo)
	if errors.Is(err, fleet.ErrNoLatency) {
		return m.file.Mistake("slo", err)
	}
	if err != nil {
		return m.file.Mistake("deployment", err)
	}
	this, last := &m.weeks[len(m.weeks)-1], m.lastWeek()
	server.Replicas, server.Routing = this.hours[len(this.hours)-1].PaidReplicas, m.file.Routing
	search, why, err := m.search(this.week.End())
	if err != nil {
		return err
	}
	if m.anchor, err = m.anchorWeek(); err != nil {
		return err
	}
	asked := fleet.Asked{Server: server, Search: search, WeekEnd: this.week.End(), Kept: m.keptShapes(), Told: m.tellRehearsed()}
	if asked.Hours, err = m.sampled(this); err != nil {
		return err
	}
	if last != nil {
		if asked.Before, err = m.sampled(last); err != nil {
			return err
		}
	}
	if m.anchor != nil {
		if asked.Anchor, err = m.sampled(m.anchor); err != nil {
			return err
		}
	}
	answer, err := fleet.Needs(m.ctx, asked)
	if err != nil {
		return fmt.Errorf("week %s: %w", this.week, err)
	}
	if err := m.fillNines(answer, asked); err != nil {
		return err
	}
	m.takeBasis(answer, why)
	m.report.Basis.Constants = server.Constants()
	m.report.Basis.AnchorWeek = this.week.String()
	if answer.IsAnchored {
		m.report.Basis.AnchorWeek = m.anchor.week.String()
		m.report.Basis.Sentence += " It was rehearsed with the requests of " + m.anchor.week.String() + ", which this week’s look like."
	}
	m.answer = answer
	m.takeNeeds(this.hours, answer)
	takeHeadroom(&m.report.Sums, answer, this.hours)
	if last != nil { // by this week's search and with its estimates, so that only the traffic of the two differs
		sums := &m.report.Before[len(m.report.Before)-1]
		m.takeNeeds(last.hours, answer.Before)
		takeHeadroom(sums, answer.Before, last.hours)
		m.withinBefore = m.fillAccepted(sums, last.hours, nil, m.report.Basis)
		PaySums(sums, last.hours, m.report.Deployment.GPUsPerReplica, m.report.Price)
	}
	return nil
}

// anchorWeek is the week whose requests the newest page before this one was rehearsed with; nil: there is no such page, or the week's data are gone.
func (m *maker) anchorWeek() (*weekOf, error) {
	var name sql.NullString
	err := m.conn.QueryRowContext(m.ctx, "select document->>'$.basis.anchor_week' from raw.service_weeks where service = ? and week < ? order by week desc limit 1",
		m.file.Service, m.report.Week).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !name.Valid {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := weekOf{}
	if w.week, err = service.ParseWeek(name.String, m.file.Zone); err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(m.weeks, func(w weekOf) bool { return w.week.String() == name.String }); at >= 0 {
		w = m.weeks[at]
	} else {
		var hasData bool
		if w.demand, hasData, err = m.demandOf(w.week); err != nil || !hasData {
			return nil, err
		}
		w.hours = hoursOf(m.file, w.week, w.demand, m.parts)
	}
	if w.samples == nil {
		w.samples, err = m.samplesOf(w.week, w.demand)
	}
	return &w, err
}

// tellRehearsed says how many shapes of hours are rehearsed, and how long the rest will take.
func (m *maker) tellRehearsed() func(done, of int) {
	began := time.Now()
	return func(done, of int) {
		left := time.Since(began) * time.Duration(of-done) / time.Duration(done)
		m.tell(fmt.Sprintf("rehearsing what each hour needs: %d of %s, %s left", done, show.Things(of, "kind of hour", "kinds of hours"), show.Duration(left.Seconds())))
	}
}

// takeNeeds writes the needs into the hours of a week.
func (m *maker) takeNeeds(hours []Hour, answer *fleet.Answer) {
	for i, n := range answer.Hours {
		h := &hours[i]
		if n.PerS != nil && h.PaidReplicas > 0 {
			h.PaidRatio = new(m.report.Takes(h.PaidReplicas, 1) / float64(h.PaidReplicas))
		}
		h.NeededReplicas, h.LowNeeded, h.HighNeeded = n.Needed, n.Fewest, n.Most
		h.ReplicaRatePerS, h.LowReplicaRate, h.HighReplicaRate, h.Correction = n.PerS, n.LowPerS, n.HighPerS, n.Correction
	}
}

// search is the one that the service file names, or the best that fits; nil: the capacity is rehearsed.
func (m *maker) search(weekEnd time.Time) (found *fleet.Search, why string, err error) {
	if m.file.Capacity == "rehearsed" {
		return nil, "the service file asks for a rehearsal", nil
	}
	return fleet.Choose(m.ctx, m.db, m.file.Deployment, m.slo, weekEnd)
}

// fillNines fills what one more nine of requests within the SLO costs.
func (m *maker) fillNines(answer *fleet.Answer, asked fleet.Asked) error {
	nines, err := answer.Nines(m.ctx, asked, 0.99, 0.999)
	if err != nil {
		return err
	}
	r := m.report
	for i, n := range nines {
		nine := Nine{Share: n.Share, Replicas: n.Replicas}
		if n.Replicas != nil {
			nine.USD = usd(float64(*n.Replicas*r.Deployment.GPUsPerReplica)*Lasting(r.Hours), r.Price)
		}
		if i > 0 && nine.USD != nil && r.Nines[i-1].USD != nil {
			nine.More = new(rounded(*nine.USD-*r.Nines[i-1].USD, 2))
		}
		r.Nines = append(r.Nines, nine)
	}
	return nil
}

// sampled are the hours of a week with a sample of their requests.
func (m *maker) sampled(w *weekOf) ([]fleet.Hour, error) {
	hours := make([]fleet.Hour, len(w.hours))
	for i, h := range w.hours {
		hours[i] = fleet.Hour{Start: h.Start, IsMissing: h.IsMissing, Paid: h.PaidReplicas}
		if !h.IsMissing {
			hours[i].Requests, hours[i].PeakPerS = *h.Requests, *h.PeakRatePerS
		}
	}
	kept, err := unpacked(w.samples)
	if err != nil {
		return nil, fmt.Errorf("samples of week %s: %w", w.week, err)
	}
	for _, s := range kept {
		if s.Place < len(hours) && !hours[s.Place].IsMissing {
			hours[s.Place].Shape = s.Shape
		}
	}
	draw := newDrawer(w.demand)
	for place := range hours {
		if h := &hours[place]; !h.IsMissing && len(h.Shape.Requests) == 0 {
			h.Shape = draw.shape(place, h.Start)
		}
	}
	return hours, nil
}

// keptShapes are the rehearsals that a warehouse keeps.
type keptShapes struct {
	m         *maker
	sourceIDs []int64
}

func (m *maker) keptShapes() keptShapes {
	_, ids := demandKey(m.weeks[len(m.weeks)-1].week, m.parts)
	if m.anchor != nil {
		_, of := demandKey(m.anchor.week, m.parts)
		ids = append(slices.Clone(ids), of...)
		slices.Sort(ids)
	}
	return keptShapes{m, slices.Compact(ids)}
}

func (k keptShapes) Get(key string) (c fleet.Capacity, isKept bool) {
	k.m.keeping.Lock()
	defer k.m.keeping.Unlock()
	for _, fresh := range k.m.kept.capacities {
		if fresh.key == key {
			return c, json.Unmarshal(fresh.document, &c) == nil
		}
	}
	var document string
	err := k.m.conn.QueryRowContext(k.m.ctx, "select document::varchar from raw.shape_capacities where capacity_key = ?", key).Scan(&document)
	return c, err == nil && json.Unmarshal([]byte(document), &c) == nil
}

func (k keptShapes) Put(key string, c fleet.Capacity) error {
	document, err := json.Marshal(c)
	k.m.keeping.Lock()
	defer k.m.keeping.Unlock()
	k.m.kept.capacities = append(k.m.kept.capacities, keptCapacity{key, k.sourceIDs, document})
	return err
}

func (m *maker) takeBasis(a *fleet.Answer, why string) {
	m.report.Basis = basisOf(a)
	if a.Basis.Search == "" && why != "" {
		m.report.Notes = append(m.report.Notes, capitalised(why)+".")
	}
}

func basisOf(a *fleet.Answer) Basis {
	b := a.Basis
	basis := Basis{
		Kind: b.Kind, Search: b.Search, SourceName: b.SourceName, EndedAt: b.EndedAt, AgeDays: b.AgeDays, RatePerS: b.PerS, LowRatePerS: b.LowPerS,
		HighRatePerS: b.HighPerS, IsImpossible: b.IsImpossible, Alone: b.Alone, Binding: b.Binding, ShapeDistance: b.ShapeDistance, IsOtherShape: b.IsOtherShape, Correction: b.Correction,
		Model: b.Band, Rehearsals: a.Rehearsals, Fleets: a.Fleets, AllowedRatio: b.Allowed, WindowRatePerS: b.WindowPerS, Sentence: b.Sentence,
	}
	for _, s := range b.Curve {
		basis.Curve = append(basis.Curve, Share{RatePerS: s.PerS, Missed: s.Missed, Low: s.Low, High: s.High})
	}
	for _, p := range b.Points {
		basis.Points = append(basis.Points, Point{Share{p.PerS, p.Missed, p.Low, p.High}, p.IsValid, p.Run})
	}
	return basis
}

func takeHeadroom(s *Sums, a *fleet.Answer, hours []Hour) {
	s.HeadroomRatio, s.LowHeadroom, s.HighHeadroom = a.Headroom, a.Low, a.High
	if a.Busiest >= 0 {
		at, peak := hours[a.Busiest].Start, *hours[a.Busiest].PeakRatePerS
		s.BusiestHourStart, s.PeakRatePerS = &at, &peak
	}
}

// fleetOf rehearses the busiest hour's shape on a fleet of another deployment.
func (m *maker) fleetOf(ctx context.Context) FleetOf {
	return func(d deployment.Deployment, band, peakPerS float64) (replicas *int, headroom float64, err error) {
		server, err := fleet.ServerWithin(ctx, m.db, d, m.slo, band)
		if err != nil {
			return nil, 0, err
		}
		server.Replicas, server.Routing, server.IsLow = m.report.paidNow(), m.file.Routing, true
		need, err := server.NeedOf(ctx, m.answer.Shape, peakPerS, m.keptShapes())
		if err != nil || need.Most == nil {
			return nil, 0, err
		}
		return need.Most, need.Takes(*need.Most, *need.LowPerS)/peakPerS - 1, nil
	}
}
