package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"tidemark/analysis/regression"
	"tidemark/internal/hint"
	"tidemark/internal/parallel"
	"tidemark/internal/stat"
)

// serverFit is a fit of serverConstants to runs. at has the logarithm of each free constant over its prior.
//
// A play is not smooth: a request more or less in a step moves all that come after. So slopes are differences of plays about as far apart as the
// constant is unknown, and each interval is looked at where it ends. How far plays and measurements are apart by chance is found from
// themselves. Where the law holds that is little, and constants are told well; a server whose steps bend where the law has no bend gets wide
// intervals.
type serverFit struct {
	cost          StepCost // with the constants before
	runs          []*serverRun
	known         []int // places in serverConstants of those that the engine's version has
	free          []int // of these, which are fitted
	at            []float64
	covariance    [][]float64
	ends          map[int][2]float64          // of the 90 % interval of each known constant, as at; by its place
	scale         [len(playedFigures)]float64 // how far residuals of each figure are off
	worth         float64                     // of a figure, as a share of an independent measurement: those of a class go together
	before, after []float64                   // residuals
}

// mostOfSpread is how much of a prior's spread may be left of a constant that is fitted at all, leastTold of one at least.
const (
	mostOfSpread = 0.95
	leastTold    = 0.8
)

// spreads90 is half of a 90 % interval, in deviations.
const spreads90 = 1.645

// solve fits all constants that the engine's version has, and then again without those of which the runs tell nothing, so that what is kept is
// what was fitted.
func (f *serverFit) solve(ctx context.Context) (err error) {
	for i, of := range serverConstants {
		moved := f.cost
		if of.scale(&moved, 1.5); !moved.isAs(f.cost) {
			f.known = append(f.known, i)
		}
	}
	f.free, f.at = f.known, make([]float64, len(f.known))
	if f.before, err = f.residuals(ctx, f.at); err != nil {
		return err
	}
	f.after = f.before
	if err := f.settleAnew(ctx); err != nil {
		return err
	}
	var told []int
	var at []float64
	isAnyTold := false
	for a, i := range f.free {
		left := math.Sqrt(f.covariance[a][a]) / serverConstants[i].spread
		isAnyTold = isAnyTold || left <= leastTold
		if left <= mostOfSpread || serverConstants[i].slower != 0 { // the engine's go together
			told, at = append(told, i), append(at, f.at[a])
		}
	}
	if !isAnyTold {
		return hint.Errorf("these runs determine no constant").Hint("send the workload of --plan, or runs that differ in batch and prompt length")
	}
	if len(told) == len(f.free) {
		return nil
	}
	f.free, f.at, f.covariance = told, at, nil
	if f.after, err = f.residuals(ctx, f.at); err != nil {
		return err
	}
	return f.settle(ctx)
}

// settleAnew settles, and where much is left begins again as if there were no misfit but the tolerances: constants that are far away look like noise
// at first, in which priors count for more than the runs.
func (f *serverFit) settleAnew(ctx context.Context) error {
	if err := f.settle(ctx); err != nil {
		return err
	}
	off := figureError(f.after).Median
	if off <= leastOff {
		return nil
	}
	first := *f
	f.at, f.after, f.covariance, f.scale, f.worth = make([]float64, len(f.free)), f.before, nil, [len(playedFigures)]float64{1, 1, 1, 1, 1}, 1
	if err := f.move(ctx); err != nil {
		return err
	}
	if err := f.settle(ctx); err != nil {
		return err
	}
	if figureError(f.after).Median > off {
		*f = first
	}
	return nil
}

// settle moves the constants and looks how well they explain the runs, in turns, until neither changes much. Where the ends of the intervals
// show a deeper valley, it goes on from there.
func (f *serverFit) settle(ctx context.Context) error {
	for range 4 {
		f.rescale()
		for range 30 {
			if err := f.move(ctx); err != nil {
				return err
			}
			before := f.scale
			if f.rescale(); math.Abs(math.Log(f.scale[meanTPOT]/before[meanTPOT])) < 0.1 {
				break
			}
		}
		if better, err := f.probe(ctx); err != nil || !better {
			return err
		}
	}
	return nil
}

