//go:build duckdb_arrow

package privacy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// Ten users of one row, one of 100: of 10 + c rows, c are at most half for c = 10.
func TestMostByHand(t *testing.T) {
	counts := append(slices.Repeat([]int64{1}, 10), 100)
	for _, c := range []struct {
		share float64
		want  int64
	}{{0.5, 10}, {0.1, 1}, {0.2, 2}, {0.05, 0}} {
		if got := most(slices.Clone(counts), c.share); got != c.want {
			t.Errorf("at most %g of the rows: got %d, want %d", c.share, got, c.want)
		}
	}
}

// sessionFile holds 60 sessions of 5 turns, and one of 400.
func sessionFile(t *testing.T) string {
	var text strings.Builder
	line := func(session string, turn int) {
		fmt.Fprintf(&text, `{"session_id":%q,"timestamp":%d,"input_length":%d,"output_length":50}`+"\n", session, turn*1700+text.Len()%997, 100+turn)
	}
	for session := range 60 {
		for turn := range 5 {
			line(fmt.Sprintf("session-of-user-%d", session), turn)
		}
	}
	for turn := range 400 {
		line("session-of-the-heavy-one", turn)
	}
	return put(t, "sessions.jsonl", []byte(text.String()))
}

func TestHeavyUserCannotBeSeen(t *testing.T) {
	w := holding(t, sessionFile(t))
	must.Refuse(Export(t.Context(), w, "trace", t.TempDir()+"/out.jsonl", optionsOf(1)))(t, "61 users")
	o := optionsOf(1)
	o.UserCap = 0.02
	result, path := exported(t, w, "out.jsonl", o)
	// c <= 0.02 * (300 + c): c = 6
	if result.Rows != 306 || result.Dropped.RowsOfHeavyUsers != 394 {
		t.Errorf("%d rows, %d dropped; want 306 and 394", result.Rows, result.Dropped.RowsOfHeavyUsers)
	}
	trace := rowsOf(t, path)
	turns := map[int32][]int32{}
	for _, row := range trace.Rows {
		turns[row.Session] = append(turns[row.Session], row.Turn)
	}
	longest := 0
	for _, of := range turns {
		longest = max(longest, len(of))
	}
	if len(turns) != 61 || longest != 6 {
		t.Errorf("%d sessions, the longest of %d; want 61 and 6", len(turns), longest)
	}
	must.NotSay(t, string(content(t, path)), "user", "heavy")
}

func TestRareWordsBecomeOther(t *testing.T) {
	for _, c := range []struct {
		sentence string
		counts   []int64
		want     string
	}{
		{"all are many", []int64{0, 10, 20}, ""},
		{"two rare ones are enough together", []int64{0, 6, 7, 20}, "1 2"},
		{"a rare one takes the next with it", []int64{0, 3, 30, 20}, "1 3"},
		{"those without a name count too", []int64{4, 0, 30, 20}, "0 3"},
	} {
		var got []string
		groups := make([]group, len(c.counts))
		for i, n := range c.counts {
			groups[i] = group{n, several}
		}
		renamed := toMerge(groups, nil, func(g group) bool { return g.isShown(10) })
		for place := range int32(len(c.counts)) {
			if renamed[place] {
				got = append(got, fmt.Sprint(place))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.sentence, got, c.want)
		}
	}
}

// A class that one tenant alone sends is that tenant by another name: it goes to
// "other", and one that is no word goes there too.
func TestClassesThatMayNotStand(t *testing.T) {
	trace := &Trace{Sessions: []string{""}, Tenants: []string{"", "a", "b"}, Classes: []string{"", "chat", "hers", "john@acme.com", "api-key=sk-1234567890"}}
	for class, tenants := range map[int32][]int32{1: {1, 2}, 2: {1}, 3: {1, 2}, 4: {1, 2}} {
		for range 20 {
			for _, tenant := range tenants {
				trace.Rows = append(trace.Rows, Row{Class: class, Tenant: tenant})
			}
		}
	}
	classes, _, unfit := trace.mergeRareNames(10)
	if classes != 3 || unfit != 2 {
		t.Errorf("%d classes went to other, %d of them no words; want 3 and 2", classes, unfit)
	}
	left := map[string]int{}
	for _, row := range trace.Rows {
		left[trace.Classes[row.Class]]++
	}
	if len(left) != 2 || left["chat"] != 40 || left[other] != 100 {
		t.Errorf("got %v, want 40 chat and 100 other", left)
	}
	s := &subject{isTrace: true, trace: &Trace{Sessions: []string{""}, Tenants: []string{"", "a", "b"}, Classes: []string{"", "x", "y"}}}
	for i := range int32(40) {
		s.trace.Rows = append(s.trace.Rows, Row{Class: 1 + i%2, Tenant: 1 + i%2})
	}
	if verdict, figures := s.noSmallCells(usual); verdict != Fails || !strings.Contains(figures, "one user") {
		t.Errorf("got %s, %s; want rule 3 broken by a class of one user", verdict, figures)
	}
}

func TestWords(t *testing.T) {
	for _, class := range []string{"chat", "code-agent", "m-small", "gpt-4.1", "a/b", "c++"[:1], "tier_1"} {
		if !isWord(class) {
			t.Errorf("%q is no word", class)
		}
	}
	for _, class := range []string{"客服", "tell me of my disease", "tell-me-of-my-disease", "john@acme.com", "api-key=sk-abcdef123456", "sk-abcdef123456", "https://x.y",
		"ghp_abcdefgh12345678", "AbCdEf0123456789AbCdEf0123456789", strings.Repeat("a", 60)} {
		if isWord(class) {
			t.Errorf("%q is a word", class)
		}
	}
}
