package plan

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// traffic is a seeded trace of sessions of up to four turns: a system prompt of two blocks that all share, then blocks
// that grow from turn to turn.
func traffic(seed uint64, sessions int) []Request {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var all []Request
	start, nextID := time.Duration(0), uint64(2)
	for s := range sessions {
		start += time.Duration(rnd.ExpFloat64() * float64(2*time.Second))
		at, blocks := start, []uint64{0, 1}
		for turn := range 1 + rnd.IntN(4) {
			for range 1 + rnd.IntN(3) {
				blocks = append(blocks, nextID)
				nextID++
			}
			think := time.Duration(rnd.Int64N(int64(time.Minute)))
			all = append(all, Request{Due: at, InputTokens: len(blocks)*512 - rnd.IntN(500), OutputTokens: 1 + rnd.IntN(300),
				Session: fmt.Sprintf("s%d", s), Turn: turn, Think: &think, Blocks: slices.Clone(blocks), BlockTokens: 512})
			at += think
		}
	}
	slices.SortStableFunc(all, func(a, b Request) int { return int(a.Due - b.Due) })
	for i := range all {
		all[i].Seq = int64(i)
	}
	return all
}

// every is a stream of n equal requests.
func every(gap time.Duration, n, input, output int) iter.Seq2[Request, error] {
	requests := make([]Request, n)
	for i := range requests {
		requests[i] = Request{Seq: int64(i), Due: time.Duration(i) * gap, InputTokens: input, OutputTokens: output}
	}
	return Each(requests)
}

// planned writes and reads back a plan.
func planned(t testing.TB, choices Choices, requests []Request) (Header, []Request) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	header := must.Get(Write(path, Header{Source: "trace"}, choices, Each(requests)))(t)
	plan := must.Get(Open(path))(t)
	if !reflect.DeepEqual(plan.Header(), header) {
		t.Errorf("the header reads back as %+v, written as %+v", plan.Header(), header)
	}
	var all []Request
	for req, err := range plan.Requests() {
		must.Do(t, err)
		if len(all) > 0 && req.Due < all[len(all)-1].Due || req.Seq != int64(len(all)) {
			t.Fatalf("request %d out of order", req.Seq)
		}
		all = append(all, req)
	}
	return header, all
}

func TestPlanKeepsEveryFieldAndCountsByHand(t *testing.T) {
	think := 1500 * time.Millisecond
	requests := []Request{
		{Due: 0, InputTokens: 1030, OutputTokens: 10, Session: "a", Class: "chat", Blocks: []uint64{7, 8, 9}, BlockTokens: 512},
		{Due: 400 * time.Millisecond, InputTokens: 1024, OutputTokens: 20, Session: `b"é`, Blocks: []uint64{7, 8}, BlockTokens: 512},
		{Due: 900 * time.Millisecond, InputTokens: 700, OutputTokens: 0}, // failed in the trace
		{Due: 2 * time.Second, InputTokens: 600, OutputTokens: 30, Session: "a", Turn: 1, Think: &think, Blocks: []uint64{7, 1 << 63}, BlockTokens: 512},
	}
	header, got := planned(t, Choices{}, requests)
	// Shared: 2 blocks of the second request, 1 of the third.
	want := Header{Schema: planSchema, Source: "trace", Mode: "open", Scaling: header.Scaling, Requests: 3, InputTokens: 2654, OutputTokens: 60,
		DurationS: 2, MeanRatePerS: 1, PeakRatePerS: 2, BlockTokens: 512, SharedTokens: 1024 + 512,
		SourceRequests: 4, ZeroOutputDropped: 1, Sessions: 2, LongestTokens: 1044, LongestInputTokens: 1030, Classes: []string{"chat"}}
	if !reflect.DeepEqual(header, want) {
		t.Errorf("header: got %+v, want %+v", header, want)
	}
	last := got[2]
	if last.Seq != 2 || last.Due != 2*time.Second || *last.Think != think || last.SharedTokens != 512 ||
		last.Blocks[1] != 1<<63 || last.Turn != 1 || got[1].Session != `b"é` || got[0].Class != "chat" {
		t.Errorf("read back: %+v", got)
	}
}

func TestSpeedDividesEveryGap(t *testing.T) {
	requests := traffic(1, 2000)
	_, plain := planned(t, Choices{}, requests)
	for _, speed := range []float64{0.1, 0.5, 1, 2, 10} {
		_, got := planned(t, Choices{Speed: speed}, requests)
		a, b := gaps(plain), gaps(got)
		for _, q := range []float64{0.01, 0.25, 0.5, 0.9, 0.99, 1} {
			near(t, fmt.Sprintf("speed %v, quantile %v of gaps", speed, q), b[int(q*float64(len(b)-1))], a[int(q*float64(len(a)-1))]/speed)
		}
		near(t, fmt.Sprintf("speed %v, sum", speed), got[len(got)-1].Due.Seconds(), plain[len(plain)-1].Due.Seconds()/speed)
		near(t, "think time", got[5].Think.Seconds(), plain[5].Think.Seconds()/speed)
	}
}

