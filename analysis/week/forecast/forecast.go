// Package forecast says how high the weekly peak of a service will be, and when it will not fit the replicas that are paid for.
//
//	forecast.go   what goes in and what comes out
//	profile.go    the usual week of a service, and how high each week stood above it
//	trend.go      the level of each week as a trend that dies away, a walk, steps and holidays
//	backtest.go   every forecast that could have been made before: its errors choose the method and make the band
//	needs.go      the weeks in which further replicas are needed
//
// Hours are hours of the week by the local clock. A missing hour has no entry: it is neither zero nor filled, so that a week with a gap
// has not fallen. The package refuses to forecast from less than three weeks. Nothing is drawn at random: the same weeks give the same
// forecast. docs/forecast.md has the method in words and how far off it was.
package forecast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/stat"
)

// HoursOfWeek by the local clock. A week has 167 in spring, when one does not occur, and 169 in autumn, when one occurs twice.
const HoursOfWeek = 168

// Hour is a covered hour of a week.
type Hour struct {
	OfWeek       int // 0 is Monday 00:00 to 01:00, 167 the last of Sunday
	PeakRatePerS float64
	Requests     float64
}

// Week of a service: its covered hours in order. An hour that occurs twice has two entries.
type Week struct {
	Monday string // 2026-11-16
	Hours  []Hour
}

// Asked is what a forecast is to tell, beside the weeks.
type Asked struct {
	Zone     *time.Location         // of the service, for the hours of the weeks ahead; nil: UTC
	Weeks    int                    // of history that may be used, at most 26; 0: 26
	Ahead    int                    // weeks ahead, at most 52; 0: 52
	Paid     int                    // replicas paid for now
	Replicas func(rate float64) int // needed at a rate of the busiest five minutes; nil: needs are not told
}

const (
	leastWeeks = 3
	mostWeeks  = 26
	mostAhead  = 52
	// leastCovered is the share of a week's hours from which on the week counts as history.
	leastCovered = 0.5
)

// Seasonal and Naive are the two methods.
const (
	Seasonal = "seasonal with a damped trend"
	Naive    = "naive: as the last week"
)

// Forecast of a service. Rates are per second.
type Forecast struct {
	Why    string // there is none, as a sentence; empty: there is one
	Method string // the better one by back-test: Ahead and Requests are by it
	Weeks  int    // of history used

	History  []Point // the peak of each week, over its covered hours
	Ahead    []Band  // peaks; the first is of the week after the last one given
	Naive    []Band
	Requests []Band // sums of a week ahead

	Growth, LowGrowth, HighGrowth float64 // of the level of the peaks, a week, minus 1, with its 90 % interval

	Error      *float64 // mean |ln(came / forecast)| one to four weeks ahead, of the method used; nil: nothing to test on
	NaiveError *float64

	Needs           []Need
	NextReplica     string // week in which more than is paid for is needed, by the centre; empty: not within the weeks ahead
	EarliestReplica string // likewise by the upper edge of the band
	HoldsWeeks      int    // full weeks ahead that the upper edge still fits what is paid for

	Month *Check // nil: too little history a month ago
}

// Point is what a week came to.
type Point struct {
	Week   string // ISO: 2026-W47
	Monday string
	Value  float64
}

// Band is what a week will come to, with its 90 % band.
type Band struct {
	Point
	Low, High float64
}

