package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Virtual plays requests through the scheduler in virtual time: whoever drives it says when a request arrives, and moves
// the clock to the instants that End names. A step starts as soon as the one before has ended, or at the next arrival when
// nothing is running. A request that arrives during a step joins the next one. A token's instant is the end of its step.
//
// While nothing but decoding happens, the steps until the next event are one stretch: their times grow by the same amount
// from step to step, so their sum is known without walking them. An arrival ends the
// stretch with the step in which it comes. So a day of traffic takes seconds.
//
// The clock is the caller's; instants may be far apart. Not safe for concurrent use.
type Virtual struct {
	cfg   Config
	sched *Scheduler
	noise *noise

	now     stretch // what the engine is doing; steps is 0 when it is idle
	batch   Batch   // of a stretch of one step that is more than decoding
	done    int64   // steps that have ended
	past    []stretch
	counts  Counts
	keepsIt bool
	over    []*Job        // in this step
	wakes   time.Duration // when an idle engine begins; Never if nothing has arrived
	late    []*Job        // arrived during a step, after the next one was put together
	thread  *thread       // that sends tokens out; nil: they are out when their step ends
}

// Never is an instant that does not come.
const Never = time.Duration(math.MaxInt64)

// Job is a request in virtual time. The caller fills in the first group; the rest says what became of it.
type Job struct {
	Prompt, Output int      // tokens
	Content        *Content // nil: it shares nothing, and is not found in the prefix cache
	Owner          any      // the caller's

	Arrived     time.Duration
	Scheduled   time.Duration // first admitted
	First, Last time.Duration // its first and last token
	Cached      int           // prompt tokens found in the prefix cache when it was first admitted
	Preemptions int
	Recomputed  int           // tokens computed again after these
	Entered     time.Duration // it reached the engine, behind the frontend
	EngineS     float64       // its share of the time of the engine's steps, seconds; filled where tokens are kept

	runs []tokenRun

	sent   time.Duration   // by the client, where a frontend is between
	isRead bool            // by the frontend
	came   int             // breaks ties between those that come to the frontend at one instant
	in     time.Duration   // when it reaches the frontend
	tokens []time.Duration // where they are kept until the frontend is done
}

func (j *Job) sequence() *Sequence {
	q := &Sequence{Prompt: j.Prompt, Output: j.Output, Owner: j}
	if j.Content != nil {
		q.Prefix, q.Findable = j.Content, j.Content.Findable
	}
	return q
}

// tokenRun says that a job's tokens, from the given one on, came in successive steps, the first of them in step.
type tokenRun struct {
	token int
	step  int64
}

// Noise makes steps as uneven as those of a real engine; the zero value adds none.
type Noise struct {
	StepSD     float64       // standard deviation of a step's time, as a share of it
	StallEvery time.Duration // mean time between two stalls, which come at random; 0: none
	Stall      time.Duration // how much longer the step lasts that a stall falls into
	Seed       uint64
}

type noise struct {
	Noise
	rnd  *rand.Rand
	next time.Duration // the next stall
}

// Counts are totals since the engine began, as /metrics has them.
type Counts struct {
	Running, Waiting          int
	KVUsage                   float64 // share of blocks in use
	PrefixQueries, PrefixHits int64   // tokens
	Preemptions               int64
	PromptTokens              int64 // of prompts whose first token has come
	CachedTokens              int64 // of these
	GenerationTokens          int64
	Finished                  int64
}

// stretch is one or more steps that differ only in the lengths of their contexts.
type stretch struct {
	first    int64         // number of its first step
	start    time.Duration // of that step
	steps    int
	stepS    float64 // seconds of the first step
	growthS  float64 // how much longer each step lasts than the one before
	extra    time.Duration
	isDecode bool            // every running sequence yields a token in each step
	sent     []time.Duration // when the tokens of each step were out; empty: with its end
}

// tokensOut is when the tokens of the n-th step, from 0, had been sent.
func (s *stretch) tokensOut(n int) time.Duration {
	if len(s.sent) > 0 {
		return s.sent[n]
	}
	return s.start + s.elapsed(n+1)
}

// elapsed is the time of the first n steps.
func (s *stretch) elapsed(n int) time.Duration {
	steps := float64(n)
	d := time.Duration(math.Round(1e9 * (steps*s.stepS + s.growthS*steps*(steps-1)/2)))
	if n == s.steps {
		d += s.extra
	}
	return d
}

