package read

import (
	"time"
)

// What cannot be is left out of results, never kept in silence: a negative time, a
// total past all totals, a date that no calendar has. How often and under which
// key goes into a note; the value does not.

// implausible is one kind of such values.
type implausible struct{ key, why string }

// Implausible counts values that were left out.
func (r *Rows) Implausible(key, why string, times int) {
	if r.implausible == nil {
		r.implausible = map[implausible]int{}
	}
	if len(r.implausible) < 1000 {
		r.implausible[implausible{KeyName(key), why}] += times
	}
}

func (r *Rows) noteImplausible() {
	byText := map[string]int{}
	for kind, times := range r.implausible {
		byText[kind.why+": "+kind.key] += times
	}
	const enough = 20
	for i, text := range SortedKeys(byText) {
		if i == enough {
			r.Note("left out, and %d more keys", len(byText)-enough)
			break
		}
		r.Note("left out, %d times, as %s", byText[text], text)
	}
	r.implausible = nil
}

// IsOfThisAge says that a benchmark can have been run then.
func IsOfThisAge(at time.Time) bool { return at.Year() >= 2000 && at.Year() < 2100 }

// OddNumber notes a number of a tree that is NaN, infinite, or too large for a float64.
func (r *Rows) OddNumber(name string, of Object, key string) {
	if text, isText := of[key].(string); isText && text == "" {
		r.Implausible(name, "no finite number", 1)
	}
}