// rescale estimates how far off residuals of each figure are, to which the tolerance that was assumed counts as one more, and how far those of a
// class go together. What the constants were moved for is not counted as left: a few classes that any constants explain say little, and then
// constants stay near their priors.
func (f *serverFit) rescale() {
	var squares, count [len(playedFigures)]float64
	for i, r := range f.after {
		k := i % len(playedFigures)
		s := cmp.Or(f.scale[k], 1)
		squares[k] += r * r / math.Sqrt(1+r*r/(s*s))
		count[k]++
	}
	told := float64(len(f.free))
	if f.covariance != nil {
		for a, i := range f.free {
			told -= min(1, f.covariance[a][a]/(serverConstants[i].spread*serverConstants[i].spread))
		}
	}
	left := max(0, 1-told/(cmp.Or(f.worth, 1)*float64(len(f.after))))
	for k := range f.scale {
		f.scale[k] = max(0.1, math.Sqrt((1+squares[k])/(1+left*count[k])))
	}
	together, apart := 0.0, 0.0
	for of := range slices.Chunk(f.after, len(playedFigures)) {
		sum := 0.0
		for k, r := range of {
			r /= f.scale[k]
			r /= math.Pow(1+r*r, 0.25)
			sum, apart = sum+r, apart+r*r
		}
		together += sum * sum
	}
	f.worth = 1
	if together > apart {
		f.worth = apart / together
	}
}

// move moves the free constants until nothing gets better: Gauss-Newton steps, damped as by Marquardt (1963).
func (f *serverFit) move(ctx context.Context) error {
	damping := 1e-3
	for range 25 {
		slopes, err := f.slopes(ctx)
		if err != nil {
			return err
		}
		loss, better := f.loss(f.after, f.at), 0.0
		for range 5 {
			step, err := f.step(slopes, damping)
			if err != nil {
				return err
			}
			next := slices.Clone(f.at)
			for a := range next {
				next[a] += max(-1, min(1, step[a]))
			}
			residuals, err := f.residuals(ctx, next)
			if err != nil {
				return err
			}
			if better = loss - f.loss(residuals, next); better > 0 {
				f.at, f.after = next, residuals
				damping = max(1e-4, damping/5)
				break
			}
			damping *= 5
		}
		if better < 0.01+1e-4*loss {
			break
		}
	}
	return nil
}

// residuals are ln(played / measured), each over its tolerance.
func (f *serverFit) residuals(ctx context.Context, at []float64) (all []float64, err error) {
	cost := f.costAt(at)
	for _, r := range f.runs {
		played, err := r.play(ctx, cost)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.id, err)
		}
		for _, class := range slices.Sorted(maps.Keys(r.measured)) {
			if played[class] == nil {
				return nil, refusedByModel(r.id, class)
			}
			of, was := played[class], r.measured[class]
			for _, figure := range playedFigures {
				all = append(all, math.Log(figure.of(of, r.closed > 0)/figure.of(was, r.closed > 0))/figure.tolerance)
			}
		}
	}
	return all, nil
}

// slopes are the derivatives of the residuals by each logarithm, from plays to both sides.
func (f *serverFit) slopes(ctx context.Context) ([][]float64, error) {
	slopes := make([][]float64, len(f.free))
	return slopes, parallel.Do(len(f.free), func(a int) error {
		by := min(0.2, serverConstants[f.free[a]].spread)
		if f.covariance != nil {
			by = max(0.01, min(by, math.Sqrt(f.covariance[a][a])))
		}
		var ends [2][]float64
		for side, sign := range []float64{-1, 1} {
			at := slices.Clone(f.at)
			at[a] += sign * by
			residuals, err := f.residuals(ctx, at)
			if err != nil {
				return err
			}
			ends[side] = residuals
		}
		for k := range ends[0] {
			slopes[a] = append(slopes[a], (ends[1][k]-ends[0][k])/(2*by))
		}
		return nil
	})
}

// loss is twice the negative logarithm of how likely it all is, less what does not change. Far residuals count linearly (pseudo-Huber loss, Charbonnier et al. 1997).
func (f *serverFit) loss(residuals, at []float64) (sum float64) {
	for i, r := range residuals {
		r /= f.scale[i%len(playedFigures)]
		sum += 2 * f.worth * (math.Sqrt(1+r*r) - 1)
	}
	for a, i := range f.free {
		sum += at[a] * at[a] / (serverConstants[i].spread * serverConstants[i].spread)
	}
	return sum
}

