package replay

import (
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// machine is what the kernel says each second of a client of two cores: cpu and others are CPU time, waits of two threads,
// one of which ends after the first second while another begins.
type machine struct{ cpu, others, stolen, waits time.Duration }

func (m machine) state(began time.Time) func() host.State {
	return func() host.State {
		s := time.Duration(time.Since(began).Seconds())
		second := max(1, min(s, 2))
		return host.State{
			HasCPU: true, Cpu: s * m.cpu, Waits: map[int]time.Duration{1: s * m.waits, int(second) * 10: (s - second + 1) * m.waits},
			Cores: 2, Busy: s * (m.cpu + m.others), Stolen: s * m.stolen, HasCores: true, Pressure: s * 3 * m.waits / 4, HasPressure: true,
		}
	}
}

// A client that is late because others have the CPU says so, and one that is busy itself does not.
func TestWhoTookTheCPU(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine machine
		want    string
	}{
		{"others", machine{cpu: 44e6, others: 1.9e9, waits: 400e6},
			"; others took the CPU: in 5.02 s the client's threads waited 3.91 s for a core (run queue), CPU pressure 29.8 %; stop them, or give the client a core of its own"},
		{"another machine of the host", machine{cpu: 44e6, stolen: 1.9e9, waits: 400e6},
			"for a core (run queue), CPU pressure 29.8 %, 94.2 % of the cores went to other machines of this host; stop them"},
		{"the client itself", machine{cpu: 1.9e9, others: 50e6, waits: 400e6}, "busiest second: give it more cores or less load"},
		{"nobody", machine{cpu: 44e6, others: 1e9, waits: 100e3}, "more than 0.01 s; it did not wait that long for a core"},
	} {
		requests := []plan.Request{{InputTokens: 5, OutputTokens: 500}} // in flight for 5 s
		result := inBubble(t, requests, &pipeServer{}, settingsFor("http://tiny"), filepath.Join(t.TempDir(), "run"), func(s *Settings) {
			s.MaxLateness, s.MaxStall, s.beat, s.state = 0, 0, late(12*time.Millisecond), c.machine.state(time.Now())
		})
		must.Say(t, result.InvalidReason, c.want)
	}
}
