package results

import (
	"math"
	"strings"

	"tidemark/ingest/read"
)

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

// gapsUs are the gaps between successive instants of seconds, microseconds; nil
// where one is missing, or they go back.
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

// wholeMicroseconds makes gaps of a unit of so many seconds into microseconds. A
// gap of more than half an hour is cut to that.
func wholeMicroseconds(values []float64, unit float64) []int32 {
	gaps := make([]int32, len(values))
	for i, value := range values {
		gaps[i] = microseconds(value * unit)
	}
	return gaps
}

// microseconds of what is no number are 0.
func microseconds(seconds float64) int32 {
	if math.IsNaN(seconds) {
		return 0
	}
	return int32(min(max(math.Round(seconds*1e6), 0), math.MaxInt32))
}

// failureOf makes a kind of what a client wrote of a failure, of which nothing
// else is kept; nil for none.
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