// step is a Gauss-Newton step, with the priors as further residuals.
func (f *serverFit) step(slopes [][]float64, damping float64) ([]float64, error) {
	n := len(f.free)
	normal, right := make([][]float64, n), make([]float64, n)
	for a, i := range f.free {
		precision := 1 / (serverConstants[i].spread * serverConstants[i].spread)
		normal[a] = make([]float64, n)
		normal[a][a], right[a] = precision, -precision*f.at[a]
		for k, r := range f.after {
			s := f.scale[k%len(playedFigures)]
			weight := f.worth / math.Sqrt(1+r*r/(s*s)) / (s * s)
			for b := range f.free {
				normal[a][b] += weight * slopes[a][k] * slopes[b][k]
			}
			right[a] -= weight * slopes[a][k] * r
		}
	}
	covariance, err := regression.Inverse(normal)
	if err != nil {
		return nil, err
	}
	f.covariance = covariance
	for a := range normal {
		normal[a][a] *= 1 + damping
	}
	damped, err := regression.Inverse(normal)
	if err != nil {
		return nil, err
	}
	return times(damped, right), nil
}

// times is a symmetric matrix times a vector.
func times(matrix [][]float64, vector []float64) []float64 {
	product := make([]float64, len(vector))
	for a := range product {
		product[a] = stat.Dot(matrix[a], vector)
	}
	return product
}

// strain is how many times as far as their priors let expect the constants went, 1 at least. Then the priors are too near by so much, and what they
// alone tell of how a deviation is shared among constants is as uncertain.
func (f *serverFit) strain() float64 {
	squares, told := 0.0, 0.0
	for a, i := range f.free {
		variance := serverConstants[i].spread * serverConstants[i].spread
		squares += f.at[a] * f.at[a] / variance
		told += max(0, 1-f.covariance[a][a]/variance)
	}
	return math.Sqrt(max(1, squares/max(1, told)))
}

// way is how the logarithm of a constant goes with what is free: with its own, and with how slow all of the engine is.
func (f *serverFit) way(place int) []float64 {
	way := make([]float64, len(f.free))
	for a, i := range f.free {
		switch {
		case i == place:
			way[a] = 1
		case serverConstants[i].name == "":
			way[a] = serverConstants[place].slower
		}
	}
	return way
}

// probe finds the ends of the intervals: where the loss has grown as much as it would by then in a valley of that curvature, with the other
// constants moved as they go together. Where it has not, the end is further away, at most where the prior has it. On a better place on the way
// it moves there, and says so.
func (f *serverFit) probe(ctx context.Context) (better bool, err error) {
	type place struct {
		at, residuals []float64
		grown         float64
	}
	best, ends, loss := make([]place, len(f.known)), make([][2]float64, len(f.known)), f.loss(f.after, f.at)
	strain := f.strain()
	err = parallel.Do(len(f.known), func(n int) error {
		way := f.way(f.known[n])
		along := times(f.covariance, way)
		deviation := math.Sqrt(stat.Dot(way, along))
		if deviation == 0 {
			return nil
		}
		prior := 0.0
		for a, i := range f.free {
			prior += way[a] * way[a] * serverConstants[i].spread * serverConstants[i].spread
		}
		far := spreads90 * strain
		furthest := far * max(1, math.Sqrt(prior)/deviation)
		for side, sign := range []float64{-1, 1} {
			for away := far; ; away = min(1.5*away, furthest) {
				ends[n][side] = stat.Dot(way, f.at) + sign*away*deviation
				at := slices.Clone(f.at)
				for a := range at {
					at[a] += sign * away * along[a] / deviation
				}
				residuals, err := f.residuals(ctx, at)
				if err != nil {
					return err
				}
				grown := f.loss(residuals, at) - loss
				if grown < min(-1, best[n].grown) {
					best[n] = place{at, residuals, grown}
				}
				if grown >= far*far || away == furthest {
					break
				}
			}
		}
		return nil
	})
	f.ends = map[int][2]float64{}
	for n, i := range f.known {
		f.ends[i] = ends[n]
	}
	one := slices.MinFunc(best, func(a, b place) int { return cmp.Compare(a.grown, b.grown) })
	if err != nil || one.at == nil {
		return false, err
	}
	f.at, f.after = one.at, one.residuals
	return true, nil
}

func (f *serverFit) costAt(at []float64) StepCost {
	cost := f.cost
	for a, i := range f.free {
		serverConstants[i].scale(&cost, math.Exp(at[a]))
	}
	return cost
}