func (s *stretch) end() time.Duration { return s.start + s.elapsed(s.steps) }

// stepsUntil is the number of steps after which at least d has passed, at least one.
func (s *stretch) stepsUntil(d time.Duration) int {
	if s.stepS <= 0 {
		return s.steps
	}
	target := d.Seconds()
	n := target / s.stepS
	if half := s.growthS / 2; half > 0 { // half n^2 + (stepS - half) n = target
		b := s.stepS - half
		n = (math.Sqrt(b*b+4*half*target) - b) / (2 * half)
	}
	steps := max(1, min(s.steps, int(math.Ceil(n))))
	for steps > 1 && s.elapsed(steps-1) >= d {
		steps--
	}
	for steps < s.steps && s.elapsed(steps) < d {
		steps++
	}
	return steps
}

// NewVirtual is an idle engine at instant 0. With keepsTokens the instant of every token is kept until its request is over,
// see TokenTimes.
func NewVirtual(cfg Config, n Noise, keepsTokens bool) (*Virtual, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.StepTime == nil {
		return nil, errors.New("simulator: virtual time needs StepTime")
	}
	v := &Virtual{cfg: cfg, sched: NewScheduler(cfg), keepsIt: keepsTokens, wakes: Never}
	if n != (Noise{}) {
		v.noise = &noise{Noise: n, rnd: rand.New(rand.NewPCG(n.Seed, 0x57a11)), next: Never}
		v.noise.plan(0)
	}
	return v, nil
}

// plan draws the next stall.
func (n *noise) plan(after time.Duration) {
	if n.StallEvery > 0 {
		n.next = after + time.Duration(n.rnd.ExpFloat64()*float64(n.StallEvery))
	}
}

// Fits says why the engine could never serve a request, like a server that answers 400.
func (v *Virtual) Fits(job *Job) error {
	switch {
	case job.Prompt < 1 || job.Output < 1:
		return errors.New("simulator: a request of no prompt or no output")
	case job.Prompt+job.Output > v.cfg.MaxModelLen:
		return fmt.Errorf("simulator: a request of %d tokens is longer than the model's %d", job.Prompt+job.Output, v.cfg.MaxModelLen)
	}
	return nil
}

// Add lets a request arrive. The instant must not lie before one that the engine was told of, nor after End.
func (v *Virtual) Add(job *Job, at time.Duration) {
	job.Arrived, job.Entered = at, at
	if v.cfg.IsAsync && v.now.steps > 0 {
		v.late = append(v.late, job)
	} else {
		v.sched.Add(job.sequence())
	}
	switch {
	case v.now.steps == 0: // whatever arrives at the same instant shares its first step
		v.wakes = min(v.wakes, at)
	case v.now.steps > 1 && v.canJoin():
		if n := v.now.stepsUntil(at - v.now.start); n < v.now.steps {
			v.now.steps, v.now.extra = n, 0
		}
	}
}

// join lets those into the queue that had arrived when the next step was put together: under asynchronous scheduling that is
// while the step before it still works.
func (v *Virtual) join(until time.Duration) {
	n := 0
	for n < len(v.late) && v.late[n].Arrived <= until {
		v.sched.Add(v.late[n].sequence())
		n++
	}
	v.late = append(v.late[:0], v.late[n:]...)
}

// canJoin says whether the request that waits longest could be admitted at the end of this step. If not, only the end of
// another one changes that, and the stretch ends there anyway.
func (v *Virtual) canJoin() bool {
	return len(v.sched.running) < min(v.cfg.MaxNumSeqs, v.cfg.MaxNumBatchedTokens) && len(v.sched.waiting)+len(v.late) == 1
}

// End is when what the engine does now is over, or when it begins, with what has arrived; Never when it is idle.
func (v *Virtual) End() time.Duration {
	if v.now.steps == 0 {
		return v.wakes
	}
	return v.now.end()
}

