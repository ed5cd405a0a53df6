package replay

import (
	"math"
	"math/bits"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Client is the certificate of the client: how it was off while it measured. What is unknown is absent.
type Client struct {
	LagS            *Quantiles `json:"lag_s,omitempty"` // a goroutine of the client came to run so much later than it could, with requests in flight
	CPUS            *float64   `json:"cpu_s,omitempty"`
	Cores           float64    `json:"cores"`                       // usable: affinity, the cgroup's quota and GOMAXPROCS
	BusiestCPURatio *float64   `json:"busiest_cpu_ratio,omitempty"` // of any whole second, of cores
	GCPauseS        float64    `json:"gc_pause_s"`
	GCCycles        int64      `json:"gc_cycles"`
	OpenFilesMax    *int64     `json:"open_files_max,omitempty"`
	OpenFilesLimit  *int64     `json:"open_files_limit,omitempty"`
	RSSMaxBytes     *int64     `json:"rss_max_bytes,omitempty"`
	WallStepS       float64    `json:"wall_step_s"`               // largest jump of the wall clock against the monotonic one
	Retransmits     *int64     `json:"retransmits"`               // TCP segments of this host while it ran; null: unknown
	CoalescedRatio  *float64   `json:"coalesced_ratio,omitempty"` // token chunks that came in a read together with another

	// The line for a core, on Linux: how long the client's threads stood in it, all together; of that, while others had the
	// cores; the most of that in any second.
	WaitedS              *float64 `json:"waited_s,omitempty"`
	WaitedForOthersS     *float64 `json:"waited_for_others_s,omitempty"`
	MostWaitedForOthersS *float64 `json:"most_waited_for_others_s,omitempty"`
	OthersCPURatio       *float64 `json:"others_cpu_ratio,omitempty"`   // of its cores' time, had by other processes and machines
	StealRatio           *float64 `json:"steal_ratio,omitempty"`        // of its cores' time, had by other machines of the same host
	CPUPressureRatio     *float64 `json:"cpu_pressure_ratio,omitempty"` // of the run's time, in which some task of this host waited for a core
}

// Quantiles of seconds, by linear interpolation.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// quantile is that of sorted numbers.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

// lagHistogram holds durations in a constant space: 16 steps an octave, so that a quantile is within 3 %, from a
// microsecond on. It may be added to by many goroutines.
type lagHistogram struct {
	steps [lagSteps]atomic.Int64
	most  atomic.Int64
}

const (
	lagUnit  = 1 << 10 // ns of the first steps
	lagSteps = 16 * 26 // up to 2^25 units of about a microsecond a sixteenth: nine minutes
)

func (h *lagHistogram) add(d time.Duration) {
	d = max(d, 0)
	h.steps[lagStep(d)].Add(1)
	raise(&h.most, int64(d))
}

// lagStep is the duration itself below 16 units; from there on the four bits behind its highest one.
func lagStep(d time.Duration) int {
	units := uint64(d) / lagUnit
	if units < 16 {
		return int(units)
	}
	octave := bits.Len64(units) - 5 // how far it is shifted to leave five bits
	return min(16*octave+int(units>>octave), lagSteps-1)
}

// lagOf is the middle of a step.
func lagOf(step int) time.Duration {
	if step < 16 {
		return lagUnit * time.Duration(2*step+1) / 2
	}
	octave := step/16 - 1
	low := uint64(16+step%16) << octave
	return time.Duration(lagUnit * (low + 1<<octave/2))
}

// counts are the steps as they stand, and their sum.
func (h *lagHistogram) counts() (counts [lagSteps]int64, all int64) {
	for i := range h.steps {
		counts[i] = h.steps[i].Load()
		all += counts[i]
	}
	return counts, all
}

// quantile of counts; never above most.
func quantileOf(counts *[lagSteps]int64, all int64, q float64, most time.Duration) time.Duration {
	below := int64(0)
	for step, n := range counts {
		if below += n; n > 0 && float64(below) >= q*float64(all) {
			return min(lagOf(step), most)
		}
	}
	return 0
}

// quantiles is nil when nothing was added.
func (h *lagHistogram) quantiles() *Quantiles {
	counts, all := h.counts()
	if all == 0 {
		return nil
	}
	most := time.Duration(h.most.Load())
	return &Quantiles{quantileOf(&counts, all, 0.5, most).Seconds(), quantileOf(&counts, all, 0.99, most).Seconds(), most.Seconds()}
}

// fewestLags is from how many on a p99 is judged: fewer say nothing of one in a hundred.
const fewestLags = 100

// judged is the p99 that a run is judged by; 0 where there is too little to judge.
func (h *lagHistogram) judged() time.Duration {
	counts, all := h.counts()
	if all < fewestLags {
		return 0
	}
	return quantileOf(&counts, all, 0.99, time.Duration(h.most.Load()))
}

// witness follows the process from sample to sample; one goroutine feeds it at a time.
type witness struct {
	begin, last processState
	lastAt      time.Duration // since the run's zero
	wallOffset  time.Duration // of the wall clock against the monotonic one, at the last sample
	hasWall     bool
	wallStep    time.Duration // the largest
	busiest     float64       // cores, of any whole second
	hasBusiest  bool
	files, rss  float64 // the most
	line        contention
	beganAt     time.Duration
}

func (w *witness) start(now processState, at time.Duration, wall time.Time) {
	w.begin = now
	w.last, w.lastAt, w.beganAt = w.begin, at, at
	w.files, w.rss = w.begin.openFiles, w.begin.rss
	w.wall(at, wall)
}

// almostSecond is what counts as a whole second of CPU: samples are taken each second, a little late or early.
const almostSecond = 900 * time.Millisecond

// sample takes the state at an instant of the run, and says by how much the wall clock has stepped.
func (w *witness) sample(now processState, at time.Duration, wall time.Time) (step time.Duration) {
	if span := at - w.lastAt; span >= almostSecond && now.hasCPU {
		w.busiest, w.hasBusiest = max(w.busiest, (now.cpu-w.last.cpu).Seconds()/span.Seconds()), true
	}
	w.line.add(w.last, now)
	w.last, w.lastAt = now, at
	w.files, w.rss = max(w.files, now.openFiles), max(w.rss, now.rss)
	return w.wall(at, wall)
}

func (w *witness) wall(at time.Duration, wall time.Time) (step time.Duration) {
	offset := time.Duration(wall.UnixNano()) - at
	if w.hasWall {
		step = offset - w.wallOffset
	}
	w.wallOffset, w.hasWall = offset, true
	if step.Abs() > w.wallStep {
		w.wallStep = step.Abs()
	}
	return step.Abs()
}

// certificate is what the run's end says of the client.
func (w *witness) certificate() Client {
	from, to := w.begin, w.last
	c := Client{Cores: usableCores(), GCPauseS: (to.gcPause - from.gcPause).Seconds(), GCCycles: to.gcCycles - from.gcCycles,
		WallStepS: w.wallStep.Seconds()}
	if from.hasCPU && to.hasCPU {
		cpu := (to.cpu - from.cpu).Seconds()
		c.CPUS = &cpu
	}
	if w.hasBusiest && c.Cores > 0 {
		ratio := w.busiest / c.Cores
		c.BusiestCPURatio = &ratio
	}
	c.OpenFilesMax, c.RSSMaxBytes, c.OpenFilesLimit = counted(w.files), counted(w.rss), counted(fileLimit())
	if from.hasNetwork && to.hasNetwork {
		segments := to.retransmits - from.retransmits
		c.Retransmits = &segments
	}
	w.line.note(&c, w.lastAt-w.beganAt, to.cores)
	return c
}

// counted is nil for what is not known.
func counted(n float64) *int64 {
	if n <= 0 {
		return nil
	}
	whole := int64(n)
	return &whole
}

// processState is this process at an instant; cpu and gcPause count from its start.
type processState struct {
	cpu         time.Duration
	hasCPU      bool
	rss         float64 // bytes; 0: not known
	openFiles   float64 // 0: not known
	retransmits int64   // of the host, since it started
	hasNetwork  bool
	gcPause     time.Duration
	gcCycles    int64

	waits        map[int]time.Duration // in the line for a core, by thread; nil: not known
	cores        int                   // that it may use, a quota apart
	busy, stolen time.Duration         // of these cores, since the machine started
	hasCores     bool
	pressure     time.Duration // some task of the host waited, since it started
	hasPressure  bool
}

func readProcess() (s processState) {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	s.gcPause, s.gcCycles = gc.PauseTotal, gc.NumGC
	s.readKernel()
	return s
}
