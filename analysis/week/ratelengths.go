package week

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"tidemark/replay/profile"
)

// Demand that is known by counts alone (queries/macros/counts.sql) is added to what single requests say.
//
//	ratelengths.go   what was counted; quantiles and bins of lengths by interpolation inside a bucket, or the part of it that has the mean that was counted
//	ratedraws.go     requests drawn from the lengths, for a rehearsal
//	ratenotes.go     what a reader must know of all this

// ratesHour is what was counted in an hour, without the single requests.
type ratesHour struct {
	Requests float64      `json:"requests"`
	Input    []lengthCell `json:"input,omitempty"`
	Output   []lengthCell `json:"output,omitempty"`
	Joint    []jointCell  `json:"joint,omitempty"` // their lengths are in Input and Output too

	MeanInput  *float64 `json:"mean_input,omitempty"` // tokens, by the servers' sums of lengths; nil: not known
	MeanOutput *float64 `json:"mean_output,omitempty"`
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

// lengthCell is a bucket of a histogram: lengths above one bound and up to another one. Where the two are equal it is that length.
type lengthCell struct {
	Above    float64 `json:"above"`
	UpTo     float64 `json:"up_to"`
	Requests float64 `json:"n"`
}

// jointCell is a cell of a histogram of prompts and answers together.
type jointCell struct {
	Input    [2]float64 `json:"input"` // above, up to
	Output   [2]float64 `json:"output"`
	Requests float64    `json:"n"`
}

// lengths are all of prompts and all of answers, those of joint cells too.
func (r *ratesHour) lengths() (inputs, outputs []lengthCell) {
	inputs, outputs = slices.Clone(r.Input), slices.Clone(r.Output)
	for _, c := range r.Joint {
		inputs = append(inputs, lengthCell{c.Input[0], c.Input[1], c.Requests})
		outputs = append(outputs, lengthCell{c.Output[0], c.Output[1], c.Requests})
	}
	return inputs, outputs
}

// added puts another hour's lengths to these.
func (r *ratesHour) added(o *ratesHour) {
	r.Input, r.Output, r.Joint = append(r.Input, o.Input...), append(r.Output, o.Output...), append(r.Joint, o.Joint...)
}

// holdMeans narrows the buckets to the means that were counted.
func (r *ratesHour) holdMeans() {
	hold := func(cells []lengthCell, mean *float64) {
		if mean == nil || len(cells) == 0 {
			return
		}
		buckets := make([]profile.Bucket, len(cells))
		for i, c := range cells {
			buckets[i] = profile.Bucket{From: c.Above, Until: c.UpTo, Count: c.Requests}
		}
		profile.HoldMean(buckets, *mean)
		for i, b := range buckets {
			cells[i].Above, cells[i].UpTo = b.From, b.Until
		}
	}
	hold(r.Input, r.MeanInput)
	hold(r.Output, r.MeanOutput)
}

// mixLengths adds the lengths that were counted to those of single requests.
func (d *demand) mixLengths() {
	d.Counted.Middle = d.middle()
	var week ratesHour
	for i := range d.Hours {
		h := &d.Hours[i]
		if h.Rates == nil {
			continue
		}
		h.Rates.holdMeans()
		inputs, outputs := h.Rates.lengths()
		h.mix(inputs, &h.InputBins, &h.P50Input, &h.P99Input)
		h.mix(outputs, &h.OutputBins, &h.P50Output, &h.P99Output)
		week.added(h.Rates)
	}
	inputs, outputs := week.lengths()
	d.Input.mix(inputs)
	d.Output.mix(outputs)
	d.mixCells(week.Joint)
}

// middle is the buckets of the week's median prompt and of its median answer, as the servers have them.
func (d *demand) middle() *[2]lengthCell {
	var week ratesHour
	for _, h := range d.Hours {
		if h.Rates != nil {
			week.added(h.Rates)
		}
	}
	inputs, outputs := week.lengths()
	if len(inputs) == 0 || len(outputs) == 0 {
		return nil
	}
	return &[2]lengthCell{bucketOf(addedUp(inputs), 0.5), bucketOf(addedUp(outputs), 0.5)}
}

func (h *demandHour) mix(cells []lengthCell, bins *[][2]int64, p50, p99 **float64) {
	if len(cells) == 0 {
		return
	}
	for _, bin := range *bins {
		cells = append(cells, lengthAt(int(bin[0]), hourBinsPerOctave, bin[1]))
	}
	*bins = nil
	cells = addedUp(cells)
	n := eachBin(cells, hourBinsPerOctave, func(bin int, requests int64) { *bins = append(*bins, [2]int64{int64(bin), requests}) })
	*p50, *p99 = interpolatedAt(cells, 0.5), nil
	if n >= fewestForP99 {
		*p99 = interpolatedAt(cells, 0.99)
	}
}

func (l *lengths) mix(cells []lengthCell) {
	if len(cells) == 0 {
		return
	}
	for _, bin := range l.Bins {
		cells = append(cells, lengthAt(bin.Of, binsPerOctave, bin.Requests))
	}
	cells = addedUp(cells)
	l.Bins, l.P99 = nil, nil
	l.Counts = eachBin(cells, binsPerOctave, func(bin int, requests int64) { l.Bins = append(l.Bins, lengthBin{bin, requests}) })
	l.P50, l.P90 = interpolatedAt(cells, 0.5), interpolatedAt(cells, 0.9)
	if l.Counts >= fewestForP99 {
		l.P99 = interpolatedAt(cells, 0.99)
	}
}

// lengthAt is the length in the middle of a bin of a logarithmic scale.
func lengthAt(bin, perOctave int, requests int64) lengthCell {
	at := math.Exp2(float64(bin) / float64(perOctave))
	return lengthCell{at, at, float64(requests)}
}

// addedUp has each cell once, in order.
func addedUp(cells []lengthCell) []lengthCell {
	sums := map[[2]float64]float64{}
	for _, c := range cells {
		sums[[2]float64{c.Above, c.UpTo}] += c.Requests
	}
	all := make([]lengthCell, 0, len(sums))
	for bounds, requests := range sums {
		all = append(all, lengthCell{bounds[0], bounds[1], requests})
	}
	slices.SortFunc(all, func(a, b lengthCell) int { return cmp.Or(cmp.Compare(a.UpTo, b.UpTo), cmp.Compare(a.Above, b.Above)) })
	return all
}

// notAbove is how many of the cell's requests are at most x long, or shorter than x.
func (c lengthCell) notAbove(x float64, orEqual bool) float64 {
	switch {
	case c.UpTo < x || c.UpTo == x && (orEqual || c.Above < c.UpTo):
		return c.Requests
	case x <= c.Above:
		return 0
	}
	return c.Requests * (x - c.Above) / (c.UpTo - c.Above)
}

func sumOf[T any](cells []T, of func(T) float64) (sum float64) {
	for _, c := range cells {
		sum += of(c)
	}
	return sum
}

// interpolatedAt is a quantile of cells, each of whose requests lie evenly between its bounds; nil: there are none.
func interpolatedAt(cells []lengthCell, q float64) *float64 {
	total := sumOf(cells, lengthCell.weight)
	if total <= 0 {
		return nil
	}
	wanted := q*total - 1e-9*total
	edges := make([]float64, 0, 2*len(cells))
	for _, c := range cells {
		edges = append(edges, c.Above, c.UpTo)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	reachedAt := func(i int, orEqual bool) float64 {
		return sumOf(cells, func(c lengthCell) float64 { return c.notAbove(edges[i], orEqual) })
	}
	// The lowest edge up to which there are enough.
	at := min(sort.Search(len(edges), func(i int) bool { return reachedAt(i, true) >= wanted }), len(edges)-1)
	if before := reachedAt(at, false); at > 0 && before >= wanted {
		from, reached := edges[at-1], reachedAt(at-1, true)
		return new(from + (edges[at]-from)*(q*total-reached)/(before-reached))
	}
	return &edges[at]
}

// bucketOf is the first of some cells in order that reaches a quantile.
func bucketOf(cells []lengthCell, q float64) (found lengthCell) {
	total, reached := sumOf(cells, lengthCell.weight), 0.0
	for _, found = range cells {
		if reached += found.Requests; reached >= q*total*(1-1e-9) {
			break
		}
	}
	return found
}

// eachBin spreads cells over a logarithmic scale, every whole length within a cell alike, and yields whole requests; it returns their sum.
func eachBin(cells []lengthCell, perOctave int, each func(bin int, requests int64)) (sum int64) {
	bins := map[int]float64{}
	binOf := func(length float64) int { return int(math.Round(float64(perOctave) * math.Log2(max(length, 1)))) }
	top := func(bin int) float64 { return math.Floor(math.Exp2((float64(bin) + 0.5) / float64(perOctave))) }
	for _, c := range cells {
		if c.Above == c.UpTo {
			bins[binOf(c.UpTo)] += c.Requests
			continue
		}
		split(c.Above, c.UpTo, binOf(c.Above+1), top, func(bin int, share, _ float64) { bins[bin] += share * c.Requests })
	}
	total := 0.0
	for _, bin := range slices.Sorted(maps.Keys(bins)) {
		total += bins[bin]
		if n := int64(math.Round(total)) - sum; n > 0 {
			each(bin, n)
			sum += n
		}
	}
	return sum
}

// split yields the share of the whole numbers above one bound and up to another one that lies in each bin, and their mean. top is the largest in
// a bin.
func split(above, upTo float64, bin int, top func(int) float64, each func(bin int, share, mean float64)) {
	for from := above; from < upTo; bin++ {
		if until := min(upTo, top(bin)); until > from {
			each(bin, (until-from)/(upTo-above), (from+1+until)/2)
			from = until
		}
	}
}

// mixCells adds joint cells to those of the heat map.
func (d *demand) mixCells(joint []jointCell) {
	if len(joint) == 0 {
		return
	}
	type sums struct{ requests, tokens float64 }
	grid := map[[2]int]sums{}
	placeOf := func(length float64) int { return int(math.Floor(2*math.Log2(max(length, 1)) + 1e-9)) }
	for _, c := range d.Cells {
		grid[[2]int{placeOf(c.InputFrom), placeOf(c.OutputFrom)}] = sums{float64(c.Requests), float64(c.Tokens)}
	}
	top := func(place int) float64 { return math.Ceil(math.Exp2(float64(place+1)/2)) - 1 }
	for _, c := range joint {
		split(c.Input[0], c.Input[1], placeOf(c.Input[0]+1), top, func(input int, share, long float64) {
			split(c.Output[0], c.Output[1], placeOf(c.Output[0]+1), top, func(output int, part, answer float64) {
				n, at := share*part*c.Requests, [2]int{input, output}
				grid[at] = sums{grid[at].requests + n, grid[at].tokens + n*(long+answer)}
			})
		})
	}
	d.Cells = nil
	total, given := 0.0, int64(0)
	edge := func(n int) float64 { return math.Exp2(float64(n) / 2) }
	for _, at := range slices.SortedFunc(maps.Keys(grid), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		total += grid[at].requests
		if n := int64(math.Round(total)) - given; n > 0 {
			given += n
			d.Cells = append(d.Cells, Cell{InputFrom: edge(at[0]), InputTo: edge(at[0] + 1), OutputFrom: edge(at[1]), OutputTo: edge(at[1] + 1),
				Requests: n, Tokens: int64(math.Round(grid[at].tokens))})
		}
	}
}
