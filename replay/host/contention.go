// Who had the CPU. A thread that is ready to run and does not is in the run queue; the kernel counts that time for each
// thread (/proc/PID/task/TID/schedstat). The share that others had of the cores meanwhile says how much of that wait was
// theirs. The distinction decides what a user is told to do: stop other processes, or give the client more cores.

package host

import (
	"fmt"
	"time"
)

// Contention is the line for a core that the client's threads stood in, from sample to sample. A thread waits because
// somebody else runs: of each wait, others have the share that they had of the CPU time meanwhile. Busy threads of the
// client's own have the rest: then it needs more cores, and nobody is to blame.
type Contention struct {
	Waited, ForOthers time.Duration // of all threads together
	mostForOthers     time.Duration // between two samples
	Others, Stolen    time.Duration // CPU time of the client's cores that others had; of that, other machines
	Pressure          time.Duration
	IsKnown           bool // what it waited
	HasCores          bool // who had them
	HasPressure       bool
}

func (c *Contention) add(from, to State) {
	if from.HasPressure && to.HasPressure {
		c.Pressure, c.HasPressure = c.Pressure+to.Pressure-from.Pressure, true
	}
	if !from.HasCores || !to.HasCores || !from.HasCPU || !to.HasCPU {
		return
	}
	own, stolen := to.Cpu-from.Cpu, to.Stolen-from.Stolen
	others := max(to.Busy-from.Busy-own, 0) + stolen
	c.Others, c.Stolen, c.HasCores = c.Others+others, c.Stolen+stolen, true
	if from.Waits == nil || to.Waits == nil {
		return
	}
	waited, forOthers := waitedBetween(from.Waits, to.Waits), time.Duration(0)
	if others+own > 0 {
		forOthers = time.Duration(float64(waited) * float64(others) / float64(others+own))
	}
	c.Waited, c.ForOthers, c.IsKnown = c.Waited+waited, c.ForOthers+forOthers, true
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
func (c *Contention) note(client *Certificate, span time.Duration, cores int) {
	if c.IsKnown {
		client.WaitedS, client.WaitedForOthersS, client.MostWaitedForOthersS = seconds(c.Waited), seconds(c.ForOthers), seconds(c.mostForOthers)
	}
	if time := float64(span) * float64(cores); c.HasCores && time > 0 {
		client.OthersCPURatio, client.StealRatio = ratio(float64(c.Others)/time), ratio(float64(c.Stolen)/time)
	}
	if c.HasPressure && span > 0 {
		client.CPUPressureRatio = ratio(float64(c.Pressure) / float64(span))
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

// Blame is the end of a sentence that says what the client did too late, by so much: why, and what to do. queries/macros/client.sql
// says the same by the same rule.
func (c *Certificate) Blame(late time.Duration, runS float64) string {
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
func (c *Certificate) othersTook(late time.Duration) bool {
	return c.WaitedForOthersS != nil && *c.MostWaitedForOthersS >= late.Seconds()/2 && *c.WaitedForOthersS > *c.WaitedS/2
}

func (c *Certificate) pressureWords() (words string) {
	if c.CPUPressureRatio != nil {
		words = fmt.Sprintf(", CPU pressure %.3g %%", *c.CPUPressureRatio*100)
	}
	if c.StealRatio != nil && *c.StealRatio >= 0.01 {
		words += fmt.Sprintf(", %.3g %% of the cores went to other machines of this host", *c.StealRatio*100)
	}
	return words
}
