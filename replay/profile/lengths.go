package profile

import "tidemark/internal/hint"

// Lengths are what a profile uses of an ingested trace.
type Lengths struct {
	Pairs []Pair     // input and output of its requests, in order of input and output
	Hours [24][]Pair // the same by hour of the day (since the trace's start where it has no clock); empty unless asked for
	GapsS []float64  // between arrivals, in order, seconds
}

// Pair counts the requests of these lengths.
type Pair struct {
	Input, Output int
	Count         int64
}

// marginal is the distribution of input or output alone.
func (l *Lengths) marginal(of column) counted {
	counts := map[int]float64{}
	for _, p := range l.Pairs {
		if of == ofOutput {
			counts[p.Output] += float64(p.Count)
		} else {
			counts[p.Input] += float64(p.Count)
		}
	}
	return countedFrom(counts)
}

// remembered asks for each source only once.
func remembered(ask func(string) (Lengths, error)) func(string) (*Lengths, error) {
	had := map[string]*Lengths{}
	return func(source string) (*Lengths, error) {
		if l := had[source]; l != nil {
			return l, nil
		}
		if ask == nil {
			return nil, hint.Errorf("source %s: a profile needs its lengths", source).Hint(`take it in with "tidemark ingest"`)
		}
		l, err := ask(source)
		if err != nil {
			return nil, err
		}
		had[source] = &l
		return &l, nil
	}
}

// Sources are the ingested traces from which the profile takes lengths or gaps,
// each once.
func (p *Profile) Sources() []string {
	var names []string
	add := func(name string) {
		for _, had := range names {
			if had == name {
				return
			}
		}
		if name != "" {
			names = append(names, name)
		}
	}
	add(p.Arrivals.Source)
	for _, c := range p.Classes {
		for _, t := range append(c.turns(), c.Turn) {
			for _, d := range []*Distribution{t.Input, t.Output} {
				if d != nil {
					add(d.source)
				}
			}
		}
		if c.Joint != nil {
			add(c.Joint.Source)
		}
	}
	return names
}
