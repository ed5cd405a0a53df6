package week

import (
	"fmt"
	"slices"
	"time"

	"tidemark/analysis/week/service"
	"tidemark/internal/maybe"
	"tidemark/internal/stat"
)

// weekOf is one week of the service while a report is made.
type weekOf struct {
	week   service.Week
	demand demand
	hours  []Hour
	// Packed shapes of its hours; nil: of another week than this one and the last.
	samples []byte
}

// hoursOf puts the demand of a week on its calendar. An hour that nothing covers is missing, one that is covered and empty has zeros.
func hoursOf(f service.File, week service.Week, d demand, parts []part) []Hour {
	of := map[int]demandHour{}
	for _, h := range d.Hours {
		of[h.Place] = h
	}
	hours := make([]Hour, 0, 169)
	for place, hour := range week.Hours() {
		found, has := of[place]
		h := Hour{Start: hour.Start, Local: hour.Local, Day: hour.Day, HourOfDay: hour.Of, PaidReplicas: f.ReplicasAt(hour.Start)}
		if hour.Length < time.Hour {
			h.LengthS = int(hour.Length.Seconds())
		}
		h.IsMissing = !slices.ContainsFunc(parts, func(p part) bool {
			return p.covers(hour.Start, hour.Start.Add(hour.Length), slices.Contains(found.SourceIDs, p.id), f.Zone)
		})
		if !h.IsMissing {
			h.fill(found, has)
		}
		hours = append(hours, h)
	}
	return hours
}

// length is an hour, or what is left of the week.
func (h *Hour) length() time.Duration {
	if h.LengthS == 0 {
		return time.Hour
	}
	return time.Duration(h.LengthS) * time.Second
}

// Lasting is how long some hours are together, hours.
func Lasting(hours []Hour) (all float64) {
	for i := range hours {
		all += hours[i].length().Hours()
	}
	return all
}

// covered are the hours that are not missing.
func covered(hours []Hour) []Hour {
	return slices.DeleteFunc(slices.Clone(hours), func(h Hour) bool { return h.IsMissing })
}

// noteShortHour says that the last hour of the week is cut short.
func (m *maker) noteShortHour() {
	hours := m.weeks[len(m.weeks)-1].hours
	if last := hours[len(hours)-1]; last.LengthS > 0 {
		m.report.Notes = append(m.report.Notes, fmt.Sprintf(
			"A clock was set by a part of an hour in this week: its last hour, from %s on, is %d minutes long, and is counted and paid as that.",
			last.Local[len("2026-10-25 "):len("2026-10-25 02:00")], last.LengthS/60))
	}
}

func (h *Hour) fill(found demandHour, has bool) {
	rate := float64(found.Requests) / h.length().Seconds()
	h.Requests = &found.Requests
	if !found.LacksTokens {
		h.InputTokens, h.OutputTokens = &found.Input, &found.Output
	}
	h.RatePerS, h.PeakRatePerS = &rate, &found.Peak
	if has {
		h.P50InputTokens, h.P99InputTokens, h.P50OutputTokens, h.P99OutputTokens = found.P50Input, found.P99Input, found.P50Output, found.P99Output
		h.BurstRatio = found.Burst
	}
}

// usualWeeks are the weeks before that say what is usual in an hour.
const usualWeeks = 4

// fillUsual fills what the same hour by the local clock was in the weeks before, of which some may have no data. Of an hour that the clock shows twice
// the first counts.
func fillUsual(week service.Week, hours []Hour, before []weekOf) {
	first := week.Add(-usualWeeks).Start()
	for len(before) > 0 && before[0].week.Start().Before(first) {
		before = before[1:]
	}
	type figure struct {
		of   func(h Hour) *int64
		into func(h *Hour) **Usual
	}
	figures := []figure{
		{func(h Hour) *int64 { return h.Requests }, func(h *Hour) **Usual { return &h.UsualRequests }},
		{func(h Hour) *int64 { return h.InputTokens }, func(h *Hour) **Usual { return &h.UsualInputTokens }},
		{func(h Hour) *int64 { return h.OutputTokens }, func(h *Hour) **Usual { return &h.UsualOutputTokens }},
	}
	for i := range hours {
		h := &hours[i]
		for _, figure := range figures {
			var values []float64
			for _, w := range before {
				at := slices.IndexFunc(w.hours, func(o Hour) bool { return o.Day == h.Day && o.HourOfDay == h.HourOfDay && o.length() == h.length() })
				if at < 0 {
					continue
				}
				if value := figure.of(w.hours[at]); value != nil {
					values = append(values, float64(*value))
				}
			}
			if len(values) > 0 {
				*figure.into(h) = usual(values)
			}
		}
	}
}

func usual(values []float64) *Usual {
	slices.Sort(values)
	n := len(values)
	return &Usual{Median: stat.Median(values), Low: values[0], High: values[n-1], Weeks: n}
}

// gaps are the stretches of missing hours.
func gaps(hours []Hour) (all []Gap) {
	for i, h := range hours {
		switch {
		case !h.IsMissing:
		case i > 0 && hours[i-1].IsMissing:
			last := &all[len(all)-1]
			last.Until, last.Hours = h.Start.Add(h.length()), last.Hours+1
		default:
			all = append(all, Gap{From: h.Start, Until: h.Start.Add(h.length()), Hours: 1, Why: "no source of the service covers it"})
		}
	}
	return all
}

// added are the sums of a week that need neither a capacity nor a price.
func added(week service.Week, hours []Hour) Sums {
	s := Sums{Week: week.String(), Hours: len(hours)}
	for _, h := range hours {
		if h.IsMissing {
			s.MissingHours++
			continue
		}
		s.Requests += *h.Requests
		s.InputTokens += maybe.Or(h.InputTokens, 0)
		s.OutputTokens += maybe.Or(h.OutputTokens, 0)
		if s.PeakRatePerS == nil || *h.PeakRatePerS > *s.PeakRatePerS {
			at, peak := h.Start, *h.PeakRatePerS
			s.PeakRatePerS, s.BusiestHourStart = &peak, &at
		}
	}
	return s
}
