//go:build duckdb_arrow

package privacy

import (
	"math"
	"slices"
	"sort"
)

// Loss is what an export costs those who replay it.
type Loss struct {
	InputKS          float64            `json:"input_ks"`  // Kolmogorov-Smirnov distance of the prompts, 0 to 1
	OutputKS         float64            `json:"output_ks"` // of the answers
	InputShift       map[string]float64 `json:"input_shift,omitempty"`
	OutputShift      map[string]float64 `json:"output_shift,omitempty"` // of quantiles and mean: after / before - 1
	ReusedBefore     *float64           `json:"reused_blocks_ratio_before,omitempty"`
	ReusedAfter      *float64           `json:"reused_blocks_ratio_after,omitempty"`
	DispersionBefore *float64           `json:"dispersion_10s_before,omitempty"` // variance / mean of the counts per 10 s (Fano factor)
	DispersionAfter  *float64           `json:"dispersion_10s_after,omitempty"`
	ThinkMeanBefore  *float64           `json:"think_s_mean_before,omitempty"` // seconds
	ThinkMeanAfter   *float64           `json:"think_s_mean_after,omitempty"`
	ChangedMinutes   *int64             `json:"changed_minutes,omitempty"` // minutes that have another number of requests than before
}

// distribution is a distribution function of lengths: at is the share of
// lengths up to and including one.
type distribution interface {
	at(tokens float64) float64
	lengths() []float64 // where it has steps or bends
}

type sample []int64 // sorted

func sampleOf(rows []Row, length func(*Row) int64) sample {
	s := make(sample, len(rows))
	for i := range rows {
		s[i] = length(&rows[i])
	}
	slices.Sort(s)
	return s
}

func (s sample) at(tokens float64) float64 {
	return float64(sort.Search(len(s), func(i int) bool { return float64(s[i]) > tokens })) / float64(len(s))
}

func (s sample) lengths() (bends []float64) {
	for i, length := range s {
		if i == 0 || s[i-1] != length {
			bends = append(bends, float64(length))
		}
	}
	return bends
}

// spreadOut is the distribution of a histogram, uniform inside each cell, which
// is how a replay draws from it.
type spreadOut struct {
	bounds []int64   // lengths below which
	shares []float64 // so much lies
}

// spreadCells combines the cells of one side, input or output, into a
// distribution.
func spreadCells(cells []Cell, side func(Cell) (from, until int32)) spreadOut {
	height := int32(0)
	total := 0.0
	for _, cell := range cells {
		_, until := side(cell)
		height = max(height, until)
		total += float64(cell.Requests)
	}
	share := make([]float64, height)
	for _, cell := range cells {
		from, until := side(cell)
		width := float64(rungs[until] - rungs[from])
		for i := from; i < until; i++ {
			share[i] += float64(cell.Requests) / total * float64(rungs[i+1]-rungs[i]) / width
		}
	}
	s := spreadOut{[]int64{0}, []float64{0}}
	for i := range share {
		s.bounds = append(s.bounds, rungs[i+1])
		s.shares = append(s.shares, s.shares[i]+share[i])
	}
	return s
}

func inputSide(c Cell) (int32, int32)  { return c.InFrom, c.InUntil }
func outputSide(c Cell) (int32, int32) { return c.OutFrom, c.OutUntil }

func (s spreadOut) at(tokens float64) float64 {
	below := tokens + 1 // lengths are whole: up to and including tokens
	i := sort.Search(len(s.bounds), func(i int) bool { return float64(s.bounds[i]) > below })
	if i == 0 || i == len(s.bounds) {
		return float64(min(i, 1))
	}
	inside := (below - float64(s.bounds[i-1])) / float64(s.bounds[i]-s.bounds[i-1])
	return s.shares[i-1] + inside*(s.shares[i]-s.shares[i-1])
}

func (s spreadOut) lengths() (bends []float64) {
	for _, bound := range s.bounds {
		bends = append(bends, float64(bound-1))
	}
	return bends
}

