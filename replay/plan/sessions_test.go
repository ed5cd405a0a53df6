package plan

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Three sessions: one with think times, one without, one alone. Their arrivals hold the time of the answers too.
func TestSessionsBecomeLowerBounds(t *testing.T) {
	second := func(s float64) *time.Duration { d := time.Duration(s * 1e9); return &d }
	one := func(due float64, session string, turn int, think *time.Duration) Request {
		return Request{Due: *second(due), InputTokens: 10, OutputTokens: 5, Session: session, Turn: turn, Think: think}
	}
	requests := []Request{
		one(0, "a", 0, nil), one(1, "b", 0, nil), one(2, "", 0, nil),
		one(6, "a", 1, second(0.5)), one(7, "b", 1, nil), one(30, "a", 2, second(3)), one(31, "b", 2, second(40)),
	}
	brief := func(requests []Request) (text string) {
		for _, r := range requests {
			text += fmt.Sprintf("%s%d@%v ", r.Session, r.Turn, r.Due.Seconds())
		}
		return text
	}
	header, got := planned(t, Choices{Mode: "sessions"}, requests)
	if want := "a0@0 a1@0.5 b0@1 0@2 a2@3.5 b1@7 b2@47 "; brief(got) != want {
		t.Errorf("got %s, want %s", brief(got), want)
	}
	if header.Mode != "sessions" || header.Sessions != 3 || header.LongestTokens != 15 || header.LongestInputTokens != 10 {
		t.Errorf("header: %+v", header)
	}
	if _, got := planned(t, Choices{Mode: "sessions", Speed: 2}, requests); brief(got) != "a0@0 a1@0.25 b0@0.5 0@1 a2@1.75 b1@3.5 b2@23.5 " {
		t.Errorf("at speed 2: %s", brief(got))
	}
	// b begins before 1.5 s and stays whole; the lone one begins after.
	if _, got := planned(t, Choices{Mode: "sessions", Duration: 1500 * time.Millisecond}, requests); brief(got) != "a0@0 a1@0.5 b0@1 a2@3.5 b1@7 b2@47 " {
		t.Errorf("of 1.5 s: %s", brief(got))
	}
	if _, got := planned(t, Choices{Mode: "sessions", Limit: 3}, requests); brief(got) != "a0@0 a1@0.5 b0@1 " {
		t.Errorf("limited: %s", brief(got))
	}
}

// Whatever is chosen, no turn is due before the one ahead of it and its think time, and sessions stay whole.
func TestSessionsStayWholeUnderEveryChoice(t *testing.T) {
	requests := traffic(11, 2000)
	turns := map[string]int{}
	for _, r := range requests {
		turns[r.Session]++
	}
	for _, choices := range []Choices{
		{}, {Speed: 3}, {Thin: 0.4}, {Thicken: 2.5}, {Duration: 20 * time.Minute}, {Thicken: 2, Duration: 10 * time.Minute, Speed: 0.5},
	} {
		choices.Mode, choices.Seed = "sessions", 3
		_, got := planned(t, choices, requests)
		last := map[string]Request{}
		for _, r := range got {
			before, isLater := last[r.Session]
			if isLater && (r.Turn != before.Turn+1 || r.Due < before.Due+*r.Think-2) { // two roundings to a nanosecond
				t.Fatalf("%+v: %s turn %d due %v, think %v after %v", choices, r.Session, r.Turn, r.Due, *r.Think, before.Due)
			}
			if !isLater && (r.Turn != 0 || choices.Duration > 0 && r.Due >= choices.Duration) {
				t.Fatalf("%+v: %s begins with turn %d at %v", choices, r.Session, r.Turn, r.Due)
			}
			last[r.Session] = r
		}
		for session, r := range last {
			if name, _, _ := strings.Cut(session, "~"); r.Turn+1 != turns[name] {
				t.Fatalf("%+v: session %s has %d turns of %d", choices, session, r.Turn+1, turns[name])
			}
		}
	}
}