// Check compares the forecast of the last week made four weeks before with what came. Both are of the hours that the last week covers.
type Check struct {
	MadeAfter string  `json:"made_after"` // the last week that it knew
	Forecast  float64 `json:"forecast"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Came      float64 `json:"came"`
}

// Of forecasts from weeks, oldest first. Weeks without an entry are missing. It is an error when a Monday is no Monday or out of order,
// or when an hour lies outside the week.
func Of(weeks []Week, asked Asked) (Forecast, error) {
	asked = asked.withDefaults()
	history, err := read(weeks)
	if err != nil {
		return Forecast{}, err
	}
	history = history.latest(min(asked.Weeks, mostWeeks))
	out := Forecast{Weeks: len(history.weeks), History: history.peaks()}
	if out.Why = history.whyNot(len(weeks)); out.Why != "" {
		return out, nil
	}
	peaks := newSeries(history, peakOf, slices.Max[[]float64])
	model := choose(peaks)
	out.Method = model.method()
	out.Error, out.NaiveError = model.errors()

	hours := history.hoursAhead(asked.Ahead, asked.Zone)
	out.Ahead = history.bands(model.ahead(hours))
	out.Naive = history.bands(model.naiveAhead(hours))
	out.Requests = history.bands(choose(newSeries(history, requestsOf, stat.Sum)).ahead(hours))
	out.Growth, out.LowGrowth, out.HighGrowth = model.growth()
	out.Month = monthAgo(history)
	out.needs(asked)
	return out, nil
}

func (a Asked) withDefaults() Asked {
	if a.Weeks <= 0 {
		a.Weeks = mostWeeks
	}
	if a.Ahead <= 0 || a.Ahead > mostAhead {
		a.Ahead = mostAhead
	}
	if a.Zone == nil {
		a.Zone = time.UTC
	}
	return a
}

// history is the weeks that count, at their places in the calendar.
type history struct {
	weeks []placed
	now   int       // place of the last week given, which may not count
	last  time.Time // its Monday, as a date in UTC
}

// placed is a week at its place: weeks since the first one given.
type placed struct {
	at    int
	hours []Hour
}

func read(weeks []Week) (history, error) {
	var out history
	var first time.Time
	for i, week := range weeks {
		monday, err := time.Parse(time.DateOnly, week.Monday)
		if err != nil || monday.Weekday() != time.Monday {
			return out, fmt.Errorf("forecast: week %q: not the date of a Monday", week.Monday)
		}
		if i == 0 {
			first = monday
		} else if !monday.After(out.last) {
			return out, fmt.Errorf("forecast: week %q: not after %s", week.Monday, out.last.Format(time.DateOnly))
		}
		for _, hour := range week.Hours {
			if hour.OfWeek < 0 || hour.OfWeek >= HoursOfWeek {
				return out, fmt.Errorf("forecast: week %q: hour %d is outside the week", week.Monday, hour.OfWeek)
			}
		}
		out.last, out.now = monday, int(monday.Sub(first).Hours()/HoursOfWeek)
		if float64(len(week.Hours)) >= leastCovered*HoursOfWeek {
			out.weeks = append(out.weeks, placed{out.now, week.Hours})
		}
	}
	out.fromTheFirstRequest()
	return out, nil
}

// fromTheFirstRequest drops the weeks before a service had requests, and weeks in which it was off.
func (h *history) fromTheFirstRequest() {
	kept := h.weeks[:0]
	for i, week := range h.weeks {
		if requests(week) > 0 || i == len(h.weeks)-1 {
			kept = append(kept, week)
		}
	}
	h.weeks = kept
}

func requests(week placed) (total float64) {
	for _, hour := range week.hours {
		total += hour.Requests
	}
	return total
}

// latest keeps the last n places of the calendar.
func (h history) latest(n int) history {
	for len(h.weeks) > 0 && h.weeks[0].at <= h.now-n {
		h.weeks = h.weeks[1:]
	}
	return h
}

// until is what was known after a week.
func (h history) until(weeks int) history {
	at := h.weeks[weeks-1].at
	return history{weeks: h.weeks[:weeks], now: at, last: h.last.AddDate(0, 0, 7*(at-h.now))}
}

func (h history) whyNot(given int) string {
	n := len(h.weeks)
	if n > 0 && requests(h.weeks[n-1]) == 0 {
		return fmt.Sprintf("There is no forecast: %s had no requests.", h.name(h.weeks[n-1].at))
	}
	if n >= leastWeeks {
		return ""
	}
	sentence := fmt.Sprintf("There is no forecast: it needs %d weeks of history, and there %s.", leastWeeks, are(n))
	if given > n {
		sentence += " A week with less than half of its hours, or without requests, does not count."
	}
	return sentence
}

func are(n int) string {
	switch n {
	case 0:
		return "is none"
	case 1:
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}

// monday of a place in the calendar.
func (h history) monday(at int) time.Time { return h.last.AddDate(0, 0, 7*(at-h.now)) }

// name of a week: 2026-W47.
func (h history) name(at int) string {
	year, week := h.monday(at).ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

func (h history) point(at int, value float64) Point {
	return Point{Week: h.name(at), Monday: h.monday(at).Format(time.DateOnly), Value: value}
}

func (h history) peaks() []Point {
	var out []Point
	for _, week := range h.weeks {
		highest := 0.0
		for _, hour := range week.hours {
			highest = max(highest, hour.PeakRatePerS)
		}
		out = append(out, h.point(week.at, highest))
	}
	return out
}

// bands names the weeks after the last one given.
func (h history) bands(ahead []outcome) []Band {
	out := make([]Band, len(ahead))
	for i, a := range ahead {
		out[i] = Band{h.point(h.now+1+i, math.Exp(a.centre)), math.Exp(a.low), math.Exp(a.high)}
	}
	return out
}

// hoursAhead are the hours of the week of each week ahead, in which a clock may be set.
func (h history) hoursAhead(weeks int, zone *time.Location) [][]int {
	out := make([][]int, weeks)
	for i := range out {
		year, month, day := h.monday(h.now + 1 + i).Date()
		from := time.Date(year, month, day, 0, 0, 0, 0, zone)
		until := time.Date(year, month, day+7, 0, 0, 0, 0, zone)
		for t := from; t.Before(until); t = t.Add(time.Hour) {
			out[i] = append(out[i], (int(t.Weekday())+6)%7*24+t.Hour())
		}
	}
	return out
}
