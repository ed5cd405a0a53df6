package week

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/week/fleet"
	"tidemark/analysis/week/service"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// Options choose the report.
type Options struct {
	Week    string             // empty: the last week that the data cover to its end
	Version string             // of the program
	Told    func(doing string) // before each part that may take minutes; may be nil
}

// maker makes one report. It only reads; what is worth keeping is collected in Kept.
type maker struct {
	ctx     context.Context
	db      *sql.DB
	conn    *sql.Conn
	file    service.File
	slo     analysis.SLO
	parts   []part
	weeks   []weekOf // oldest first; the last is the week of the report
	report  *Report
	kept    *Kept
	keeping sync.Mutex // of kept.capacities, which alternatives are added to together
	adder   adder      // of the week that was added up last
	told    func(doing string)

	answer  *fleet.Answer // what each hour of this week and the last needs
	anchor  *weekOf       // whose requests were rehearsed for the page before this one; nil: there is none
	printed *Report       // last week's page as it is kept; nil: there is none
	// Of this week and the one before: shares within the SLO by hour, and times per token.
	within, withinBefore hourShares
	stepsBefore          []StepTime
}

// Make makes the report of a service's week from what the warehouse holds. It writes nothing: the caller hands Kept to Keep. An error is of
// kind misuse where the service file names what does not exist.
func Make(ctx context.Context, db *sql.DB, f service.File, o Options) (*Report, *Kept, error) {
	slo, err := analysis.ReadSLO(f.SLO)
	if err != nil {
		return nil, nil, fmt.Errorf("service file %s: %w", f.Path, err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	m := &maker{ctx: ctx, db: db, conn: conn, file: f, slo: slo, kept: &Kept{}, told: o.Told, report: &Report{
		Service: f.Service, TimeZone: f.TimeZone, Version: o.Version,
		File: File{Path: f.Path, SHA256: f.SHA256, Text: f.Text},
	}}
	for _, step := range []struct {
		doing string
		do    func() error
	}{
		{"reading what there is", m.readParts},
		{"choosing the week", func() error { return m.chooseWeek(o.Week) }},
		{"describing the deployment", m.describe},
		{"adding up the weeks", m.addUpWeeks},
		{"rehearsing what each hour needs", m.fillNeeds},
		{"reading what users felt", m.fillProduction},
		{"forecasting", m.fillForecast},
		{"reading the replays", m.fillRuns},
		{"ranking alternatives", m.conclude},
	} {
		m.tell(step.doing)
		if err := step.do(); err != nil {
			return nil, nil, err
		}
	}
	return m.report, m.kept, nil
}

func (m *maker) tell(doing string) {
	if m.told != nil {
		m.told(doing)
	}
}

func (m *maker) readParts() (err error) {
	if len(m.file.Traffic) == 0 {
		if m.parts, err = m.metricsParts(); err != nil {
			return err
		}
		for i := range m.parts {
			if m.parts[i].marks, err = m.marksOf(m.parts[i].id); err != nil {
				return err
			}
		}
		return nil
	}
	m.parts, err = parts(m.ctx, m.conn, m.file)
	return err
}

// chooseWeek takes the week that was asked for, or the last whole one; a week without any data is an error that says what there is.
func (m *maker) chooseWeek(asked string) error {
	week := lastWhole(m.parts, m.file.Zone)
	if asked != "" {
		var err error
		if week, err = service.ParseWeek(asked, m.file.Zone); err != nil {
			return err
		}
	}
	r := m.report
	if m.file.LeadWeeks > 0 {
		r.LeadUntil = week.Add(m.file.LeadWeeks).String()
	}
	r.Week, r.FromDay, r.UntilDay = week.String(), week.Start().Format(time.DateOnly), week.Sunday().Format(time.DateOnly)
	m.weeks = []weekOf{{week: week}}
	for _, p := range m.parts {
		if p.reaches(week) {
			return nil
		}
	}
	if asked == "" {
		return m.hintOfData(hint.Errorf("service %s has no whole week of data", m.file.Service))
	}
	return m.hintOfData(m.noData("has no data of"))
}

// noData is the error of a week that has none. how: has no data of, has no covered hour in.
func (m *maker) noData(how string) *hint.Error {
	return hint.Errorf("service %s %s week %s, %s to %s", m.file.Service, how, m.report.Week, m.report.FromDay, m.report.UntilDay)
}

// hintOfData says what data there is.
func (m *maker) hintOfData(err *hint.Error) error {
	if len(m.parts) == 0 {
		return err.Hint("there is no data of it at all: ingest some")
	}
	return err.Hint("there is %s; name a week with --week, or ingest more", inWords(m.parts, m.file.Zone))
}

// addUpWeeks adds up the demand of the week and of those before it that the forecast may use.
func (m *maker) addUpWeeks() error {
	this := m.weeks[0].week
	m.weeks = nil
	for n := -max(m.file.GrowthWeeks, usualWeeks); n <= 0; n++ {
		week := this.Add(n)
		m.tell("adding up week " + week.String())
		d, hasData, err := m.demandOf(week)
		if err != nil {
			return fmt.Errorf("week %s: %w", week, err)
		}
		if !hasData && n < 0 {
			continue
		}
		w := weekOf{week: week, demand: d, hours: hoursOf(m.file, week, d, m.parts)}
		if n >= -1 && hasData {
			if w.samples, err = m.samplesOf(week, d); err != nil {
				return fmt.Errorf("week %s: %w", week, err)
			}
		}
		m.weeks = append(m.weeks, w)
	}
	w, before := m.weeks[len(m.weeks)-1], m.weeks[:len(m.weeks)-1]
	r := m.report
	fillUsual(w.week, w.hours, before)
	r.Hours, r.Sums, r.Gaps = w.hours, added(w.week, w.hours), gaps(w.hours)
	if r.Sums.MissingHours == len(r.Hours) {
		return m.hintOfData(m.noData("has no covered hour in"))
	}
	r.Fullest, r.Classes, r.FailedRequests = w.demand.Fullest, w.demand.Classes, w.demand.failed()
	r.Agents = w.demand.Agents
	r.Shape.Cells = w.demand.Cells
	for _, b := range before {
		sums := added(b.week, b.hours)
		PaySums(&sums, b.hours, r.Deployment.GPUsPerReplica, r.Price)
		r.Before = append(r.Before, sums)
	}
	if last := m.lastWeek(); last != nil {
		r.Shape.Quantiles = quantiles(w.demand, last.demand)
		r.Shape.Input = distance("input_tokens", w.demand.Input, last.demand.Input)
		r.Shape.Output = distance("output_tokens", w.demand.Output, last.demand.Output)
		compareClasses(r.Classes, w, *last)
	} else {
		r.Shape.Quantiles = quantiles(w.demand, demand{})
	}
	if err := m.describeSources(w.demand); err != nil {
		return err
	}
	m.noteCounts(w.demand)
	return nil
}

// lastWeek is the week before, nil where it has no data.
func (m *maker) lastWeek() *weekOf {
	n := len(m.weeks)
	if n < 2 || m.weeks[n-2].week != m.weeks[n-1].week.Add(-1) {
		return nil
	}
	return &m.weeks[n-2]
}

// restsOn are the sources of all weeks that the report is made of, so that purging one of them removes the report.
func (m *maker) restsOn() (ids []int64) {
	weeks := m.weeks
	if m.anchor != nil {
		weeks = append(slices.Clone(weeks), *m.anchor)
	}
	for _, w := range weeks {
		_, of := demandKey(w.week, m.parts)
		ids = append(ids, of...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// conclude fills what depends on all the rest.
func (m *maker) conclude() (err error) {
	r := m.report
	m.kept.sourceIDs = m.restsOn()
	m.fillMoney()
	r.Commands = m.commands()
	if last := m.lastWeek(); last != nil {
		m.fillChanges(last)
		if m.printed, err = m.printedBefore(last); err != nil {
			return err
		}
		m.takePrinted()
	}
	m.fillVerdict()
	if r.Alternatives, err = m.alternatives(); err != nil {
		return err
	}
	r.Do = Recommend(r)
	return nil
}

// demandOf is the demand of a week: as it was kept, if it rests on the same rows, else added up anew.
func (m *maker) demandOf(week service.Week) (d demand, hasData bool, err error) {
	key, ids := demandKey(week, m.parts)
	if len(ids) == 0 {
		return d, false, nil
	}
	d, isKept, err := m.keptDemand(week, key, ids)
	if err != nil || isKept {
		return d, true, err
	}
	err = warehouse.InLimitedMemory(m.ctx, m.db, warehouse.ReportBytes, func() error {
		if m.adder, err = newAdder(m.ctx, m.conn, week, m.parts); err == nil {
			d, err = m.adder.addUp(m.ctx)
		}
		return err
	})
	m.kept.demands = append(m.kept.demands, keptDemand{m.file.Service, week.String(), key, ids, d})
	return d, true, err
}

// samplesOf are the packed shapes of the hours of a week: as they were kept, or drawn anew out of its requests.
func (m *maker) samplesOf(week service.Week, d demand) (samples []byte, err error) {
	key, _ := demandKey(week, m.parts)
	err = m.conn.QueryRowContext(m.ctx, "select samples from raw.service_demands where service = ? and week = ? and demand_key = ? and samples is not null",
		m.file.Service, week.String(), key).Scan(&samples)
	if err == nil && m.kept.hasDemand(week.String()) { // which takes the place of the row that they are in
		m.kept.samples = append(m.kept.samples, keptSamples{m.file.Service, week.String(), key, samples})
	}
	if err != sql.ErrNoRows {
		return samples, err
	}
	err = warehouse.InLimitedMemory(m.ctx, m.db, warehouse.ReportBytes, func() error {
		if m.adder.week != week {
			if m.adder, err = newAdder(m.ctx, m.conn, week, m.parts); err != nil {
				return err
			}
		}
		samples, err = m.adder.sampled(m.ctx, d)
		return err
	})
	m.kept.samples = append(m.kept.samples, keptSamples{m.file.Service, week.String(), key, samples})
	return samples, err
}

// demandVersion changes when the same rows would be added up to something else, or another sample would be drawn of an hour.
const demandVersion = 10

// demandKey names the rows that the demand of a week rests on.
func demandKey(week service.Week, parts []part) (key string, ids []int64) {
	h := sha256.New()
	fmt.Fprintln(h, demandVersion, week.Start().UnixNano(), week.End().UnixNano())
	for _, p := range parts {
		if !p.reaches(week) {
			continue
		}
		rows := fmt.Sprintf("%d %s %d", p.id, p.sha256, p.rows)
		if p.marks != nil {
			rows = p.marks.of(week)
		}
		fmt.Fprintf(h, "%s %q %q\n", rows, p.traffic.Model, p.traffic.Class)
		ids = append(ids, p.id)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), ids
}
