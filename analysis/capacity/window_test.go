package capacity

import (
	"strings"
	"testing"
	"time"

	"tidemark/internal/show"

	"tidemark/replay/plan"
)

// An hour at one request a second with three windows of ten minutes that stand out: 10:00 to 20:00 at three a second with prompts
// of another length, 30:00 to 40:00 at two a second with the usual ones.
func TestBusiestWindowResemblesTheWhole(t *testing.T) {
	var requests []plan.Request
	for s := 0; s < 3600; s++ {
		n, input := 1, 100+s%50
		switch {
		case s >= 600 && s < 1200:
			n, input = 3, 5000
		case s >= 1800 && s < 2400:
			n = 2
		}
		for i := range n {
			requests = append(requests, plan.Request{Due: time.Duration(s)*time.Second + time.Duration(i), InputTokens: input, OutputTokens: 10})
		}
	}
	// 1,800 of the 5,400 prompts are long. A window of long ones alone is two thirds away from the whole, one without them a third. From 2:00 to
	// 12:00 there are 360 long ones in 840, 3/7 beside 1/3: two in twenty-one away.
	w := BusiestWindow(requests, 10*time.Minute, false)
	if w.From != 2*time.Minute || w.RatePerS != 1.4 || w.Distance < 0.0952 || w.Distance > 0.0953 {
		t.Errorf("%+v", w)
	}
	short := BusiestWindow(requests[:100], 10*time.Minute, false)
	if short.From != 0 || short.Distance != 0 {
		t.Errorf("a short trace: %+v", short)
	}
	cut, _, _ := w.Cut(requests, false)
	if len(cut) == 0 || cut[0].Due < 0 || cut[len(cut)-1].Due >= 10*time.Minute || cut[5].Seq != 5 {
		t.Errorf("%d requests from %v", len(cut), cut[0].Due)
	}
}

// A session of 30 turns in ten seconds and, forty seconds later, 100 turns in another ten: nothing begins in the busiest part.
func TestASessionBeginsInTheWindow(t *testing.T) {
	var requests []plan.Request
	for i := range 130 {
		due := time.Duration(i) * time.Second / 3
		if i >= 30 {
			due = 50*time.Second + time.Duration(i-30)*time.Second/10
		}
		requests = append(requests, plan.Request{Due: due, Session: "a", Turn: i, InputTokens: 10, OutputTokens: 1})
	}
	w := BusiestWindow(requests, 10*time.Second, false)
	if cut, _, _ := w.Cut(requests, true); len(cut) != 0 {
		t.Errorf("by requests: %+v with %d of whole sessions", w, len(cut))
	}
	w = BusiestWindow(requests, 10*time.Second, true)
	cut, taken, caution := w.Cut(requests, true)
	if w.From != 0 || len(cut) != 130 {
		t.Errorf("by sessions: %+v with %d", w, len(cut))
	}
	if end := cut[129].Due + time.Millisecond; taken.Until != end || taken.RatePerS != 130/end.Seconds() {
		t.Errorf("requests that come until %s are taken as %+v", end, taken)
	}
	if want := "76.9 % of the requests of sessions that begin in the window are due after it, and rates are over the " + show.Duration(taken.Length().Seconds()); !strings.HasPrefix(caution, want) {
		t.Errorf("said of them: %q, want %q", caution, want)
	}
	if first := (Window{Until: 10 * time.Second}); first.outlastBy(requests) != 100./130 || (Window{Until: 58 * time.Second}).outlastBy(requests) != 0 {
		t.Errorf("due after the window: %v, and %v of the longer one", first.outlastBy(requests), (Window{Until: 58 * time.Second}).outlastBy(requests))
	}
}

// A second of which no one has 20 requests was "0 ms to 0 ms, no request".
func TestAWindowOfTooFewRequestsIsNone(t *testing.T) {
	var requests []plan.Request
	for i := range 100 {
		requests = append(requests, plan.Request{Due: time.Duration(i) * time.Second, InputTokens: 10, OutputTokens: 1})
	}
	if w := BusiestWindow(requests, time.Second, false); w != (Window{}) {
		t.Errorf("got %+v", w)
	}
	if w := BusiestWindow(requests, 30*time.Second, false); w.Length() != 30*time.Second {
		t.Errorf("half a minute: got %+v", w)
	}
}
