package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// Settings that the server does not tell may be wrong, and a wrong one is dangerous: the limit is off by half and the interval narrow. So
// candidates are tried, one setting changed at a time from the best so far. Those that fit the runs about as well as the best one are
// rivals, and the interval is that of all of them.

const (
	asGood      = 1.10 // a rival's distance from the runs, over that of the best
	asGoodSlack = 0.01
	mostRivals  = 3
	mostFitting = 10 // that are looked at for another answer
)

// calibrate finds the twins that fit the runs.
func (s *search) calibrate(runs []*Run) error {
	told := s.told(runs)
	base := s.settingsOf(told)
	tried := []Settings{base}
	if !s.q.Twin.AreSettingsCertain {
		tried = s.candidates(base, told)
	}
	if len(tried) == 1 {
		c, err := s.calibrated(base, runs)
		s.rivals = []*calibrated{c}
		return err
	}
	return s.compete(base, told, runs)
}

// told are the settings that the server told in any run.
func (s *search) told(runs []*Run) Settings {
	var told Settings
	for _, r := range runs {
		said := r.Said.Settings
		told.MaxNumBatchedTokens = max(told.MaxNumBatchedTokens, said.MaxNumBatchedTokens)
		told.MaxNumSeqs = max(told.MaxNumSeqs, said.MaxNumSeqs)
		told.KVBlocks = max(told.KVBlocks, said.KVBlocks)
		if said.PrefixCaching != nil {
			told.PrefixCaching = said.PrefixCaching
		}
	}
	return told
}

// settingsOf are the twin's own where nothing is told.
func (s *search) settingsOf(told Settings) Settings {
	engine := newTwin(s.ctx, s.q, told).engine
	caching := engine.EnablePrefixCaching
	settings := Settings{engine.MaxNumBatchedTokens, engine.MaxNumSeqs, engine.KVBlocks, &caching}
	settings.MaxNumBatchedTokens = cmp.Or(settings.MaxNumBatchedTokens, 8192)
	if settings.KVBlocks == 0 {
		settings.KVBlocks = 8 * 131072 / engine.BlockSize
	}
	return settings
}

func (s Settings) key() string {
	return fmt.Sprint(s.MaxNumBatchedTokens, s.MaxNumSeqs, s.KVBlocks, s.PrefixCaching != nil && *s.PrefixCaching)
}

// candidates are these settings, and those that differ in one that was not told.
func (s *search) candidates(from, told Settings) []Settings {
	all := []Settings{from}
	if told.MaxNumBatchedTokens == 0 {
		for _, n := range []int{512, 1024, 2048, 4096, 8192, 16384} {
			if n != from.MaxNumBatchedTokens {
				c := from
				c.MaxNumBatchedTokens = n
				all = append(all, c)
			}
		}
	}
	if told.MaxNumSeqs == 0 {
		for _, n := range []int{32, 64, 128, 256, 512, 1024} {
			if n != from.MaxNumSeqs {
				c := from
				c.MaxNumSeqs = n
				all = append(all, c)
			}
		}
	}
	if told.KVBlocks == 0 {
		for _, part := range []float64{0.25, 0.35, 0.5, 0.7, 1.4, 2} {
			c := from
			c.KVBlocks = int(float64(from.KVBlocks) * part)
			all = append(all, c)
		}
	}
	if told.PrefixCaching == nil && s.sharesPrefixes() {
		caching := !*from.PrefixCaching
		c := from
		c.PrefixCaching = &caching
		all = append(all, c)
	}
	return all
}

func (s *search) sharesPrefixes() bool {
	return slices.ContainsFunc(s.q.Window, func(r plan.Request) bool { return len(r.Blocks) > 0 })
}

// calibrated is the twin with these settings, at the speed that the first two runs tell. It is made anew when the speed is off by much.
func (s *search) calibrated(settings Settings, runs []*Run) (*calibrated, error) {
	t := newTwin(s.ctx, s.q, settings)
	shift, err := s.fitted(t, settings, runs)
	if err != nil {
		return nil, err
	}
	for range 4 { // a speed beyond the range in which a run's is found
		c := s.twinAt(t, settings, shift, len(runs))
		k := c.lastSpeed(runs)
		if math.Abs(k) < 0.3 {
			return c, c.err
		}
		shift.All += k
	}
	return s.twinAt(t, settings, shift, len(runs)), nil
}

// twinAt is kept for as long as its speed is. After the first run its curve only places the second, and is coarse.
func (s *search) twinAt(t *twin, settings Settings, shift Shift, runs int) *calibrated {
	requests := s.q.curveRequests
	if runs == 1 {
		requests /= 4
	}
	key := settings.key() + fmt.Sprintf(" %d %.4f %.4f %.4f", requests, shift.Decode, shift.Prefill, shift.All)
	c, isThere := s.twins[key]
	if !isThere {
		c = newCalibrated(t, s.plans, settings, shift, requests)
		s.twins[key] = c
	}
	return c
}

// lastSpeed is the k of the last run for the objective that it comes nearest to missing.
func (c *calibrated) lastSpeed(runs []*Run) float64 {
	last := runs[len(runs)-1]
	worst, k := math.Inf(-1), 0.0
	for j, o := range c.q.Objectives {
		if _, excess := c.q.missed(last.reading.tallies[j], o); o.Metric != metric.FailureRatio && excess > worst {
			worst, k = excess, c.speed(last, j)
		}
	}
	if math.IsNaN(k) {
		return 0
	}
	return k
}