func gaps(requests []Request) (gaps []float64) {
	for i := 1; i < len(requests); i++ {
		gaps = append(gaps, (requests[i].Due - requests[i-1].Due).Seconds())
	}
	slices.Sort(gaps)
	return gaps
}

// near allows 0.1 % and a few nanoseconds of rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-3*math.Abs(want)+5e-9 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestThinKeepsWholeSessions(t *testing.T) {
	requests := traffic(2, 3000)
	header, got := planned(t, Choices{Thin: 0.3, Seed: 5}, requests)
	turns := func(list []Request) map[string]int {
		n := map[string]int{}
		for _, r := range list {
			n[r.Session]++
		}
		return n
	}
	all, kept := turns(requests), turns(got)
	for session, n := range kept {
		if n != all[session] {
			t.Errorf("session %s: %d of %d turns kept", session, n, all[session])
		}
	}
	if share := float64(len(kept)) / float64(len(all)); math.Abs(share-0.3) > 0.03 {
		t.Errorf("kept %v of the sessions, want 0.3", share)
	}
	if header.ThinDropped+header.Requests != header.SourceRequests {
		t.Errorf("counts do not add up: %+v", header)
	}
	if _, again := planned(t, Choices{Thin: 0.3, Seed: 5}, requests); !sameDues(again, got) {
		t.Error("the same seed chose other sessions")
	}
	if _, other := planned(t, Choices{Thin: 0.3, Seed: 6}, requests); sameDues(other, got) {
		t.Error("another seed chose the same sessions")
	}
}

func sameDues(a, b []Request) bool {
	return slices.EqualFunc(a, b, func(x, y Request) bool { return x.Due == y.Due && x.Session == y.Session })
}

func TestThickenClonesSessionsThatShareAsTheirOriginals(t *testing.T) {
	requests := traffic(3, 1500)
	plainHeader, plain := planned(t, Choices{}, requests)
	header, got := planned(t, Choices{Thicken: 2.5, Seed: 9}, requests)
	if ratio := float64(header.Requests) / float64(plainHeader.Requests); math.Abs(ratio-2.5) > 0.1 {
		t.Errorf("thicken 2.5 made %v times the requests", ratio)
	}
	type key struct {
		session string
		turn    int
	}
	originals := map[key]Request{}
	first := plain[0].Due
	for _, r := range plain {
		originals[key{r.Session, r.Turn}] = r
	}
	offsets := map[string]time.Duration{}
	for _, r := range got {
		name, _, isClone := strings.Cut(r.Session, "~")
		original := originals[key{name, r.Turn}]
		if r.InputTokens != original.InputTokens || r.OutputTokens != original.OutputTokens {
			t.Fatalf("%s: lengths %d/%d, the original has %d/%d", r.Session, r.InputTokens, r.OutputTokens, original.InputTokens, original.OutputTokens)
		}
		if r.SharedTokens != original.SharedTokens {
			t.Fatalf("%s turn %d shares %d tokens, the original %d", r.Session, r.Turn, r.SharedTokens, original.SharedTokens)
		}
		if !isClone {
			continue
		}
		offset := r.Due - original.Due
		if before, seen := offsets[r.Session]; seen && before != offset {
			t.Fatalf("%s: offset %v after %v", r.Session, offset, before)
		}
		if r.Turn == 0 && (r.Due-first)/rateSpan != (original.Due-first)/rateSpan {
			t.Fatalf("%s begins at %v, not in the five minutes of %v", r.Session, r.Due, original.Due)
		}
		offsets[r.Session] = offset
	}
	if _, again := planned(t, Choices{Thicken: 2.5, Seed: 9}, requests); !sameDues(again, got) {
		t.Error("the same seed gave another plan")
	}
}

func TestThickenKeepsSmallIdsSmall(t *testing.T) {
	_, got := planned(t, Choices{Thicken: 3}, traffic(4, 100))
	largest := uint64(0)
	for _, r := range got {
		largest = max(largest, slices.Max(r.Blocks))
	}
	if largest > 10_000 {
		t.Errorf("the largest block id is %d", largest)
	}
}

func TestLimitsLeaveOutTheRest(t *testing.T) {
	requests := slices.Collect(func(yield func(Request) bool) {
		for r := range every(time.Second, 100, 10, 10) {
			if !yield(r) {
				return
			}
		}
	})
	if h, _ := planned(t, Choices{Duration: 30 * time.Second}, requests); h.Requests != 30 {
		t.Errorf("duration 30 s: %d requests", h.Requests)
	}
	if h, _ := planned(t, Choices{Duration: 30 * time.Second, Speed: 2}, requests); h.Requests != 60 {
		t.Errorf("duration 30 s at speed 2: %d requests", h.Requests)
	}
	if h, _ := planned(t, Choices{Limit: 7}, requests); h.Requests != 7 || h.SourceRequests != 7 {
		t.Errorf("limit 7: %d requests of %d", h.Requests, h.SourceRequests)
	}
}

