package host

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/stat"
)

func TestLagsAreKeptWithinThreePercent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var h Histogram
	var all []float64
	for range 20_000 {
		d := time.Duration(math.Exp(rnd.Float64()*15) * 20e3) // 20 us to a minute
		h.Add(d)
		all = append(all, d.Seconds())
	}
	slices.Sort(all)
	got := h.Quantiles()
	for _, c := range []struct{ name, got, want any }{{"p50", got.P50, stat.Quantile(all, 0.5)}, {"p99", got.P99, stat.Quantile(all, 0.99)}} {
		if got, want := c.got.(float64), c.want.(float64); math.Abs(got/want-1) > 0.035 {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
	}
	if got.Max != all[len(all)-1] {
		t.Errorf("max: got %v, want %v", got.Max, all[len(all)-1])
	}
	for _, d := range []time.Duration{-1, 0, 1, 1 << 14, 1 << 15, 1<<63 - 1} {
		if step := stepOf(max(d, 0)); step < 0 || step >= steps {
			t.Errorf("%v is step %d", d, step)
		}
	}
}

func TestCPUOfTheBusiestSecond(t *testing.T) {
	var w Monitor
	w.begin = State{HasCPU: true, Cpu: 10 * time.Second, Rss: 1000, OpenFiles: 7}
	w.last = w.begin
	at, cpu := time.Duration(0), 10*time.Second
	for _, step := range []struct{ wall, cpu time.Duration }{
		{time.Second, 300 * time.Millisecond}, {time.Second, 900 * time.Millisecond}, {100 * time.Millisecond, 100 * time.Millisecond}, // the last is no second
	} {
		at, cpu = at+step.wall, cpu+step.cpu
		w.Sample(State{HasCPU: true, Cpu: cpu, Rss: 500, OpenFiles: 9}, at, time.Unix(100, 0).Add(at))
	}
	c := w.Certificate()
	if math.Abs(*c.CPUS-1.3) > 1e-9 || math.Abs(*c.BusiestCPURatio-0.9/c.Cores) > 1e-9 || *c.OpenFilesMax != 9 || *c.RSSMaxBytes != 500 ||
		c.Retransmits != nil || c.WallStepS != 0 {
		t.Errorf("%+v", c)
	}
}

func TestWaitsOfThreadsThatComeAndGo(t *testing.T) {
	got := waitedBetween(map[int]time.Duration{1: 5, 2: 7}, map[int]time.Duration{1: 6, 3: 10})
	if got != 11 {
		t.Errorf("got %d, want 1 of thread 1 and 10 of thread 3", got)
	}
	var c Contention
	var client Certificate
	c.add(State{}, State{})
	c.note(&client, time.Second, 1)
	if client.WaitedS != nil || client.OthersCPURatio != nil || client.CPUPressureRatio != nil || client.othersTook(0) {
		t.Errorf("what is not known: %+v", client)
	}
	if r := *ratio(math.Inf(1)); r != 1 {
		t.Errorf("a ratio of %v", r)
	}
}
