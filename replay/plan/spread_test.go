package plan

import (
	"fmt"
	"testing"
	"time"
)

// ticked is a trace whose clock counts in 3 s and writes a millisecond or two beside them, as Mooncake's does: 40 ticks
// with 0 to 11 requests each.
func ticked() []Request {
	var all []Request
	for tick := range 40 {
		at := time.Duration(tick)*3*time.Second + time.Duration(tick*7%5-2)*time.Millisecond
		for range tick * 7 % 12 {
			all = append(all, Request{Seq: int64(len(all)), Due: max(0, at), InputTokens: 100 + len(all), OutputTokens: 10})
		}
	}
	return all
}

// gapsOfNothing are requests that are due with the one before them.
func gapsOfNothing(requests []Request) int {
	n := 0
	for i := 1; i < len(requests); i++ {
		if requests[i].Due == requests[i-1].Due {
			n++
		}
	}
	return n
}

func TestSpreadTicks(t *testing.T) {
	source := ticked()
	header, spread := planned(t, Choices{SpreadTicks: 3 * time.Second}, source)
	if header.Scaling.SpreadTickS != 3 {
		t.Errorf("the header says %v s of tick, want 3", header.Scaling.SpreadTickS)
	}
	if len(spread) != len(source) {
		t.Fatalf("got %d requests of %d", len(spread), len(source))
	}
	if before, after := gapsOfNothing(source), gapsOfNothing(spread); before < 100 || after > 0 {
		t.Errorf("requests due with the one before: %d, then %d; want many, then none", before, after)
	}
	for i, req := range spread {
		if req.InputTokens != source[i].InputTokens {
			t.Fatalf("request %d has %d tokens, want %d: the order is not kept", i, req.InputTokens, source[i].InputTokens)
		}
		if late := req.Due - source[i].Due; late < 0 || late >= 3*time.Second {
			t.Errorf("request %d is moved by %v, out of its tick", i, late)
		}
		if i > 0 && source[i].Due > source[i-1].Due && spread[i-1].Due > source[i].Due {
			t.Errorf("request %d is moved to %v, past the next tick at %v", i-1, spread[i-1].Due, source[i].Due)
		}
	}
}

// The mean of many draws is the middle of the tick, and a seed draws the same.
func TestSpreadTicksIsEvenAndSeeded(t *testing.T) {
	source := make([]Request, 2000)
	for i := range source {
		source[i] = Request{Seq: int64(i), InputTokens: 1, OutputTokens: 1}
	}
	_, one := planned(t, Choices{SpreadTicks: time.Second, Seed: 1}, source)
	_, again := planned(t, Choices{SpreadTicks: time.Second, Seed: 1}, source)
	_, two := planned(t, Choices{SpreadTicks: time.Second, Seed: 2}, source)
	var sum time.Duration
	for _, req := range one {
		sum += req.Due
	}
	// A mean of 2,000 even draws is off by 1 s / sqrt(12 * 2000) = 6.5 ms.
	if mean := sum / 2000; (mean - 500*time.Millisecond).Abs() > 26*time.Millisecond {
		t.Errorf("mean place in the tick: %v, want 500 ms", mean)
	}
	if fmt.Sprint(one) != fmt.Sprint(again) || fmt.Sprint(one) == fmt.Sprint(two) {
		t.Errorf("a seed must draw the same, another seed something else")
	}
}

// Stamps of one tick that were written in two goes stay one tick, and speed comes after.
func TestSpreadTicksJoinsWhatIsOneTick(t *testing.T) {
	source := []Request{
		{Due: 0, InputTokens: 1, OutputTokens: 1}, {Seq: 1, Due: 2 * time.Millisecond, InputTokens: 2, OutputTokens: 1},
		{Seq: 2, Due: 2999 * time.Millisecond, InputTokens: 3, OutputTokens: 1},
	}
	_, spread := planned(t, Choices{SpreadTicks: 3 * time.Second, Speed: 2}, source)
	if spread[1].Due <= 2*time.Millisecond || spread[1].Due >= 1500*time.Millisecond {
		t.Errorf("the second is due %v: want it anywhere in the first tick, at twice the speed", spread[1].Due)
	}
	if spread[2].Due < 1499500*time.Microsecond || spread[2].Due >= 3*time.Second {
		t.Errorf("the third is due %v: want it in the second tick", spread[2].Due)
	}
}
