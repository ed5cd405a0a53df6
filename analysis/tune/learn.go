package tune

import (
	"fmt"
	"math"
)

// A try of one server says something of servers that have not been started. The ln of measured over expected rate is a sum: an effect that all
// candidates share, because the model is off, and an effect of each value of each setting, because the model does not know what that value does.
// Each try narrows the effects that its candidate has. Another candidate is then expected to be off by the effects that it has too.

// Standard deviations before anything is measured, ln.
const (
	allOff   = 0.3  // of all servers from the model
	valueOff = 0.1  // that one value of a setting makes
	restOff  = 0.05 // that several make together, and what is left by one search at best
	lostLn   = -1.0 // of one that failed to start or keeps no SLO: others that share its settings may, too
	lostOff  = 0.3

	priorTries = 4 // that the standard deviations are worth
)

// effects are a normal distribution over the effects; the first is that of all.
type effects struct {
	place  map[string]int // of a setting's value among them
	mean   []float64
	spread [][]float64 // covariance
	tries  float64     // that were taken in,
	odd    float64     // and the sum of their squared surprises, in standard deviations
}

func newEffects(field []Row) *effects {
	e := &effects{place: map[string]int{"": 0}}
	for _, r := range field {
		for i := range r.knobs {
			if name := r.valueName(i); e.place[name] == 0 {
				e.place[name] = len(e.place)
			}
		}
	}
	e.mean, e.spread = make([]float64, len(e.place)), make([][]float64, len(e.place))
	for i := range e.spread {
		e.spread[i] = make([]float64, len(e.place))
		e.spread[i][i] = valueOff * valueOff
	}
	e.spread[0][0] = allOff * allOff
	return e
}

// valueName is a setting with its value; one at its default has the name of the value that the engine has resolved.
func (c Candidate) valueName(i int) string {
	k, value := c.knobs[i], c.Values[i]
	switch {
	case k.Name == caching:
		value = fmt.Sprint(c.IsCached)
	case k.field != nil:
		if resolved := k.field.Get(c.Deployment); resolved != nil {
			value = fmt.Sprint(resolved)
		}
	}
	return fmt.Sprint(k.Name, " ", value)
}

// of are the places of a candidate's effects.
func (e *effects) of(c Candidate) []int {
	places := []int{0}
	for i := range c.knobs {
		places = append(places, e.place[c.valueName(i)])
	}
	return places
}

// guess is how far a candidate is from the model, ln, with its standard deviation. That is larger where the tries have surprised.
func (e *effects) guess(c Candidate) (mean, off float64) {
	mean, variance := e.sum(e.of(c))
	return mean, math.Sqrt(max(1, (priorTries+e.odd)/(priorTries+e.tries)) * variance)
}

// sum of some effects and of what is not one, with its variance.
func (e *effects) sum(places []int) (mean, variance float64) {
	variance = restOff * restOff
	for _, i := range places {
		mean += e.mean[i]
		for _, j := range places {
			variance += e.spread[i][j]
		}
	}
	return mean, variance
}

// learn takes in that these effects make so much, ln, known to a standard deviation.
func (e *effects) learn(places []int, ln, off float64) {
	expected, variance := e.sum(places)
	variance += off * off
	e.tries, e.odd = e.tries+1, e.odd+(ln-expected)*(ln-expected)/variance
	with := make([]float64, len(e.mean)) // covariance of each effect with the candidate
	for i := range with {
		for _, j := range places {
			with[i] += e.spread[i][j]
		}
	}
	for i := range with {
		e.mean[i] += with[i] / variance * (ln - expected)
		for j := range with {
			e.spread[i][j] -= with[i] * with[j] / variance
		}
	}
}
