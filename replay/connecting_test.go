package replay

import (
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// A server whose queue of new connections was full made seven of 120 requests late, and "others took the CPU".
func TestAServerThatIsSlowToConnectIsNotTheClientsFault(t *testing.T) {
	run := func(lateness, connect time.Duration) string {
		o := outcome{result: Result{Failures: map[string]int64{}}}
		for range 120 {
			r := newRow(plan.Request{})
			r.sent, r.connect = lateness, connect
			o.add(&r)
		}
		return o.finish(120, limits{10 * time.Millisecond, time.Second}, observed{}, nil).InvalidReason
	}
	must.Say(t, run(200*time.Millisecond, 1030*time.Millisecond), "took connections up to 1.03 s late")
	for _, connect := range map[string]time.Duration{"a connection that was there": unknown, "a quick one": time.Millisecond} {
		must.Say(t, run(200*time.Millisecond, connect), "who had the CPU is not known")
	}
}
