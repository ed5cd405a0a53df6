package read

import (
	"maps"
	"slices"
)

const (
	MinuteS        = 60
	MostLogMinutes = 5 * 366 * 24 * 60
)

// RatesOf writes how many requests came in each minute, also the minutes without
// one; the last minute ends with the source, so many seconds after its start.
func (r *Rows) RatesOf(minutes map[int64]int64, endS float64) error {
	last := slices.Max(slices.Collect(maps.Keys(minutes)))
	for minute := range last + 1 {
		from := float64(minute * MinuteS)
		row := RateWindow{WindowFromS: from, WindowUntilS: min(from+MinuteS, endS), Requests: float64(minutes[minute])}
		r.Add(row)
	}
	return nil
}