// Finish ends the current steps, passes each finished request to ended, and starts what comes next. A request that is sent
// because another has finished is therefore too late for the step that starts at that instant, as over a network.
func (v *Virtual) Finish(ended func(*Job)) {
	if v.now.steps == 0 {
		v.begin(v.wakes)
		return
	}
	s := v.now
	end := s.end()
	if s.extra > 0 {
		v.noise.plan(end)
	}
	v.share(&s, end-s.start)
	var yielded []*Sequence
	if s.isDecode {
		yielded = v.sched.decoded(s.steps)
	} else {
		yielded = v.sched.Complete(v.batch)
	}
	v.done = s.first + int64(s.steps)
	v.counts.GenerationTokens += int64(len(yielded) * s.steps)
	over := v.over[:0]
	out := v.thread.send(&s, end, len(yielded))
	for _, q := range yielded {
		v.yield(q, &s, out)
		if q.IsGone {
			job := q.Owner.(*Job)
			job.Preemptions, job.Recomputed = q.Preemptions, q.Recomputed
			over = append(over, job)
		}
	}
	v.over = over
	v.keep(s)
	v.join(s.start + s.elapsed(s.steps-1) + v.cfg.Submit)
	v.begin(end)
	for _, job := range over {
		v.counts.Finished++
		ended(job)
	}
	clear(over)
}

// share divides the time of the steps that have just ended among their requests. What a step would have taken without prompts is shared evenly by
// those that decode; what the prompts added, by the tokens that were computed of each.
func (v *Virtual) share(s *stretch, took time.Duration) {
	if !v.keepsIt {
		return
	}
	if s.isDecode {
		for _, q := range v.sched.running {
			q.Owner.(*Job).EngineS += took.Seconds() / float64(len(v.sched.running))
		}
		return
	}
	work, decoding := v.batch.Step, v.batch.Step
	decoding.PrefillTokens, decoding.PrefillChunks, decoding.PrefillPairs = 0, 0, 0
	decodeS := took.Seconds()
	switch whole := v.stepS(work); {
	case work.DecodeSequences == 0:
		decodeS = 0
	case work.PrefillTokens > 0 && whole > 0:
		decodeS *= min(v.stepS(decoding)/whole, 1)
	}
	for _, q := range v.batch.sequences {
		if q.isDecoding() {
			q.Owner.(*Job).EngineS += decodeS / float64(work.DecodeSequences)
		} else {
			q.Owner.(*Job).EngineS += (took.Seconds() - decodeS) * float64(q.planned) / float64(work.PrefillTokens)
		}
	}
}

// sendUntil hands the frontend the tokens of the steps that have ended by an instant; the stretch goes on. Only a stretch of decoding has
// steps that have ended.
func (v *Virtual) sendUntil(at time.Duration) {
	if v.now.isDecode {
		v.thread.send(&v.now, at, len(v.sched.running))
	}
}

// yield notes the instants of a sequence's newest tokens, the last of which is out at that instant.
func (v *Virtual) yield(q *Sequence, s *stretch, out time.Duration) {
	job := q.Owner.(*Job)
	if q.Generated == 1 {
		job.First = out
		job.Cached = max(q.Cached, 0)
		v.counts.PromptTokens += int64(job.Prompt)
		v.counts.CachedTokens += int64(job.Cached)
	}
	job.Last = out
	if !v.keepsIt {
		return
	}
	token := q.Generated - s.steps
	if n := len(job.runs); n == 0 || job.runs[n-1].step+int64(token-job.runs[n-1].token) != s.first {
		job.runs = append(job.runs, tokenRun{token, s.first})
	}
}

// keep remembers a stretch for as long as a request has tokens in it that runs or is just over.
func (v *Virtual) keep(s stretch) {
	if !v.keepsIt {
		return
	}
	v.past = append(v.past, s)
	if len(v.past) < 1<<12 || len(v.past)&(1<<12-1) != 0 {
		return
	}
	oldest := v.done
	needs := func(job *Job) {
		if len(job.runs) > 0 {
			oldest = min(oldest, job.runs[0].step)
		}
	}
	for _, list := range [][]*Sequence{v.sched.running, v.sched.waiting} {
		for _, q := range list {
			needs(q.Owner.(*Job))
		}
	}
	for _, job := range v.over {
		needs(job)
	}
	n := 0
	for n < len(v.past) && v.past[n].first+int64(v.past[n].steps) <= oldest {
		n++
	}
	v.past = append(v.past[:0], v.past[n:]...)
}

// TokenTimes appends the instant of each token of a job that has just ended. It must be called from within ended.
func (v *Virtual) TokenTimes(dst []time.Duration, job *Job) []time.Duration {
	at := 0
	for i, run := range job.runs {
		until := job.Output
		if i+1 < len(job.runs) {
			until = job.runs[i+1].token
		}
		for at < len(v.past) && v.past[at].first+int64(v.past[at].steps) <= run.step {
			at++
		}
		step := run.step
		for token := run.token; token < until; token++ {
			for step >= v.past[at].first+int64(v.past[at].steps) {
				at++
			}
			dst = append(dst, v.past[at].tokensOut(int(step-v.past[at].first)))
			step++
		}
	}
	return dst
}