// contender is a candidate with its distance from the runs.
type contender struct {
	settings Settings
	shift    Shift
	distance float64
}

// compete tries candidates around the best so far until none is better.
func (s *search) compete(base, told Settings, runs []*Run) error {
	tried := map[string]contender{}
	try := func(settings Settings) contender {
		key := settings.key()
		if _, isThere := tried[key]; !isThere {
			tried[key] = s.contend(settings, runs)
		}
		return tried[key]
	}
	best := try(base)
	for range 3 {
		before := best.distance
		for _, settings := range s.candidates(best.settings, told) {
			if c := try(settings); c.distance < best.distance {
				best = c
			}
		}
		if best.distance >= 0.97*before {
			break
		}
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	var fitting []contender
	for _, c := range tried {
		if c.distance <= best.distance*asGood+asGoodSlack {
			fitting = append(fitting, c)
		}
	}
	slices.SortFunc(fitting, func(a, b contender) int {
		switch {
		case a.distance < b.distance:
			return -1
		case a.distance > b.distance:
			return 1
		}
		return strings.Compare(a.settings.key(), b.settings.key())
	})
	return s.keepRivals(fitting[:min(len(fitting), mostFitting)], runs)
}

// contend measures a candidate. What its twin says of a run is asked once.
func (s *search) contend(settings Settings, runs []*Run) contender {
	c := contender{settings: settings, distance: math.Inf(1)}
	t := newTwin(s.ctx, s.q, settings)
	shift, err := s.fitted(t, settings, runs)
	if err != nil { // the engine cannot be: a budget below its sequences, say
		return c
	}
	c.shift = shift
	sum := 0.0
	for _, r := range runs {
		key := fmt.Sprint(settings.key(), shift, r.Number)
		distance, isThere := s.distances[key]
		if !isThere {
			if distance, err = t.distance(r, shift); err != nil {
				return c
			}
			s.distances[key] = distance
		}
		sum += distance
	}
	c.distance = sum / float64(len(runs))
	return c
}

// fitted is the speed that the first two runs tell.
func (s *search) fitted(t *twin, settings Settings, runs []*Run) (Shift, error) {
	first := runs[:min(len(runs), 2)]
	key := fmt.Sprint(settings.key(), len(first), first[0].Number)
	if shift, isThere := s.fits[key]; isThere {
		return shift, nil
	}
	shift, err := t.fit(first, Shift{})
	if err == nil {
		s.fits[key] = shift
	}
	return shift, err
}

// keepRivals keeps of the candidates that fit those that would answer differently: with the others it makes no difference which is true.
func (s *search) keepRivals(fitting []contender, runs []*Run) error {
	s.rivals = nil
	var seen []float64
	scale := math.Exp(min(s.predicted, 10))
	for _, r := range runs {
		scale = r.Scale
	}
	requests, err := s.plans.whole(1.1*scale, s.q.curveSeed(0))
	if err != nil {
		return err
	}
	for _, f := range fitting {
		c, err := s.calibrated(f.settings, runs)
		if err != nil {
			continue
		}
		k := c.lastSpeed(runs)
		shift := c.shift
		shift.All += k
		replies, err := c.play(requests, 1.1*scale, shift, engine.Noise{})
		if err != nil {
			continue
		}
		signature := 0.0
		for j, t := range s.q.read(requests, replies, 0).tallies {
			if o := s.q.Objectives[j]; o.Metric != metric.FailureRatio {
				signature += max(o.excess(pooled{float64(t.n), float64(t.misses), t.sum}), -3) + t.tail
			}
		}
		if slices.ContainsFunc(seen, func(x float64) bool { return math.Abs(x-signature) < 0.1 }) {
			continue
		}
		seen = append(seen, signature)
		s.rivals = append(s.rivals, c)
		if len(s.rivals) == mostRivals {
			break
		}
	}
	if len(s.rivals) == 0 {
		return fmt.Errorf("capacity: the model plays with none of the settings that were tried")
	}
	return nil
}

// distance of the twin's latencies from those of a run, request by request and in quantiles: mean |ln|.
func (t *twin) distance(r *Run, shift Shift) (float64, error) {
	got, err := t.play(r.requests, r.Scale, shift, engine.Noise{})
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, metric := range []string{metric.TTFT, metric.TPOT} {
		o := Objective{Metric: metric, AtMost: math.Inf(1)}
		sum += apart(o, r, got)
		a, b := o.values(r.requests, r.replies, cutOf(r)), o.values(r.requests, got, cutOf(r))
		for _, share := range []float64{0.5, 0.9, 0.99} {
			if x := math.Abs(math.Log(stat.Quantile(a, share) / stat.Quantile(b, share))); !math.IsNaN(x) {
				sum += min(x, 2) / 3
			}
		}
	}
	return sum, nil
}

func cutOf(r *Run) time.Duration {
	if r.CutAt > 0 {
		return r.CutAt
	}
	return math.MaxInt64
}

// apart is the mean |ln| between two plays of the same requests.
func apart(o Objective, r *Run, got []Reply) float64 {
	sum, n := 0.0, 0.0
	for i := range got {
		a, isA := o.value(r.requests[i], &r.replies[i], cutOf(r))
		b, isB := o.value(r.requests[i], &got[i], cutOf(r))
		if isA && isB && a > 0 && b > 0 && r.replies[i].IsSent {
			sum += min(math.Abs(math.Log(a/b)), 2)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}
