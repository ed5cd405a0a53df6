package week

import (
	"slices"
	"time"

	"tidemark/analysis/week/forecast"
	"tidemark/analysis/week/service"
	"tidemark/internal/store/warehouse"
)

// fillForecast forecasts the weekly peak from the weeks that the service file allows, and says when the next replica is needed, by the
// end of the busiest hour's capacity that decides.
func (m *maker) fillForecast() error {
	var weeks []forecast.Week
	for _, w := range m.weeks[max(0, len(m.weeks)-m.file.GrowthWeeks):] {
		one := forecast.Week{Monday: w.week.Start().Format(time.DateOnly)}
		for _, h := range w.hours {
			if !h.IsMissing {
				one.Hours = append(one.Hours, forecast.Hour{
					OfWeek: 24*h.Day + h.HourOfDay, PeakRatePerS: *h.PeakRatePerS, Requests: float64(*h.Requests),
				})
			}
		}
		weeks = append(weeks, one)
	}
	asked := forecast.Asked{Zone: m.file.Zone, Paid: m.weeks[len(m.weeks)-1].hours[len(m.report.Hours)-1].PaidReplicas}
	if busy := m.report.busiest(); busy != nil {
		if perS := m.report.Decisive(busy.ReplicaRatePerS, busy.LowReplicaRate); perS != nil && *perS > 0 {
			asked.Replicas = func(rate float64) int { return m.report.enough(rate, *perS) }
		}
	}
	f, err := forecast.Of(weeks, asked)
	if err != nil {
		return err
	}
	into := &m.report.Forecast
	*into = Forecast{Why: f.Why, Method: f.Method, Weeks: f.Weeks, Error: f.Error, NaiveError: f.NaiveError,
		Needs: f.Needs, NextReplicaWeek: f.NextReplica, EarliestReplica: f.EarliestReplica, HoldsUntilWeeks: f.HoldsWeeks, Month: f.Month}
	for _, p := range f.History {
		into.History = append(into.History, ForecastWeek{Week: p.Week, Monday: p.Monday, Peak: p.Value})
	}
	if f.Why != "" {
		return nil
	}
	into.Ahead, into.Naive = bands(f.Ahead), bands(f.Naive)
	into.GrowthRatio, into.LowGrowth, into.HighGrowth = &f.Growth, &f.LowGrowth, &f.HighGrowth
	into.RequestsAhead, into.PeakAhead, into.NaivePeakAhead = first(bands(f.Requests)), first(into.Ahead), first(into.Naive)
	return nil
}

func bands(all []forecast.Band) (weeks []ForecastWeek) {
	for _, b := range all {
		weeks = append(weeks, ForecastWeek{Week: b.Week, Monday: b.Monday, Peak: b.Value, Low: &b.Low, High: &b.High})
	}
	return weeks
}

func first(weeks []ForecastWeek) *ForecastWeek {
	if len(weeks) == 0 {
		return nil
	}
	return &weeks[0]
}

// startUpMinutes is how long a replica takes until it serves: loading a model of 70 GB and capturing its graphs.
const startUpMinutes = 10

// fillMoney fills what was paid and needed, and the ways to scale.
func (m *maker) fillMoney() {
	r := m.report
	PaySums(&r.Sums, r.Hours, r.Deployment.GPUsPerReplica, r.Price)
	r.Scaling = Scalings(r.Hours, r.Deployment.GPUsPerReplica, startUpMinutes, r.Price)
}

// metricsIDs are the sources that collect wrote for the service.
func (m *maker) metricsIDs() (ids []int64, err error) {
	return warehouse.Values[int64](m.ctx, m.conn, `select source_id from staging.sources where format = 'prometheus-collected' and source_name = ? order by source_id`,
		m.file.Service+".prometheus")
}

