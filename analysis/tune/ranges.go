package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"tidemark/internal/hint"
	"tidemark/internal/yamlfile"
)

// A range is a setting of which the highest value that starts is searched before anything is measured, with the rest of the deployment as it is: how much
// memory a server can take depends on graphs, activations and what else is on the GPU, which the engine model does not know. It takes for granted that of
// two values the higher one does not start more easily.

// Range is from where to where, in which steps. The top counts also where no step ends there.
type Range struct {
	From, To, Step float64
	isWhole        bool
}

// highestThatStarts is what is searched.
const highestThatStarts = "highest that starts"

// readRange reads {from: 0.85, to: 0.95, search: highest that starts}.
func (k *Knob) readRange(where string, node *yamlfile.Node) error {
	r, word := &Range{}, ""
	any := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	err := yamlfile.Fields{
		"from":   yamlfile.Number(&r.From, any, "a number"),
		"to":     yamlfile.Number(&r.To, any, "a number"),
		"step":   yamlfile.Number(&r.Step, func(v float64) bool { return v > 0 && any(v) }, "a number above 0"),
		"search": yamlfile.OneOf(&word, highestThatStarts),
		"flag":   yamlfile.Text(&k.Flag),
	}.Read(where, node)
	if err == nil {
		err = yamlfile.Require(where, node, "from", "to", "search")
	}
	if err != nil {
		return err
	}
	whole := func(v float64) bool { return v == math.Trunc(v) }
	r.isWhole = whole(r.From) && whole(r.To) && whole(r.Step)
	switch {
	case r.Step == 0 && r.isWhole:
		r.Step = max(1, math.Round((r.To-r.From)/32))
	case r.Step == 0:
		r.Step = 0.01
	}
	switch {
	case r.From >= r.To:
		return yamlfile.Errorf(node, "%s: from %v is not below to %v", where, r.From, r.To)
	case r.steps() > 1<<20:
		return hint.Wrap(yamlfile.Errorf(node, "%s: more than a million steps of %v", where, r.Step)).Hint("a larger step")
	}
	k.Range = r
	return nil
}

func (r Range) steps() int { return int(math.Ceil((r.To-r.From)/r.Step - 1e-9)) }

// at is a value as a flag has it.
func (r Range) at(step int) string {
	return strconv.FormatFloat(min(r.To, math.Round((r.From+float64(step)*r.Step)*1e6)/1e6), 'f', -1, 64)
}

// next is the value to start with, or what was found: the highest that starts, empty where not even the lowest does. The highest is tried first, for often
// it starts.
func (r Range) next(starts func(value string) (starts, isKnown bool)) (value, found string, isDone bool) {
	low, high := 0, r.steps()
	for _, end := range []int{high, low} {
		switch is, isKnown := starts(r.at(end)); {
		case !isKnown:
			return r.at(end), "", false
		case is && end == high:
			return "", r.at(high), true
		case !is && end == low:
			return "", "", true
		}
	}
	for high-low > 1 {
		middle := (low + high) / 2
		is, isKnown := starts(r.at(middle))
		switch {
		case !isKnown:
			return r.at(middle), "", false
		case is:
			low = middle
		default:
			high = middle
		}
	}
	return "", r.at(low), true
}

// HasRanges says that a value is to be searched by starts.
func (f File) HasRanges() bool {
	return slices.ContainsFunc(f.Knobs, func(k Knob) bool { return k.Range != nil })
}

// CheckRanges refuses ranges where nothing is started, and a budget that they may use up.
func (f File) CheckRanges(isRehearsed bool) error {
	most := 0
	for _, k := range f.Knobs {
		switch {
		case k.Range == nil:
			continue
		case isRehearsed || f.Server == nil:
			return hint.Misuse("tune: line %d: %s: the highest that starts is found by starts, and nothing is started: the model does not know what else a GPU's memory holds", k.line, k.Name).
				Hint("server: in the file, without --rehearsed; or list the values: %s: [%s, %s]", k.Name, k.Range.at(0), k.Range.at(k.Range.steps()))
		}
		most += 2 + bits.Len(uint(k.Range.steps()-1))
	}
	if need := most + 2; most > 0 && f.Budget.Starts < need {
		return hint.Misuse("tune: budget: %d starts: to find the highest that starts may take %d, and the baseline and one candidate take 2", f.Budget.Starts, most).
			Hint("budget: {starts: %d}, or a larger step", max(need, 20))
	}
	return nil
}

// Ranging is the search for the values of ranges, of which the tries so far are known.
type Ranging struct {
	Tries []Try
	Found []string // in words
	file  *File
	base  Candidate
	made  map[string]Candidate // by key
}

// NewRanging begins with the deployment as it is.
func (f *File) NewRanging() (*Ranging, error) {
	all, err := f.Candidates()
	if err != nil {
		return nil, err
	}
	return &Ranging{file: f, base: all[0], made: map[string]Candidate{}}, nil
}

// Next is the next candidate to start. Where there is none the file has the values that were found, and fails is the setting of which no value starts;
// empty: each has one.
func (r *Ranging) Next() (c Candidate, isDone bool, fails string, err error) {
	for i := range r.file.Knobs {
		k := &r.file.Knobs[i]
		if k.Range == nil {
			continue
		}
		value, found, isFound := k.Range.next(func(value string) (bool, bool) {
			c, withErr := r.with(i, value)
			err = cmp.Or(err, withErr)
			at := slices.IndexFunc(r.Tries, func(t Try) bool { return t.Candidate == c.Key() })
			return at >= 0 && r.Tries[at].Outcome == Served, at >= 0
		})
		switch {
		case err != nil:
			return c, false, "", err
		case !isFound:
			c, err = r.with(i, value)
			return c, false, "", err
		case found == "":
			return c, true, k.Name, nil
		}
		if r.base, err = r.with(i, found); err != nil {
			return c, false, "", err
		}
		r.Found = append(r.Found, fmt.Sprintf("%s %s is the highest that starts, to a step of %v", k.Name, found, k.Range.Step))
		k.Values, k.Range, r.file.wasRanged = []string{found}, nil, true
	}
	return c, true, "", nil
}

// with is the deployment with a value of a setting.
func (r *Ranging) with(i int, value string) (Candidate, error) {
	c := r.base
	c.IsBaseline, c.Values = false, slices.Clone(r.base.Values)
	c.Values[i] = value
	if of := r.file.Knobs[i].field; of != nil {
		if err := of.Set(&c.Deployment, value); err != nil {
			return c, err
		}
		c.Deployment = c.Deployment.Normal()
	}
	r.made[c.Key()] = c
	return c, nil
}

// Failed are the values that did not start, as entrants that have no rate.
func (r *Ranging) Failed() (failed []Finisher) {
	for _, t := range r.Tries {
		if t.Outcome != Served {
			failed = append(failed, Finisher{Row: Row{Candidate: r.made[t.Candidate]}, Rejected: t.Why, Tried: []Try{t}})
		}
	}
	return failed
}
