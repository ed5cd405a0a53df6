package week

import (
	"cmp"
	"slices"
	"time"
)

// Demand that is known by counts alone (queries/macros/counts.sql) is added to what single requests say.
//
//	rates.go         what was counted, and its classes
//	ratelengths.go   lengths: quantiles and bins by interpolation inside a bucket
//	ratedraws.go     requests drawn from the lengths, for a rehearsal
//	ratenotes.go     what a reader must know of all this

// ratesHour is what was counted in an hour, without the single requests.
type ratesHour struct {
	Requests float64      `json:"requests"`
	Input    []lengthCell `json:"input,omitempty"`
	Output   []lengthCell `json:"output,omitempty"`
	Joint    []jointCell  `json:"joint,omitempty"` // their lengths are in Input and Output too
}

// weekCounts say of a week's counts what a reader must know.
type weekCounts struct {
	AcrossGaps float64        `json:"across_gaps"` // requests
	InPart     float64        `json:"in_part"`     // requests in hours that are covered by less than half
	IsCoarse   bool           `json:"is_coarse"`   // some windows are longer than five minutes
	IsGuessed  bool           `json:"is_guessed"`  // some tokens come from the middles of buckets
	IsApart    bool           `json:"is_apart"`    // some prompts and answers are counted apart
	IsOpen     bool           `json:"is_open"`     // a bucket that counted something has no upper bound
	Unknown    int            `json:"unknown"`     // hours without tokens
	Refused    float64        `json:"refused"`     // requests that an engine refused, and said so
	Middle     *[2]lengthCell `json:"middle"`      // the buckets of the median prompt and of the median answer
}

// fewestCovered of an hour must lie in ordinary windows, else the hour is not covered.
const fewestCovered = 30 * time.Minute

// addClasses adds what was counted to the classes of single requests. Where nothing has a class there is none.
func (d *demand) addClasses(counted []Class) {
	for _, c := range counted {
		d.addClass(c)
	}
	if len(d.Classes) == 1 && d.Classes[0].Name == "" {
		d.Classes = nil
	}
	slices.SortStableFunc(d.Classes, func(a, b Class) int { return cmp.Compare(b.OutputTokens, a.OutputTokens) })
}

// addClass adds to the class of that name, or to the others where too many are shown already.
func (d *demand) addClass(c Class) {
	at := func(name string) int {
		return slices.IndexFunc(d.Classes, func(o Class) bool { return o.Name == name })
	}
	i := at(c.Name)
	if i < 0 && len(d.Classes) >= mostClasses {
		c.Name = restClasses
		i = at(c.Name)
	}
	if i < 0 {
		d.Classes = append(d.Classes, c)
		return
	}
	into := &d.Classes[i]
	into.Requests, into.InputTokens, into.OutputTokens = into.Requests+c.Requests, into.InputTokens+c.InputTokens, into.OutputTokens+c.OutputTokens
}
