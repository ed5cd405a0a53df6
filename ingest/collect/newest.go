package collect

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// lookBack is how old a sample may be that Prometheus still gives for an instant.
const lookBack = 5 * time.Minute

// newest is the instant of the last sample of the service up to the end of what is asked for; zero: there is none. Only up to it an
// answer is final: a server that lags, or catches up after a stop, has the later samples another time, and gives this one in their place
// until then.
func (s *server) newest(ctx context.Context, names []string, matchers string, since, until time.Time) (time.Time, error) {
	if at, err := s.lastOf(ctx, names, matchers, until); err != nil || !at.IsZero() {
		return at, err
	}
	count, length := "count("+selectorOf(names, matchers)+")", mostLength
	for end := until; end.After(since); {
		begin := end.Add(-length)
		if begin.Before(since) {
			begin = since
		}
		answer, err := s.rangeOf(ctx, question{group{"newest", lookBack, count}, begin, end})
		if isTooMuch(err) && length > time.Hour {
			length /= 2
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		points, err := s.pointsOf(answer)
		if err != nil {
			return time.Time{}, err
		}
		if len(points) > 0 {
			at := time.UnixMilli(int64(points[len(points)-1].at * 1e3))
			return s.lastOf(ctx, names, matchers, at)
		}
		end = begin
	}
	return time.Time{}, nil
}

// lastOf is the instant of the newest sample that the look-back of an instant holds, by the first of the names that has one: they are
// scraped together. PromQL gives the time of a sample for a single name only, since it drops the name.
func (s *server) lastOf(ctx context.Context, names []string, matchers string, at time.Time) (time.Time, error) {
	for i := range names {
		query := "max(timestamp(" + selectorOf(names[i:i+1], matchers) + "))"
		answer, err := s.ask(ctx, "query", url.Values{"query": {query}, "time": {stamp(at)}})
		if err != nil {
			return time.Time{}, err
		}
		points, err := s.pointsOf(answer)
		if err != nil {
			return time.Time{}, err
		}
		if len(points) > 0 {
			return time.UnixMilli(int64(points[0].value * 1e3)).UTC(), nil
		}
	}
	return time.Time{}, nil
}

type point struct{ at, value float64 }

// pointsOf are those of an answer with one series.
func (s *server) pointsOf(answer []byte) (points []point, err error) {
	var said struct {
		Data struct {
			Result []struct {
				Value  []any
				Values [][]any
			}
		}
	}
	none := s.notPrometheus("the time of its newest sample was asked for, and its answer is none")
	if json.Unmarshal(answer, &said) != nil {
		return nil, none
	}
	for _, series := range said.Data.Result {
		if series.Value != nil {
			series.Values = append(series.Values, series.Value)
		}
		for _, pair := range series.Values {
			if len(pair) != 2 {
				return nil, none
			}
			at, isNumber := pair[0].(float64)
			text, isText := pair[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if !isNumber || !isText || err != nil {
				return nil, none
			}
			points = append(points, point{at, value})
		}
	}
	return points, nil
}
