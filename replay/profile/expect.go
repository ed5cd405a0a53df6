package profile

// What a profile asks for, computed from its distributions and not from a draw.
// It is what a draw is compared with, so it must not share the code that draws.

// expectation is what a class amounts to on average. Everything but share and
// turns is weighted by the class's share of sessions.
type expectation struct {
	share, turns          float64
	input, output, reused float64 // tokens a session
}

func (e expectation) tokens() float64 { return e.input + e.output }

type expectations []expectation

// expected is the expectation of each class.
func (m *generator) expected() expectations {
	var all expectations
	before := 0.0
	for _, k := range m.samplers {
		e := k.expected()
		e.share = k.until - before
		e.input, e.output, e.reused = e.input*e.share, e.output*e.share, e.reused*e.share
		before = k.until
		all = append(all, e)
	}
	return all
}

func (e expectations) total() expectation {
	var sum expectation
	for _, one := range e {
		sum.input += one.input
		sum.output += one.output
		sum.reused += one.reused
	}
	return sum
}

// expected is for one session. Lengths do not depend on the number of turns, so
// means add up.
func (k *sampler) expected() expectation {
	var e expectation
	input := 0.0
	for i, reached := range k.reached() {
		fresh, output := k.mean(i, ofInput), k.mean(i, ofOutput)
		reused := input // of the turn before
		switch {
		case !k.growing:
			input, reused = fresh, k.meanShared(i)
		case i == 0:
			reused = k.meanPrefix(fresh)
			input = reused + fresh
		default:
			input += k.mean(i-1, ofOutput) + fresh
		}
		e.turns += reached
		e.input += reached * input
		e.output += reached * output
		e.reused += reached * reused
	}
	return e
}

const steps = 2048

// middle is the midpoint of the i-th of equal steps of rank.
func middle(i int) float64 { return (float64(i) + 0.5) / steps }

// reached are the shares of sessions that have a first turn, a second turn, and
// so on.
func (k *sampler) reached() []float64 {
	shares := make([]float64, k.listed)
	for i := range shares {
		shares[i] = 1
	}
	if k.listed > 0 {
		return shares
	}
	for i := range steps {
		turns := int(k.turns(middle(i)))
		for len(shares) < turns {
			shares = append(shares, 0)
		}
		for n := range turns {
			shares[n] += 1.0 / steps
		}
	}
	return shares
}

// values of a turn's input, output or think time, with weights that add up to
// 1.
func (k *sampler) values(turn int, of column) (w weighted) {
	if k.joint != nil && of != ofThink {
		return k.joint.all.values(of)
	}
	v := k.of[min(turn, len(k.of)-1)]
	q := map[column]quantile{ofInput: v.input, ofOutput: v.output, ofThink: v.think}[of]
	if q == nil {
		return w
	}
	for i := range steps {
		w.weigh(q(middle(i)), 1.0/steps)
	}
	return w
}

// values takes each cell at a few places, as if lengths were even inside it.
func (p pairs) values(of column) (w weighted) {
	const parts = 8 // of a cell
	for _, c := range p.cells {
		bounds := c.Input
		if of == ofOutput {
			bounds = c.Output
		}
		for i := range parts {
			w.weigh(float64(within(bounds, (float64(i)+0.5)/parts)), c.Count/p.sums[len(p.sums)-1]/parts)
		}
	}
	return w
}

func (k *sampler) mean(turn int, of column) float64 {
	w, sum := k.values(turn, of), 0.0
	for i, value := range w.values {
		sum += value * w.weights[i]
	}
	return sum
}

// asked is what the profile says about a quantity, over all turns.
func (k *sampler) asked(of column) (w weighted) {
	for i, reached := range k.reached() {
		if of == ofThink && i == 0 {
			continue
		}
		turn := k.values(i, of)
		for j, value := range turn.values {
			w.weigh(value, reached*turn.weights[j])
		}
	}
	return w
}

// meanPrefix is for a session with history, whose first new text has that mean.
func (k *sampler) meanPrefix(fresh float64) float64 {
	switch s := k.shared; {
	case s == nil:
		return 0
	case s.follows != nil:
		return s.follows.mean()
	case s.tokens == nil:
		return fresh * s.ratio / (1 - s.ratio)
	default:
		sum, before := 0.0, 0.0
		for i, tokens := range s.tokens {
			sum += float64(tokens) * (s.sums[i] - before)
			before = s.sums[i]
		}
		return sum / before
	}
}

// meanShared is for a prompt without history. At most its whole blocks can be
// shared, and at least one token is its own.
func (k *sampler) meanShared(turn int) float64 {
	s := k.shared
	if s == nil {
		return 0
	}
	w, sum := k.values(turn, ofInput), 0.0
	reached := 0.0
	for i, input := range w.values {
		wanted := input * s.ratio
		switch {
		case s.follows != nil:
			wanted = s.follows(reached + w.weights[i]/2)
		case s.tokens != nil:
			wanted = k.meanPrefix(0)
		}
		reached += w.weights[i]
		sum += min(wanted, float64((int(input)-1)/k.blockTokens*k.blockTokens)) * w.weights[i]
	}
	return sum
}
