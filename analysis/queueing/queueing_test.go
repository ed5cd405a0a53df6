package queueing

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// One server with load a: C = a. Two servers with load 1: B(1) = 1/2, B(2) = (1/2) / (2 + 1/2) = 1/5, C = (1/5) / (1 - 1/2 * 4/5) = 1/3.
func TestErlangCByHand(t *testing.T) {
	near(t, "one server at 0.6", ErlangC(1, 0.6), 0.6)
	near(t, "two servers with a load of 1", ErlangC(2, 1), 1.0/3)
	near(t, "no server is free where the load is the servers", ErlangC(2, 2), 1)
}

// Gaps of 1, 1, 1 and 5: mean 2, variance (3 * 1 + 9) / 4 = 3.
func TestMomentsByHand(t *testing.T) {
	var m Moments
	for _, x := range []float64{1, 1, 1, 5} {
		m.Add(x)
	}
	near(t, "mean", m.Mean, 2)
	near(t, "cv", m.CV(), math.Sqrt(3)/2)
	near(t, "nothing known is Poisson", (&Moments{}).CV(), 1)
}

// toy is a server whose points are lines: at batch b a step takes 10 ms, an answer has 100 gaps, a prompt takes 20 ms and its first
// token 30 ms. b requests decode where b / 1.0 s arrive each second.
func toy() *Curve {
	c := &Curve{
		Mix:    Mix{Parts: []Part{{Share: 1, Uncached: 1000}}, Answers: []Answer{{Share: 1, Gaps: 100}}},
		Budget: 8192, Replicas: 1, MaxNumSeqs: 8,
	}
	for _, b := range []float64{1, 2, 4, 8} {
		flow := Flow{PerS: b, TPOTS: 0.01, WaitS: 0.004 * b, BurstS: 0.002}
		c.Points = append(c.Points, Point{
			Batch: b, StepS: 0.01, PromptS: 0.02, Gaps: 100, Clients: b, Open: flow, Closed: flow,
			PromptsS: []float64{0.02}, FirstsS: []float64{0.03},
		})
	}
	c.LimitBySlots()
	return c
}

// Slots are those of the largest batch. A request holds one for 0.03 + 100 * 0.01 = 1.03 s, so that 8 slots serve 8 / 1.03 = 7.767/s.
func TestSlotsLimitTheRate(t *testing.T) {
	c := toy()
	if c.Slots != 8 || c.SlotsBy() != "max_num_seqs" {
		t.Errorf("got %v slots by %s", c.Slots, c.SlotsBy())
	}
	if got := c.MostPerS(1); math.Abs(got/(8/1.03)-1) > 1e-3 {
		t.Errorf("largest rate: got %v, want 7.767", got)
	}
	if s := c.At(7.9, true, 1); !s.IsFull || !math.IsInf(s.WaitS, 1) {
		t.Errorf("beyond it the queue grows for ever: got %+v", s)
	}
	near(t, "of 10 clients the 2 beyond the slots wait", c.WaitingRatio(10, false, 1), 0.2)
}

// At 2/s and twice as bursty a square: prompts take 2 * 0.02 = 4 % of the time and the mean wait is 8 + 2 = 10 ms. Of the 4 % that wait the
// mean is 250 ms, so that 1 % waits longer than 0.25 * ln 4 = 346.6 ms; with half a step and the prompt 351.6 + 30 ms.
func TestExponentialWaits(t *testing.T) {
	c := toy()
	c.Burst = 1
	s := c.At(2, true, 1)
	near(t, "mean TTFT", c.MeanTTFT(s), 0.01+0.005+0.03)
	near(t, "p99 TTFT", c.TTFT(s, 99, ""), 0.25*math.Log(4)+0.035)
	near(t, "p90 TTFT: nobody waits", c.TTFT(s, 90, ""), 0.035)
	near(t, "p99 E2E: 100 gaps more", c.E2E(s, 99, ""), 0.25*math.Log(4)+1.035)
	near(t, "ITL p99: 2 * 1 * 0.01 = 2 % of the steps have a prompt", c.ITL(s, 99), 0.03)
	near(t, "ITL p90", c.ITL(s, 90), 0.01)
	near(t, "twice as slow is the same at half the rate", c.TTFT(c.At(1, true, 2), 99, ""), 2*(0.25*math.Log(4)+0.035))
}

// Little's law. Two clients: 2 / (8 + 5 + 30 ms + 1 s) = 1.9175/s. Twelve clients on 8 slots: each waits as long as half an answer's
// 8 slots take, 1 s * (12 / 8 - 1).
func TestClosedLoops(t *testing.T) {
	c := toy()
	near(t, "two clients", c.At(2, false, 1).PerS, 2/1.043)
	s := c.At(12, false, 1)
	if !s.IsFull {
		t.Error("twelve clients on eight slots: not full")
	}
	near(t, "wait for a slot", s.WaitS, 0.5)
}

// The deviation of a TPOT over 100 gaps at 4/s: 0.1 * sqrt(4 * 0.01) / sqrt(100) = 2 ms; the normal's 99th percentile is 2.3263 of them.
func TestTPOTOfRequestsIsNormal(t *testing.T) {
	c := toy()
	for i := range c.Points {
		c.Points[i].ScatterS = 0.1
	}
	if got, want := c.TPOT(c.At(4, true, 1), 99, ""), 0.01+2.32635*0.002; math.Abs(got-want) > 1e-7 {
		t.Errorf("got %v, want %v", got, want)
	}
}
