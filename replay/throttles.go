package replay

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/replay/engines"
)

// throttles is what the addresses of metrics say of clocks that are held down, for whoever watches a run: marts.throttlings has it afterwards.
type throttles struct {
	mu    sync.Mutex
	since map[string]map[engines.Throttle]time.Duration // by address: the look that reported it first, of those that did so without a break
}

// see takes in a look at an address. One that did not answer tells nothing, and leaves what was.
func (t *throttles) see(address string, text []byte, at time.Duration) {
	held := engines.ThrottlesIn(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	before, now := t.since[address], map[engines.Throttle]time.Duration{}
	for _, one := range held {
		now[one] = at
		if began, isOld := before[one]; isOld {
			now[one] = began
		}
	}
	if t.since == nil {
		t.since = map[string]map[engines.Throttle]time.Duration{}
	}
	t.since[address] = now
}

// words says which GPUs are held down by what, and since when the first of them is: "GPU 0, 3 by heat since 12s"; empty: none is.
func (t *throttles) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	gpus, began := map[string][]string{}, map[string]time.Duration{}
	for _, held := range t.since {
		for one, since := range held {
			if first, isKnown := began[one.Cause]; !isKnown || since < first {
				began[one.Cause] = since
			}
			gpus[one.Cause] = append(gpus[one.Cause], one.GPU)
		}
	}
	var said []string
	for cause, names := range gpus {
		slices.Sort(names)
		which := "GPU " + strings.Join(names, ", ")
		if len(names) > 3 {
			which = fmt.Sprintf("%d GPUs", len(names))
		}
		since := " since " + began[cause].Round(time.Second).String()
		if began[cause] == 0 {
			since = " since before the run"
		}
		said = append(said, which+" by "+cause+since)
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}