// The sorter's parts are made small by blocks, which count more than requests.
func TestSortingInPartsIsSorting(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	d := &draft{folder: t.TempDir()}
	var all []Request
	for i := range 20_000 {
		all = append(all, Request{Due: time.Duration(rnd.Int64N(5000)), InputTokens: i + 1, OutputTokens: 1, BlockTokens: 1,
			Blocks: make([]uint64, 500)})
	}
	got := must.All(d.byDue(Each(all)))(t)
	slices.SortStableFunc(all, func(a, b Request) int { return int(a.Due - b.Due) })
	if len(got) != len(all) {
		t.Fatalf("%d of %d requests", len(got), len(all))
	}
	for i := range all {
		if got[i].Due != all[i].Due || got[i].InputTokens != all[i].InputTokens {
			t.Fatalf("request %d: got %v/%d, want %v/%d", i, got[i].Due, got[i].InputTokens, all[i].Due, all[i].InputTokens)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(d.folder, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A prompt of 700 tokens ends in a block that the next turn has whole: only 188 of its tokens were there before. They
// counted as 512.
func TestAPartOfABlockIsSharedInPart(t *testing.T) {
	requests := []Request{
		{InputTokens: 700, OutputTokens: 100, Session: "s", Blocks: []uint64{1, 2}, BlockTokens: 512},
		{Due: 1, InputTokens: 1300, OutputTokens: 50, Session: "s", Turn: 1, Blocks: []uint64{1, 2, 3}, BlockTokens: 512},
		{Due: 2, InputTokens: 1200, OutputTokens: 10, Session: "t", Blocks: []uint64{1, 2, 3}, BlockTokens: 512},
		{Due: 3, InputTokens: 1600, OutputTokens: 10, Session: "s", Turn: 2, Blocks: []uint64{1, 9, 10, 11}, BlockTokens: 512},
		{Due: 4, InputTokens: 600, OutputTokens: 10, Session: "t", Turn: 1, Blocks: []uint64{1, 2}, BlockTokens: 512},
		{Due: 5, InputTokens: 100, OutputTokens: 10, Session: "u", Blocks: []uint64{1 << 50}, BlockTokens: 512},
		{Due: 6, InputTokens: 600, OutputTokens: 10, Session: "u", Turn: 1, Blocks: []uint64{1 << 50, 1 << 51}, BlockTokens: 512},
	}
	_, got := planned(t, Choices{}, requests)
	for i, want := range []struct{ shared, history int }{
		{0, 0},
		{700, 800}, // all of the prompt before; its answer stood behind it
		{1200, 0},  // another session, of which an earlier one had 1,300 tokens
		{512, 0},   // went on otherwise
		{600, 0},   // shorter than the turn before
		{0, 0},     // an id that is a hash
		{100, 110},
	} {
		if got[i].SharedTokens != want.shared || got[i].HistoryTokens != want.history {
			t.Errorf("request %d: shared %d, history %d; want %+v", i, got[i].SharedTokens, got[i].HistoryTokens, want)
		}
	}
}

// What the source says of history is believed, but not beyond the prompt, nor where the turn before is gone.
func TestHistoryOfTheSource(t *testing.T) {
	requests := []Request{
		{InputTokens: 90, OutputTokens: 10, Session: "s"},
		{InputTokens: 150, OutputTokens: 10, Session: "s", Turn: 1, HistoryTokens: 100},
		{InputTokens: 300, OutputTokens: 10, Session: "t", Turn: 3, HistoryTokens: 100},
	}
	if _, got := planned(t, Choices{}, requests); got[1].HistoryTokens != 100 || got[2].HistoryTokens != 0 {
		t.Errorf("histories: %d, %d", got[1].HistoryTokens, got[2].HistoryTokens)
	}
	if _, got := planned(t, Choices{MaxModelLen: 105, Overlong: "cap"}, requests); got[1].HistoryTokens != 95 {
		t.Errorf("capped at 95 tokens of prompt: history %d", got[1].HistoryTokens)
	}
}

func TestAPlanWithImpossibleHistoryIsRefused(t *testing.T) {
	for _, history := range []string{"-1", "11"} {
		must.Refuse(parseRequest([]byte(`{"due_s":0,"input_tokens":10,"output_tokens":1,"history_tokens":`+history+`}`)))(t, "history_tokens beyond the prompt")
	}
}
