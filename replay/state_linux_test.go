package replay

import (
	"testing"
	"time"

	"tidemark/replay/host"
)

func TestTheCertificateOfThisMachine(t *testing.T) {
	fake := newFake(t, well(40*time.Millisecond))
	folder := ran(t, planOf(t, every(0, 3, 9, 3)), settingsFor(fake.URL))
	c := documentIn(t, folder).Result.Client
	if c == nil || c.CPUS == nil || *c.CPUS <= 0 || c.Cores <= 0 || c.OpenFilesMax == nil || *c.OpenFilesMax > *c.OpenFilesLimit ||
		c.RSSMaxBytes == nil || *c.RSSMaxBytes < 1<<20 || c.Retransmits == nil || c.CoalescedRatio == nil || c.LagS == nil {
		t.Errorf("%+v", c)
	}
	now := host.ReadState()
	if now.Waits != nil && now.HasCores && (c.WaitedS == nil || *c.WaitedForOthersS > *c.WaitedS || *c.OthersCPURatio > 1) ||
		now.HasPressure && c.CPUPressureRatio == nil {
		t.Errorf("the line for a core: %+v", c)
	}
}
