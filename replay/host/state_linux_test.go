package host

import (
	"testing"
	"time"
)

// What the kernel writes, as it writes it.
func TestTheLineForACoreIsRead(t *testing.T) {
	for text, want := range map[string]time.Duration{"242838869 1532134078 169\n": 1532134078, "0 0 1\n": 0, "0 0 0\n": -1, "": -1, "1 x 3": -1} {
		if got, is := waitIn(text); is != (want >= 0) || is && got != want {
			t.Errorf("schedstat %q: got %v, %v", text, got, is)
		}
	}
	const stat = "cpu  12044 1 3209 72452 373 0 66 31 0 0\ncpu0 100 1 20 7000 5 3 6 30 90 0\ncpu1 1000 0 0 0 0 0 0 1 0 0\nintr 5 6\n"
	busy, stolen, is := coresIn(stat, func(core int) bool { return core == 0 })
	if busy != 1300*time.Millisecond || stolen != 300*time.Millisecond || !is {
		t.Errorf("stat: got %v, %v, %v", busy, stolen, is)
	}
	if _, _, is := coresIn("cpu  1 2 3 4 5 6 7 8\n", func(int) bool { return true }); is {
		t.Error("the line of all cores was read as that of one core")
	}
	total, is := pressureIn("some avg10=0.54 avg60=1.12 avg300=4.24 total=37692944\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	if total != 37692944*time.Microsecond || !is {
		t.Errorf("pressure: got %v, %v", total, is)
	}
	if _, is := pressureIn("full avg10=0.00 total=1\n"); is {
		t.Error("the line of full was read as that of some")
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
