package profile

import (
	"cmp"
	"fmt"
)

// newSampler prepares a class. Its ranks depend on the class's name only, so
// that a class draws the same sessions whatever other classes there are.
func (p *Profile) newSampler(c *Class, seed uint64, lengths func(string) (*Lengths, error)) (*sampler, error) {
	k := &sampler{name: c.Name, listed: len(c.Listed), growing: c.Prefix.IsGrowing, blockTokens: p.BlockTokens,
		turnRanks: newRanks(seed, c.Name, "turns"), inputRanks: newRanks(seed, c.Name, "input"),
		outputRanks: newRanks(seed, c.Name, "output"), thinkRanks: newRanks(seed, c.Name, "think"),
		prefixRanks: newRanks(seed, c.Name, "starter")}
	var err error
	if k.turns, err = c.Turns.orOne().quantile(lengths); err == nil && c.Joint != nil {
		k.joint, err = c.Joint.resolved(lengths)
	}
	for _, t := range c.turns() {
		if err != nil {
			break
		}
		of := turnSampler{}
		of, err = c.turnSampler(t, lengths)
		k.of, k.dealt = append(k.of, of), append(k.dealt, 0)
	}
	if err == nil && c.Prefix.Shared != nil {
		k.shared, err = c.Prefix.Shared.resolved(seed, cmp.Or(c.Prefix.Shared.Name, c.Name))
	}
	if err != nil {
		return nil, fmt.Errorf("class %s: %w", c.Name, err)
	}
	return k, nil
}

// orOne is the number of turns: one where nothing is said.
func (d *Distribution) orOne() *Distribution {
	if d == nil {
		return &Distribution{of: ofTurns, kind: "constant", a: 1, least: 1, most: 1}
	}
	return d
}

// turnSampler takes what a turn says, and otherwise what its class says.
func (c *Class) turnSampler(t Turn, lengths func(string) (*Lengths, error)) (turnSampler, error) {
	var v turnSampler
	for _, one := range []struct {
		into *quantile
		d    *Distribution
	}{
		{&v.input, cmp.Or(t.Input, c.Input)},
		{&v.output, cmp.Or(t.Output, c.Output)},
		{&v.think, cmp.Or(t.Think, c.Think)},
	} {
		if one.d == nil {
			continue
		}
		var err error
		if *one.into, err = one.d.quantile(lengths); err != nil {
			return v, err
		}
	}
	return v, nil
}

// resolved draws the length of each shared prefix once, evenly over the
// distribution.
func (s *Shared) resolved(seed uint64, name string) (*prefixPool, error) {
	r := &prefixPool{ratio: s.Ratio, longest: make([]int, s.Count)}
	sum := 0.0
	for i := range s.Count {
		weight := 1.0
		if s.IsZipf {
			weight = 1 / float64(i+1)
		}
		sum += weight
		r.sums = append(r.sums, sum)
	}
	if s.Tokens == nil {
		return r, nil
	}
	tokens, err := s.Tokens.quantile(nil)
	if err != nil || s.FollowsInput {
		r.follows = tokens
		return r, err
	}
	order := shuffled(s.Count, newRanks(seed, name, "starter tokens"))
	for i := range s.Count {
		r.tokens = append(r.tokens, int(tokens((float64(order[i])+0.5)/float64(s.Count))))
	}
	return r, nil
}

// shuffled is a permutation of 0 to n-1 that the ranks determine.
func shuffled(n int, d rankStream) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
		j := int(d.rank(uint64(i), 0.5) * float64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	return order
}