// fillProduction fills what users felt, the time per token, and the symptoms that fired.
func (m *maker) fillProduction() error {
	r := m.report
	ids, err := m.metricsIDs()
	if err != nil || len(ids) == 0 {
		m.within = m.fillAccepted(&r.Sums, r.Hours, nil, r.Basis)
		return err
	}
	if r.Felt, err = FeltIn(m.ctx, m.db, ids, r.Hours, r.SLO); err != nil {
		return err
	}
	m.within = m.fillAccepted(&r.Sums, r.Hours, r.Felt, r.Basis)
	broken := map[time.Time]bool{}
	for _, f := range r.Felt {
		if f.IsBroken {
			broken[f.Start] = true
		}
	}
	r.Sums.BrokenHours = len(broken)
	if len(r.Felt) > 0 {
		r.Sums.IsMet = new(len(broken) == 0)
	}
	servers, err := ServerHours(m.ctx, m.db, ids, r.Hours)
	if err != nil {
		return err
	}
	if r.Steps, err = StepsOf(m.ctx, m.db, servers, r, m.file.Deployment); err != nil {
		return err
	}
	r.Sums.TPOTRatio, r.Sums.LowTPOTRatio, r.Sums.HighTPOTRatio, r.Sums.BandRatio = StepSums(r.Steps, m.file.Zone)
	if r.Symptoms, r.Looked, err = Symptoms(m.ctx, m.db, servers, r, m.file.Deployment); err != nil {
		return err
	}
	return m.fillProductionBefore(ids, servers)
}

// fillProductionBefore fills the same of the weeks before: the tiles of last week, and the drift. It asks for all of them at once.
func (m *maker) fillProductionBefore(ids []int64, servers []ServerHour) error {
	r := m.report
	scratch := *r
	scratch.Notes, scratch.Hours = nil, nil
	first := max(0, len(m.weeks)-1-usualWeeks)
	weeks := m.weeks[first : len(m.weeks)-1]
	for _, w := range weeks {
		scratch.Hours = append(scratch.Hours, w.hours...)
	}
	allServed, err := ServerHours(m.ctx, m.db, ids, scratch.Hours)
	if err != nil {
		return err
	}
	allSteps, err := StepsOf(m.ctx, m.db, allServed, &scratch, m.file.Deployment)
	if err != nil {
		return err
	}
	var earlier [][]StepTime
	hours, all := slices.Clone(r.Hours), slices.Clone(r.Steps) // of the weeks that "drift" looks at
	for i, w := range weeks {
		served := inWeek(allServed, w.week, func(h ServerHour) time.Time { return h.Start })
		steps := inWeek(allSteps, w.week, func(s StepTime) time.Time { return s.Start })
		if !w.week.Start().Before(m.weeks[len(m.weeks)-1].week.Add(1 - DriftWeeks).Start()) {
			hours, all, servers = append(hours, w.hours...), append(all, steps...), append(servers, served...)
		}
		earlier = append(earlier, steps)
		sums := &r.Before[first+i]
		sums.TPOTRatio, sums.LowTPOTRatio, sums.HighTPOTRatio, sums.BandRatio = StepSums(steps, m.file.Zone)
		if w.week != m.weeks[len(m.weeks)-1].week.Add(-1) {
			continue
		}
		m.stepsBefore = steps
		felt, err := FeltIn(m.ctx, m.db, ids, w.hours, r.SLO)
		if err != nil {
			return err
		}
		if len(felt) > 0 {
			m.withinBefore = m.fillAccepted(sums, w.hours, felt, Basis{})
			PaySums(sums, w.hours, r.Deployment.GPUsPerReplica, r.Price)
		}
	}
	r.Drift = DriftOf(r.Steps, earlier, m.file.Zone)
	if c := ChangedIn(hours, all, servers, m.file.Zone); c.isKnown() {
		r.Changed = &WhatChanged{c.Verdict, c.Sentence}
	}
	return nil
}

// inWeek are those that begin in a week.
func inWeek[T any](all []T, week service.Week, start func(T) time.Time) (within []T) {
	for _, one := range all {
		if at := start(one); !at.Before(week.Start()) && at.Before(week.End()) {
			within = append(within, one)
		}
	}
	return within
}