// begin starts the next stretch at an instant; without work the engine is idle.
func (v *Virtual) begin(at time.Duration) {
	v.wakes = Never
	if v.sched.IsIdle() {
		v.join(Never)
	}
	if v.sched.IsIdle() {
		v.now = stretch{}
		return
	}
	if n := v.decodeSteps(); n > 1 {
		v.now = v.decoding(at, n)
	} else {
		v.batch = v.sched.Schedule()
		v.admitted(at)
		v.now = stretch{first: v.done, start: at, steps: 1, stepS: v.stepS(v.batch.Step)}
	}
	v.disturb()
}

func (v *Virtual) stepS(s Step) float64 { return max(v.cfg.StepTime(s), 0).Seconds() }

func (v *Virtual) admitted(at time.Duration) {
	v.counts.Preemptions += int64(len(v.batch.Preempted))
	v.counts.PrefixQueries += int64(v.batch.Queried)
	v.counts.PrefixHits += int64(v.batch.Hit)
	for _, q := range v.batch.Admitted {
		if q.Preemptions == 0 {
			q.Owner.(*Job).Scheduled = at
		}
	}
}

// decodeSteps is the number of steps in which only decoding happens, if no request arrives; 0: the next step does more.
func (v *Virtual) decodeSteps() int {
	s := v.sched
	if len(s.running) == 0 || len(v.late) > 0 || len(s.waiting) > 0 && s.canAdmit() {
		return 0
	}
	most := math.MaxInt
	for _, q := range s.running {
		if q.Generated == 0 || q.tokens() != q.computed+1 {
			return 0
		}
		most = min(most, q.Output-q.Generated)
		if room := v.cfg.SlidingWindow - q.tokens(); room > 0 { // beyond it the step grows more slowly
			most = min(most, room)
		}
	}
	return s.stepsWithRoom(most)
}

// decoding is a stretch of n steps of decoding.
func (v *Virtual) decoding(at time.Duration, n int) stretch {
	first, last := Step{DecodeSequences: len(v.sched.running)}, Step{DecodeSequences: len(v.sched.running)}
	for _, q := range v.sched.running {
		context, window := int64(q.tokens()), int64(v.cfg.SlidingWindow)
		first.ContextTokens += context
		last.ContextTokens += context + int64(n-1)
		window = cmp.Or(window, math.MaxInt64)
		first.WindowTokens += min(context, window)
		last.WindowTokens += min(context+int64(n-1), window)
	}
	s := stretch{first: v.done, start: at, steps: n, stepS: v.stepS(first), isDecode: true}
	s.growthS = max((v.stepS(last)-s.stepS)/float64(n-1), 0)
	return s
}

// disturb puts noise on the stretch that begins. Over n steps it averages out: its standard deviation is smaller by sqrt(n).
func (v *Virtual) disturb() {
	if v.noise == nil {
		return
	}
	s := &v.now
	factor := max(1+v.noise.StepSD/math.Sqrt(float64(s.steps))*v.noise.rnd.NormFloat64(), 0.1)
	s.stepS *= factor
	s.growthS *= factor
	if v.noise.next < s.start { // while the engine was idle nobody noticed
		v.noise.plan(s.start)
	}
	if v.noise.next < s.end() {
		s.steps = s.stepsUntil(v.noise.next - s.start)
		s.extra = v.noise.Stall
	}
}

// Counts is the engine's state at an instant before End.
func (v *Virtual) Counts(at time.Duration) Counts {
	c := v.counts
	c.Running, c.Waiting, c.KVUsage = len(v.sched.running), len(v.sched.waiting)+len(v.late), v.sched.Usage()
	if v.now.isDecode {
		steps := v.now.stepsUntil(at - v.now.start)
		if v.now.elapsed(steps) > at-v.now.start {
			steps--
		}
		c.GenerationTokens += int64(steps * len(v.sched.running))
	}
	return c
}

// Load is how many requests the engine has, running and waiting.
func (v *Virtual) Load() int { return len(v.sched.running) + len(v.sched.waiting) + len(v.late) }
