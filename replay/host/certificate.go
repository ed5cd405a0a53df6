// The Monitor takes the state of the process once a second and gives the Certificate at the end. Every figure is a
// difference between two states or a maximum over them, and is left out where the system does not say it.

package host

import (
	"runtime/debug"
	"time"
)

// Certificate is the certificate of the client: how it was off while it measured. What is unknown is absent.
type Certificate struct {
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

// Monitor follows the process from sample to sample; one goroutine feeds it at a time.
type Monitor struct {
	begin, last State
	lastAt      time.Duration // since the run's zero
	wallOffset  time.Duration // of the wall clock against the monotonic one, at the last sample
	hasWall     bool
	wallStep    time.Duration // the largest
	busiest     float64       // cores, of any whole second
	hasBusiest  bool
	files, rss  float64 // the most
	Line        Contention
	beganAt     time.Duration
}

func (w *Monitor) Start(now State, at time.Duration, wall time.Time) {
	w.begin = now
	w.last, w.lastAt, w.beganAt = w.begin, at, at
	w.files, w.rss = w.begin.OpenFiles, w.begin.Rss
	w.wall(at, wall)
}

// almostSecond is what counts as a whole second of CPU: samples are taken each second, a little late or early.
const almostSecond = 900 * time.Millisecond

// Sample takes the state at an instant of the run, and says by how much the wall clock has stepped.
func (w *Monitor) Sample(now State, at time.Duration, wall time.Time) (step time.Duration) {
	if span := at - w.lastAt; span >= almostSecond && now.HasCPU {
		w.busiest, w.hasBusiest = max(w.busiest, (now.Cpu-w.last.Cpu).Seconds()/span.Seconds()), true
	}
	w.Line.add(w.last, now)
	w.last, w.lastAt = now, at
	w.files, w.rss = max(w.files, now.OpenFiles), max(w.rss, now.Rss)
	return w.wall(at, wall)
}

func (w *Monitor) wall(at time.Duration, wall time.Time) (step time.Duration) {
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

// Certificate is what the run's end says of the client.
func (w *Monitor) Certificate() Certificate {
	from, to := w.begin, w.last
	c := Certificate{Cores: usableCores(), GCPauseS: (to.GcPause - from.GcPause).Seconds(), GCCycles: to.GcCycles - from.GcCycles,
		WallStepS: w.wallStep.Seconds()}
	if from.HasCPU && to.HasCPU {
		cpu := (to.Cpu - from.Cpu).Seconds()
		c.CPUS = &cpu
	}
	if w.hasBusiest && c.Cores > 0 {
		ratio := w.busiest / c.Cores
		c.BusiestCPURatio = &ratio
	}
	c.OpenFilesMax, c.RSSMaxBytes, c.OpenFilesLimit = counted(w.files), counted(w.rss), counted(fileLimit())
	if from.HasNetwork && to.HasNetwork {
		segments := to.Retransmits - from.Retransmits
		c.Retransmits = &segments
	}
	w.Line.note(&c, w.lastAt-w.beganAt, to.Cores)
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

// State is this process at an instant; cpu and gcPause count from its start.
type State struct {
	Cpu         time.Duration
	HasCPU      bool
	Rss         float64 // bytes; 0: not known
	OpenFiles   float64 // 0: not known
	Retransmits int64   // of the host, since it started
	HasNetwork  bool
	GcPause     time.Duration
	GcCycles    int64

	Waits        map[int]time.Duration // in the line for a core, by thread; nil: not known
	Cores        int                   // that it may use, a quota apart
	Busy, Stolen time.Duration         // of these cores, since the machine started
	HasCores     bool
	Pressure     time.Duration // some task of the host waited, since it started
	HasPressure  bool
}

func ReadState() (s State) {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	s.GcPause, s.GcCycles = gc.PauseTotal, gc.NumGC
	s.readKernel()
	return s
}
