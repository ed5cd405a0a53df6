package results

import (
	"math"
	"strings"

	"tidemark/ingest/read"
)

// What the requests of any tool need: counting them, the gaps between their chunks,
// and a kind for a failure in place of its message.

// outcomes counts the requests of a file that says no totals.
type outcomes struct{ all, failed int64 }

// add takes in the next request.
func (c *outcomes) add(out *read.Rows, row Request) error {
	row.Seq = int32(c.all)
	c.all++
	if row.Failure != nil {
		c.failed++
	}
	return out.Add(row)
}

// addPoint adds the run that the requests were of; without a request there was none.
func (c *outcomes) addPoint(out *read.Rows, row Point) error {
	if c.all == 0 {
		return nil
	}
	row.Requests, row.Completed, row.Failed = &c.all, new(c.all-c.failed), &c.failed
	return out.Add(row)
}

// textField is a field of a request that may hold what people or models wrote.
type textField struct {
	name  string
	holds read.Presence
}

// tellTexts tells of each field that holds a text, in the order given: a user who
// refuses texts is told the first.
func tellTexts(out *read.Rows, fields ...textField) {
	for _, field := range fields {
		if field.holds {
			out.Text(field.name)
		}
	}
}

// firstOf is the first number that is known. Versions of a tool write the same
// number under different keys.
func firstOf(measures ...read.Number) read.Number {
	for _, m := range measures {
		if m.Known {
			return m
		}
	}
	return read.Number{}
}

// since is the time from one instant to another, where both are known.
func since(from, to read.Number) *float64 {
	if !from.Known || !to.Known {
		return nil
	}
	return new(to.Value - from.Value)
}

// gapsUs are the gaps between successive instants given in seconds, in
// microseconds; nil where an instant is missing or goes back, because a sum over
// such gaps would be wrong.
func gapsUs(times []read.Number) []int32 {
	gaps := make([]int32, 0, len(times)-1)
	for i := 1; i < len(times); i++ {
		gap := (times[i].Value - times[i-1].Value) * 1e6
		if !times[i].Known || !times[i-1].Known || gap < 0 || gap > 1<<31-1 {
			return nil
		}
		gaps = append(gaps, int32(gap+0.5))
	}
	return gaps
}

// microseconds rounds a gap; NaN, which stands for null, is 0. Raw gaps are kept as
// 32-bit microseconds, so a gap of more than 35 minutes is cut to that.
func microseconds(seconds float64) int32 {
	if math.IsNaN(seconds) {
		return 0
	}
	return int32(min(max(math.Round(seconds*1e6), 0), math.MaxInt32))
}

// failureOf is the kind of a failure, from what a client wrote about it. The
// message itself may hold a prompt or an address and is not kept. nil is no
// failure.
func failureOf(text string) *string {
	if text == "" {
		return nil
	}
	for _, kind := range []struct{ holds, kind string }{
		{"Too Many Requests", "http_429"}, {"Service Unavailable", "http_503"}, {"Bad Request", "http_400"}, {"Unauthorized", "http_401"},
		{"Not Found", "http_404"}, {"Internal Server Error", "http_500"}, {"Bad Gateway", "http_502"}, {"Gateway Time", "http_504"},
		{"Never received a valid chunk", "no_token"}, {"Timeout", "timeout"}, {"timed out", "timeout"}, {"ServerDisconnected", "cut_stream"},
		{"ClientPayloadError", "cut_stream"}, {"ConnectionReset", "cut_stream"}, {"ClientConnector", "no_connection"}, {"ConnectionRefused", "no_connection"},
	} {
		if strings.Contains(text, kind.holds) {
			return new(kind.kind)
		}
	}
	return new("other")
}
