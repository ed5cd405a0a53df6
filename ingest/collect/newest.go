package collect

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/stat"
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

// rhythm is the usual time between two samples of the service in the half hour before an instant, by the first of the names that says it; 0: it is not known.
func (s *server) rhythm(ctx context.Context, names []string, matchers string, at time.Time) time.Duration {
	for i := range min(3, len(names)) {
		answer, err := s.ask(ctx, "query", url.Values{"query": {selectorOf(names[i:i+1], matchers) + "[30m]"}, "time": {stamp(at)}})
		if err != nil {
			return 0 // a proxy may refuse raw samples; nothing else rests on them
		}
		points, _ := s.pointsOf(answer)
		var apart []float64
		for j := 1; j < len(points); j++ {
			if d := points[j].at - points[j-1].at; d > 0 { // else another series begins
				apart = append(apart, d)
			}
		}
		if len(apart) > 0 {
			slices.Sort(apart)
			return time.Duration(stat.Median(apart) * float64(time.Second)).Round(time.Second)
		}
	}
	return 0
}

// stepOver is the least number of whole minutes that holds a whole number of samples, so that each step grows by what came in it. By the
// minute, samples of two minutes make steps of nothing and of twice the rate: three of five minutes then hold six minutes. It is a minute
// where samples come at least as often, and five where no shorter step fits.
func stepOver(rhythm time.Duration) time.Duration {
	step := DefaultSteps.Counters
	for rhythm > DefaultSteps.Counters && step < lookBack && step%rhythm != 0 {
		step += DefaultSteps.Counters
	}
	return step
}
