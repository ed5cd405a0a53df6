package replay

import (
	"path/filepath"
	"testing"
	"time"
)

func TestTheCertificateOfThisMachine(t *testing.T) {
	fake := newFake(t, well(40*time.Millisecond))
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), planOf(t, every(0, 3, 9, 3)), settingsFor(fake.URL), folder); err != nil {
		t.Fatal(err)
	}
	c := documentIn(t, folder).Result.Client
	if c == nil || c.CPUS == nil || *c.CPUS <= 0 || c.Cores <= 0 || c.OpenFilesMax == nil || *c.OpenFilesMax > *c.OpenFilesLimit ||
		c.RSSMaxBytes == nil || *c.RSSMaxBytes < 1<<20 || c.Retransmits == nil || c.CoalescedRatio == nil || c.LagS == nil {
		t.Errorf("%+v", c)
	}
}

func TestRetransmitsAreFoundByName(t *testing.T) {
	const snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm ActiveOpens RetransSegs InErrs\nTcp: 1 20 345 6\nUdp: InDatagrams\nUdp: 9\n"
	if n, is := retransmitsIn(snmp); n != 345 || !is {
		t.Errorf("got %d, %v", n, is)
	}
	for _, text := range []string{"", "Tcp: A B\nTcp: 1 2\n", "Tcp: RetransSegs\n", "Tcp: RetransSegs\nTcp: x\n"} {
		if n, is := retransmitsIn(text); is {
			t.Errorf("%q: got %d", text, n)
		}
	}
}

// A quota of 1.5 cores lies on the parent, the group itself has none.
func TestTheQuotaOfACgroupAndThoseAroundIt(t *testing.T) {
	files := map[string]string{"/a/b/cpu.max": "max 100000\n", "/a/cpu.max": "150000 100000\n"}
	read := func(name string) string { return files[name] }
	for own, want := range map[string]float64{"0::/a/b\n": 1.5, "0::/c\n": 8, "12:cpu:/a/b\n0::/a\n": 1.5, "12:cpu:/a\n": 8, "": 8} {
		if got := cgroupQuota(own, read, 8); got != want {
			t.Errorf("%q: got %v, want %v", own, got, want)
		}
	}
}