// distance is the largest difference of two distribution functions (Kolmogorov
// and Smirnov). Both are evaluated on either side of every step.
func distance(a, b distribution) (largest float64) {
	for _, at := range slices.Concat(a.lengths(), b.lengths()) {
		for _, tokens := range []float64{at - 1, at} {
			largest = max(largest, math.Abs(a.at(tokens)-b.at(tokens)))
		}
	}
	return largest
}

// quantile is the shortest length at which the distribution reaches a share.
func quantile(d distribution, share float64) float64 {
	low, high := 0.0, float64(mostTokens)
	for high-low > 0.5 {
		if middle := math.Floor((low + high) / 2); d.at(middle) >= share-1e-12 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return high
}

var shares = map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99}

// shifts compares quantiles and mean after the export with those before it.
func shifts(before, after distribution, meanBefore, meanAfter float64) map[string]float64 {
	shift := func(before, after float64) float64 {
		if before == 0 {
			return 0
		}
		return after/before - 1
	}
	by := map[string]float64{"mean": shift(meanBefore, meanAfter)}
	for name, share := range shares {
		by[name] = shift(quantile(before, share), quantile(after, share))
	}
	return by
}

func (s sample) mean() float64 {
	sum := 0.0
	for _, length := range s {
		sum += float64(length)
	}
	return sum / float64(len(s))
}

func (s spreadOut) mean() (mean float64) {
	for i := 1; i < len(s.bounds); i++ {
		mean += (s.shares[i] - s.shares[i-1]) * float64(s.bounds[i]-1+s.bounds[i-1]) / 2
	}
	return mean
}

// reused is the share of prompt blocks that an earlier request had; nil without
// blocks.
func reused(rows []Row) *float64 {
	seen := map[uint64]bool{}
	uses, again := 0, 0
	for _, row := range rows {
		for _, id := range row.Blocks {
			uses++
			if seen[id] {
				again++
			}
		}
		for _, id := range row.Blocks {
			seen[id] = true
		}
	}
	if uses == 0 {
		return nil
	}
	ratio := float64(again) / float64(uses)
	return &ratio
}

// dispersion is the variance of the counts in windows divided by their mean,
// averaged over windows that start at every half second. Without the average, a
// clock that ticks would make the result depend on where the first window
// starts. It is nil for fewer than two complete windows.
func dispersion(rows []Row, width int64) *float64 {
	const step = second / 2
	sum, phases := 0.0, 0.0
	for phase := int64(0); phase < width; phase += step {
		index, ok := dispersionFrom(rows, width, phase)
		if !ok {
			return nil
		}
		sum, phases = sum+index, phases+1
	}
	mean := sum / phases
	return &mean
}

func dispersionFrom(rows []Row, width, phase int64) (index float64, ok bool) {
	if len(rows) == 0 {
		return 0, false
	}
	begin := floorTo(rows[0].At-phase, width) + phase
	counts := make([]float64, (rows[len(rows)-1].At-begin)/width+1)
	if len(counts) < 4 {
		return 0, false
	}
	for _, row := range rows {
		counts[(row.At-begin)/width]++
	}
	counts = counts[1 : len(counts)-1] // the trace fills the first and the last only in part
	mean, square := 0.0, 0.0
	for _, n := range counts {
		mean += n / float64(len(counts))
	}
	for _, n := range counts {
		square += (n - mean) * (n - mean) / float64(len(counts))
	}
	return square / mean, mean > 0
}

// minutes counts requests by the minutes of the clock.
func minutes(rows []Row) map[int64]int64 {
	counts := map[int64]int64{}
	for _, row := range rows {
		counts[floorTo(row.At, minute)]++
	}
	return counts
}

// changed counts the minutes whose number of requests differs.
func changed(before, after map[int64]int64) (n int64) {
	for at, count := range before {
		if after[at] != count {
			n++
		}
	}
	for at := range after {
		if before[at] == 0 {
			n++
		}
	}
	return n
}
