package replay

import (
	"fmt"
	"time"
)

// contention is the line for a core that the client's threads stood in, from sample to sample. A thread waits because
// somebody else runs: of each wait, others have the share that they had of the CPU time meanwhile. Busy threads of the
// client's own have the rest: then it needs more cores, and nobody is to blame.
type contention struct {
	waited, forOthers time.Duration // of all threads together
	mostForOthers     time.Duration // between two samples
	others, stolen    time.Duration // CPU time of the client's cores that others had; of that, other machines
	pressure          time.Duration
	isKnown           bool // what it waited
	hasCores          bool // who had them
	hasPressure       bool
}

func (c *contention) add(from, to processState) {
	if from.hasPressure && to.hasPressure {
		c.pressure, c.hasPressure = c.pressure+to.pressure-from.pressure, true
	}
	if !from.hasCores || !to.hasCores || !from.hasCPU || !to.hasCPU {
		return
	}
	own, stolen := to.cpu-from.cpu, to.stolen-from.stolen
	others := max(to.busy-from.busy-own, 0) + stolen
	c.others, c.stolen, c.hasCores = c.others+others, c.stolen+stolen, true
	if from.waits == nil || to.waits == nil {
		return
	}
	waited, forOthers := waitedBetween(from.waits, to.waits), time.Duration(0)
	if others+own > 0 {
		forOthers = time.Duration(float64(waited) * float64(others) / float64(others+own))
	}
	c.waited, c.forOthers, c.isKnown = c.waited+waited, c.forOthers+forOthers, true
	c.mostForOthers = max(c.mostForOthers, forOthers)
}

// waitedBetween is over threads, which come and go.
func waitedBetween(from, to map[int]time.Duration) (waited time.Duration) {
	for thread, wait := range to {
		waited += max(wait-from[thread], 0)
	}
	return waited
}

// note puts it into the certificate. The cores are those of the host that the client may use, without regard to a quota.
func (c *contention) note(client *Client, span time.Duration, cores int) {
	if c.isKnown {
		client.WaitedS, client.WaitedForOthersS, client.MostWaitedForOthersS = seconds(c.waited), seconds(c.forOthers), seconds(c.mostForOthers)
	}
	if time := float64(span) * float64(cores); c.hasCores && time > 0 {
		client.OthersCPURatio, client.StealRatio = ratio(float64(c.others)/time), ratio(float64(c.stolen)/time)
	}
	if c.hasPressure && span > 0 {
		client.CPUPressureRatio = ratio(float64(c.pressure) / float64(span))
	}
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// ratio keeps what two clocks of different fineness say within what can be.
func ratio(r float64) *float64 {
	r = min(max(r, 0), 1)
	return &r
}

// busyClient is how much of its cores a client may use and still not be the one that is too slow.
const busyClient = 0.8

// blame is the end of a sentence that says what the client did too late, by so much: why, and what to do. queries/macros/client.sql
// says the same by the same rule.
func (c *Client) blame(late time.Duration, runS float64) string {
	switch {
	case c.othersTook(late):
		return fmt.Sprintf("; others took the CPU: in %.3g s the client's threads waited %.3g s for a core (run queue)%s; "+
			"stop them, or give the client a core of its own", runS, *c.WaitedForOthersS, c.pressureWords())
	case c.BusiestCPURatio != nil && *c.BusiestCPURatio >= busyClient:
		return fmt.Sprintf("; the client used %.3g %% of its %.3g cores in its busiest second: give it more cores or less load",
			*c.BusiestCPURatio*100, c.Cores)
	case c.WaitedS == nil:
		return "; who had the CPU is not known: give the client a core of its own"
	}
	return "; it did not wait that long for a core: look for a pause of the machine, or one thread at its limit"
}

// othersTook says whether the wait for others explains what was late: in some second it was long enough for half of it,
// and it is most of what the client waited.
func (c *Client) othersTook(late time.Duration) bool {
	return c.WaitedForOthersS != nil && *c.MostWaitedForOthersS >= late.Seconds()/2 && *c.WaitedForOthersS > *c.WaitedS/2
}

func (c *Client) pressureWords() (words string) {
	if c.CPUPressureRatio != nil {
		words = fmt.Sprintf(", CPU pressure %.3g %%", *c.CPUPressureRatio*100)
	}
	if c.StealRatio != nil && *c.StealRatio >= 0.01 {
		words += fmt.Sprintf(", %.3g %% of the cores went to other machines of this host", *c.StealRatio*100)
	}
	return words
}
