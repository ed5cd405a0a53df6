package collect

import (
	"slices"
	"time"
)

// question is one request for the instants from, from + step, ... until of a group.
type question struct {
	group       group
	from, until time.Time
}

// mostPoints of a series that Prometheus gives in one answer is 11,000. A day at a time is far below it and keeps answers small.
const (
	mostPoints = 11_000
	mostLength = 24 * time.Hour
)

// span of instants, both ends included.
type span struct{ from, until time.Time }

// aligned is the last whole step up to an instant, counted from 1970.
func aligned(t time.Time, step time.Duration) time.Time {
	return time.Unix(0, t.UnixNano()/int64(step)*int64(step)).UTC()
}

// missing are the questions for the instants between since and until that were not asked about, oldest first.
func missing(g group, asked []span, since, until time.Time) (questions []question) {
	next := aligned(since, g.step)
	if next.Before(since) {
		next = next.Add(g.step)
	}
	last := aligned(until, g.step)
	slices.SortFunc(asked, func(a, b span) int { return a.from.Compare(b.from) })
	for _, known := range append(slices.Clone(asked), span{last.Add(g.step), last.Add(g.step)}) {
		questions = append(questions, cut(g, next, earlier(known.from.Add(-time.Nanosecond), last))...)
		if after := aligned(known.until, g.step).Add(g.step); after.After(next) {
			next = after
		}
	}
	return questions
}

// cut splits the instants of a span into questions.
func cut(g group, from, until time.Time) (questions []question) {
	until = aligned(until, g.step)
	points := max(1, min(mostPoints, int64(mostLength/g.step)))
	for !from.After(until) {
		end := earlier(from.Add(time.Duration(points-1)*g.step), until)
		questions = append(questions, question{g, from, end})
		from = end.Add(g.step)
	}
	return questions
}

// halves of a question that was too much; itself where it is one instant.
func (q question) halves() []question {
	points := int64(q.until.Sub(q.from)/q.group.step) + 1
	if points < 2 {
		return []question{q}
	}
	middle := q.from.Add(time.Duration(points/2-1) * q.group.step)
	return []question{{q.group, q.from, middle}, {q.group, middle.Add(q.group.step), q.until}}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