func TestOverlongIsRefusedDroppedOrCapped(t *testing.T) {
	requests := []Request{
		{InputTokens: 90, OutputTokens: 10},
		{InputTokens: 200, OutputTokens: 10, Blocks: []uint64{1, 2, 3, 4}, BlockTokens: 50},
		{InputTokens: 5, OutputTokens: 300},
	}
	path := filepath.Join(t.TempDir(), "p")
	must.Refuse(Write(path, Header{}, Choices{MaxModelLen: 100}, Each(requests)))(t, "2 of 3 requests", "--overlong drop")
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("a refused plan leaves %v", left)
	}
	if h, got := planned(t, Choices{MaxModelLen: 100, Overlong: "drop"}, requests); len(got) != 1 || h.OverlongDropped != 2 {
		t.Errorf("drop: %+v", h)
	}
	h, got := planned(t, Choices{MaxModelLen: 100, Overlong: "cap"}, requests)
	if h.OverlongCapped != 2 || got[1].InputTokens != 90 || got[1].OutputTokens != 10 || len(got[1].Blocks) != 2 ||
		got[2].InputTokens != 1 || got[2].OutputTokens != 99 {
		t.Errorf("cap: %+v", got)
	}
}

// A few kilobytes may unpack to gigabytes. A file that is no plan is refused before it fills the memory, and at once.
func TestPlansThatBlowUpAreRefused(t *testing.T) {
	request := `{"due_s":0,"input_tokens":1,"output_tokens":1}` + "\n"
	header := func(requests int64) string {
		return fmt.Sprintf(`{"schema":"tidemark.plan/1","requests":%d}`+"\n", requests)
	}
	for want, parts := range map[string][]string{
		"longer than 16 MiB":       {strings.Repeat("\x00", 17<<20)},
		"line 2: longer than":      {header(1), "{" + strings.Repeat(" ", 17<<20)},
		"line 2: not a request":    {header(1 << 40), strings.Repeat("\n", 1<<20)},
		"holds no request":         {header(0)},
		"more than the 2 requests": {header(2), strings.Repeat(request, 1000), "\x00"},
	} {
		path := filepath.Join(t.TempDir(), "plan")
		file := must.Get(os.Create(path))(t)
		lines, _ := NewLineWriter(file)
		for _, part := range parts {
			lines.Write([]byte(part))
		}
		lines.Close()
		file.Close()
		must.Refuse(Open(path))(t, want)
	}
}

func TestPlanErrors(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	must.Get(Write(good, Header{}, Choices{}, every(time.Second, 1000, 10, 10)))(t)
	whole, _ := os.ReadFile(good)
	cut := filepath.Join(dir, "cut")
	os.WriteFile(cut, whole[:len(whole)/2], 0o644)
	empty := filepath.Join(dir, "empty")
	os.WriteFile(empty, nil, 0o644)
	other := filepath.Join(dir, "other")
	os.WriteFile(other, []byte("a,b,c\n1,2,3\n"), 0o644)
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"): "no such file",
		cut:                          "cut off",
		empty:                        "empty or cut off",
		other:                        "not a plan",
		dir:                          "is a directory",
	} {
		must.Refuse(Open(path))(t, want)
	}
	for want, write := range map[string]func() error{
		"exists": func() error {
			_, err := Write(good, Header{}, Choices{}, every(1, 1, 1, 1))
			return err
		},
		"no request is left": func() error {
			_, err := Write(filepath.Join(dir, "none"), Header{}, Choices{}, every(1, 3, 1, 0))
			return err
		},
		"before 2s": func() error {
			_, err := Write(filepath.Join(dir, "unsorted"), Header{}, Choices{}, Each([]Request{
				{Due: 2 * time.Second, InputTokens: 1, OutputTokens: 1}, {Due: time.Second, InputTokens: 1, OutputTokens: 1}}))
			return err
		},
		`mode "closed"`: func() error {
			_, err := Write(filepath.Join(dir, "mode"), Header{}, Choices{Mode: "closed"}, every(1, 1, 1, 1))
			return err
		},
		"thin 2": func() error {
			_, err := Write(filepath.Join(dir, "bad"), Header{}, Choices{Thin: 2}, every(1, 1, 1, 1))
			return err
		},
	} {
		must.Fail(t, write(), want)
	}
	if now, _ := os.ReadFile(good); string(now) != string(whole) {
		t.Error("an existing plan was changed")
	}
}

func BenchmarkPlan(b *testing.B) {
	requests := traffic(1, 5000)
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "plan")
		must.Get(Write(path, Header{}, Choices{}, Each(requests)))(b)
	}
	b.ReportMetric(float64(len(requests)*b.N)/b.Elapsed().Seconds(), "requests/s")
}
