package metrics

import (
	"math"
	"strconv"
	"time"

	"tidemark/ingest/read"
)

// instants turns stamps into nanoseconds since the first of them, which becomes the
// source's origin. The origin is cut to the microsecond that an SQL timestamp can
// hold.
type instants struct {
	out    *read.Rows
	origin int64
	isSet  bool
	last   int64 // latest of them
}

// since takes Unix nanoseconds and the unit in which the file wrote them.
func (i *instants) since(ns int64, unit string) *int64 {
	if !i.isSet {
		i.isSet, i.origin = true, ns-((ns%1000)+1000)%1000 // what an SQL timestamp can hold
		i.out.About.OriginAt = new(time.Unix(0, i.origin).UTC())
		i.out.About.TimeUnit = unit
	}
	i.last = max(i.last, ns)
	return new(ns - i.origin)
}

// latestUnixSeconds is in the year 2100. A larger number is of a smaller unit: no
// file is from before 1973, which is where the same number of milliseconds lies.
const latestUnixSeconds = 4_102_444_800

// unixTime reads a Unix time of seconds, milliseconds, microseconds or nanoseconds:
// its size says which.
func unixTime(text []byte) (ns int64, unit, reason string) {
	rough, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(rough) || math.IsInf(rough, 0) || rough < 0 {
		return 0, "", read.NotATime
	}
	units := []struct {
		name   string
		digits int
	}{{"s", 9}, {"ms", 6}, {"us", 3}, {"ns", 0}}
	for _, u := range units {
		if rough <= latestUnixSeconds*float64(read.PowersOfTen[9-u.digits]) {
			ns, reason := read.WholeDecimal(text, u.digits, read.NotATime)
			return ns, u.name, reason
		}
	}
	return 0, "", read.OutOfRange
}
