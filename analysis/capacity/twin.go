package capacity

import (
	"cmp"
	"context"
	"math"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// twin is the engine model under one choice of settings.
type twin struct {
	ctx    context.Context
	q      *Question
	engine engine.Config
}

func newTwin(ctx context.Context, q *Question, s Settings) *twin {
	engine := s.On(q.Twin.Engine)
	engine.BlockSize = cmp.Or(engine.BlockSize, 16)
	longest := 2
	for i := range q.Window {
		longest = max(longest, q.Window[i].InputTokens+q.Window[i].OutputTokens)
	}
	for coarse := 2 * engine.BlockSize; isCoarseEnough(q.Window, coarse); coarse = 2 * engine.BlockSize {
		engine.BlockSize, engine.KVBlocks = coarse, engine.KVBlocks/2
	}
	if engine.KVBlocks > 0 { // a server with little memory would have been started with a shorter model length
		most := engine.KVBlocks * engine.BlockSize
		if engine.MaxModelLen == 0 || engine.MaxModelLen > most {
			engine.MaxModelLen = min(max(longest, 131072), most)
		}
	}
	engine.MaxNumSeqs = cmp.Or(engine.MaxNumSeqs, 256)
	if engine.MaxNumBatchedTokens > 0 {
		engine.MaxNumSeqs = min(engine.MaxNumSeqs, engine.MaxNumBatchedTokens)
	}
	return &twin{ctx, q, engine}
}

// isCoarseEnough says whether requests may be played on blocks of that many tokens in place of the server's own: blocks that are shared end
// where these do, and half of the last block, which is lost, is less than 1 % of a request. Prompts of 12,000 tokens have hundreds of small
// blocks, which then take most of the time.
func isCoarseEnough(window []plan.Request, blockTokens int) bool {
	tokens := 0
	for i := range window {
		r := &window[i]
		if len(r.Blocks) > 0 && r.BlockTokens%blockTokens != 0 {
			return false
		}
		tokens += r.InputTokens + r.OutputTokens
	}
	return tokens > 50*blockTokens*len(window)
}

// settings of a rehearsal. The concurrency is the multiple's in a closed loop.
func (q *Question) rehearsal(engine engine.Config, scale float64) rehearsal.Settings {
	t := &q.Twin
	s := rehearsal.Settings{
		Engine: engine, Replicas: t.Replicas, Routing: t.Routing, Mode: q.Mode, MaxConcurrency: q.concurrency(scale),
		IsAnswered: t.IsAnswered, IsCold: t.IsCold,
	}
	for _, o := range q.Objectives {
		s.KeepsTokens = s.KeepsTokens || o.Metric == metric.ITL
	}
	return s
}

// concurrency at a multiple: the multiple itself in a closed loop, else the cap.
func (q *Question) concurrency(scale float64) int {
	if q.Mode == schedule.Closed {
		return max(int(math.Round(scale)), 1)
	}
	return q.Twin.MaxConcurrency
}

// replies plays requests on an engine in virtual time. Their Seq is their place.
func replies(ctx context.Context, s rehearsal.Settings, requests []plan.Request) ([]Reply, error) {
	all := make([]Reply, len(requests))
	err := rehearsal.PlayAll(ctx, s, requests, func(r *rehearsal.Request) error {
		reply := &all[r.Seq]
		reply.IsSent, reply.Due, reply.Sent, reply.IsFailed = true, r.Due, r.Sent, r.Failure != ""
		if reply.IsFailed {
			return nil
		}
		reply.First, reply.Last, reply.Tokens = r.First, r.Last, r.OutputTokens
		for i := 1; i < len(r.Tokens); i++ {
			reply.Gaps = append(reply.Gaps, r.Tokens[i]-r.Tokens[i-1])
		}
		return nil
	})
	return all, err
}

// play plays requests on the twin.
func (t *twin) play(requests []plan.Request, scale float64, shift Shift, n engine.Noise) ([]Reply, error) {
	engine := t.engine
	engine.StepTime = t.q.Twin.StepTime(shift)
	s := t.q.rehearsal(engine, scale)
	s.Noise = n
	return replies(t.ctx, s, requests)
}

// calibrated is a twin whose speed agrees with the runs.
type calibrated struct {
	*twin
	settings Settings
	shift    Shift
	played   map[playKey]reading
	curve    *curve
	err      error // why it cannot be played; the first that came
}

type playKey struct {
	run int
	k   int // of kGrid in 1
}

// kGrid is how finely the speed of a run is found: in steps of 1/256.
const kGrid = 256

func newCalibrated(t *twin, p *plans, settings Settings, shift Shift, requests int) *calibrated {
	return &calibrated{twin: t, settings: settings, shift: shift, played: map[playKey]reading{}, curve: newCurve(t, p, shift, requests)}
}

// at reads the twin's play of a run's own requests, each step exp(k/kGrid) times as long.
func (c *calibrated) at(r *Run, k int) reading {
	key := playKey{r.Number, k}
	if got, isThere := c.played[key]; isThere {
		return got
	}
	shift := c.shift
	shift.All += float64(k) / kGrid
	got, err := c.readRun(r, shift)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.played[key] = got
	return got
}

func (c *calibrated) readRun(r *Run, shift Shift) (reading, error) {
	replies, err := c.play(r.requests, r.Scale, shift, engine.Noise{})
	return c.q.read(r.requests, replies, r.CutAt), err
}

// fit shifts decoding and prefill until the medians of the runs agree: eight rounds, each by at most 0.2. Near its limit a server's medians
// move several times as far as its steps, so how far they move is learnt from round to round (Broyden's method), and the best shift is kept.
func (t *twin) fit(runs []*Run, shift Shift) (Shift, error) {
	const rounds, most = 8, 0.2
	clip := func(x float64) float64 { return max(-most, min(most, x)) }
	moves := newMoves()
	best, least := shift, math.Inf(1)
	var step, before pair
	for range rounds {
		off, isAny, err := t.off(runs, shift)
		if err != nil || !isAny {
			return best, err
		}
		if off.size() < least {
			best, least = shift, off.size()
		}
		if least < 0.003 {
			break
		}
		moves.learn(step, off.less(before))
		step = moves.stepFor(off)
		step = pair{clip(step[0]), clip(step[1])}
		shift.Decode += step[0]
		shift.Prefill += step[1]
		before = off
	}
	return best, nil
}

// off is by how much runs are slower than the twin, in ln, in their median TPOT and TTFT; isAny is false where none has both.
func (t *twin) off(runs []*Run, shift Shift) (off pair, isAny bool, err error) {
	c := &calibrated{twin: t}
	weight := 0.0
	for _, r := range runs {
		got, err := c.readRun(r, shift)
		if err != nil {
			return off, false, err
		}
		d, p := math.Log(r.reading.tpot/got.tpot), math.Log(r.reading.ttft/got.ttft)
		if math.IsNaN(p) || math.IsInf(p, 0) {
			continue
		}
		if math.IsNaN(d) || math.IsInf(d, 0) { // answers of one token
			d = 0
		}
		off[0], off[1], weight = off[0]+d, off[1]+p, weight+1
	}
	return pair{off[0] / weight, off[1] / weight}, weight > 0, nil
}

// pair is one figure of decoding and one of prefill.
type pair [2]float64

func (a pair) less(b pair) pair { return pair{a[0] - b[0], a[1] - b[1]} }

// size is how far the shift is from the right one where the server is far from its limit.
func (a pair) size() float64 { return math.Hypot(a[0], ttftMoves*a[1]) }

// ttftMoves is the shift of prefill that makes a median TTFT 1 longer, in ln, far from the limit.
const ttftMoves = 0.6

// moves is by how much being off changes with a shift of decoding and of prefill: rows are of what is off.
type moves [2]pair

// newMoves begins with what holds far from the limit: a median TPOT moves as far as the steps do, a median TTFT farther than prefill.
func newMoves() moves { return moves{{-1, 0}, {0, -1 / ttftMoves}} }

// learn corrects what is known by what a step of shifts did.
func (m *moves) learn(step, did pair) {
	length := step[0]*step[0] + step[1]*step[1]
	if length == 0 {
		return
	}
	for i := range m {
		miss := (did[i] - m[i][0]*step[0] - m[i][1]*step[1]) / length
		m[i][0] += miss * step[0]
		m[i][1] += miss * step[1]
	}
}

// stepFor undoes what is off.
func (m *moves) stepFor(off pair) pair {
	determinant := m[0][0]*m[1][1] - m[0][1]*m[1][0]
	if math.Abs(determinant) < 1e-3 { // what was learnt contradicts itself
		*m = newMoves()
		determinant = m[0][0] * m[1][1]
	}
	return pair{(m[0][1]*off[1] - m[1][1]*off[0]) / determinant, (m[1][0]*off[0] - m[0][0]*off[1]) / determinant}
}

// speed is by how much the twin must be slower, in ln, so that an objective's tail is what a run measured. It is found between -0.5 and
// 0.5 by halving.
func (c *calibrated) speed(r *Run, objective int) float64 {
	target := r.reading.tallies[objective].tail
	if math.IsNaN(target) {
		return math.NaN()
	}
	low, high := -kGrid/2, kGrid/2
	for high-low > 1 {
		middle := (low + high) / 2
		switch got := c.at(r, middle).tallies[objective].tail; {
		case math.IsNaN(got):
			return math.NaN()
		case got < target:
			low = middle
		default:
			high = middle
		}
	}
	return (float64(low) + float64(high)) / 2 / kGrid
}
