package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A turn whose session lost one was kept, and its think time counted from the turn before the hole.
func TestASessionEndsWhereATurnIsDropped(t *testing.T) {
	second := time.Second
	turn := func(due time.Duration, session string, turn, input int) Request {
		return Request{Due: due, InputTokens: input, OutputTokens: 10, Session: session, Turn: turn, Think: &second}
	}
	requests := []Request{
		turn(0, "a", 0, 50), turn(0, "b", 0, 50), turn(0, "", 0, 500), turn(second, "a", 1, 500), turn(second, "b", 1, 60),
		turn(2*second, "a", 2, 60), turn(2*second, "b", 2, 500), turn(3*second, "a", 3, 600), turn(4*second, "", 0, 50),
	}
	for _, mode := range []string{"open", "sessions"} {
		h, got := planned(t, Choices{Mode: mode, MaxModelLen: 100, Overlong: "drop"}, requests)
		kept := ""
		for _, r := range got {
			kept += fmt.Sprintf("%s%d ", r.Session, r.Turn)
		}
		if kept != "a0 b0 b1 0 " || h.OverlongDropped != 3 || h.OverlongCut != 2 {
			t.Errorf("%s: kept %s, %d dropped, %d with them", mode, kept, h.OverlongDropped, h.OverlongCut)
		}
	}
}

// Ids are written lowest digit first in base 7192: 3 is told by a token, 7192 + 3 begins like it.
func TestShortLastBlocksAreThoseThatMayMeetAnother(t *testing.T) {
	const meets = 7192 + 3
	for _, test := range []struct {
		why    string
		input  int
		blocks []uint64
		want   int64
	}{
		{"its first token is that of block 3", 513, []uint64{1, meets}, 1},
		{"its second one is not", 514, []uint64{1, meets}, 0},
		{"a number below the base is told by a token", 513, []uint64{1, 4}, 0},
		{"nobody had the block ahead of it", 1025, []uint64{1, 5, meets}, 0},
		{"the very block was there before", 513, []uint64{1, 3}, 0},
		{"a hash in four tokens", 516, []uint64{1, 1 << 63}, 1},
		{"and in five", 517, []uint64{1, 1 << 62}, 0},
		{"a whole block is long enough", 1024, []uint64{1, 1 << 63}, 0},
	} {
		h, _ := planned(t, Choices{}, []Request{
			{InputTokens: 1024, OutputTokens: 1, Blocks: []uint64{1, 3}, BlockTokens: 512},
			{InputTokens: test.input, OutputTokens: 1, Blocks: test.blocks, BlockTokens: 512},
		})
		if h.ShortLastBlocks != test.want {
			t.Errorf("%s: %d", test.why, h.ShortLastBlocks)
		}
	}
}

func TestAPlanNamesItsClasses(t *testing.T) {
	classes := func(names ...string) (all []Request) {
		for _, name := range names {
			all = append(all, Request{InputTokens: 1, OutputTokens: 1, Class: name})
		}
		return all
	}
	if h, _ := planned(t, Choices{}, classes("b", "", "a", "b")); !slices.Equal(h.Classes, []string{"a", "b"}) {
		t.Errorf("classes: %v", h.Classes)
	}
	if h, _ := planned(t, Choices{}, classes("", "")); h.Classes != nil {
		t.Errorf("of a plan without: %v", h.Classes)
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("c%03d", 299-i))
	}
	if h, _ := planned(t, Choices{}, classes(many...)); len(h.Classes) != 100 || !slices.IsSorted(h.Classes) {
		t.Errorf("of 300: %v", h.Classes)
	}
	path := filepath.Join(t.TempDir(), "p")
	if h, err := Write(path, Header{MaxConcurrency: 8}, Choices{}, Each(classes("a"))); err != nil || h.MaxConcurrency != 8 {
		t.Errorf("concurrency %d, %v", h.MaxConcurrency, err)
	}
	if p, err := Open(path); err != nil || p.Header().MaxConcurrency != 8 {
		t.Errorf("read back: %+v, %v", p, err)
	}
}

// The mean was requests over the last due time: five of them, due in 0.45 s, came to a mean of 11.2/s and a peak of 5/s.
func TestMeanRateIsNeverAboveThePeak(t *testing.T) {
	every := func(n int, first, gap time.Duration) (all []Request) {
		for i := range n {
			all = append(all, Request{Due: first + time.Duration(i)*gap, InputTokens: 1, OutputTokens: 1})
		}
		return all
	}
	rounded := func(all []Request) []Request {
		for i := range all {
			all[i].Due -= time.Duration(i / 7 % 2)
		}
		all[0].Due = 0
		return all
	}
	for _, test := range []struct {
		why        string
		requests   []Request
		mean, peak float64
	}{
		{"five in 0.4 s: four gaps of 0.1 s", every(5, 0, 100*time.Millisecond), 10, 10},
		{"a late begin is no slower", every(5, time.Minute, 2*time.Second), 0.5, 1},
		{"all at once have no mean", every(7, 0, 0), 0, 7},
		{"one alone has no mean", every(1, time.Second, 0), 0, 1},
		{"20/s, rounded down to whole nanoseconds now and then: a second of it never holds 21", rounded(every(100, 0, 50*time.Millisecond)), 20, 20},
		{"a tenth of a second less is more", every(3, 0, 900*time.Millisecond), 1 / 0.9, 2},
	} {
		header, _ := planned(t, Choices{}, test.requests)
		near(t, test.why+", mean", header.MeanRatePerS, test.mean)
		near(t, test.why+", peak", header.PeakRatePerS, test.peak)
	}
}
