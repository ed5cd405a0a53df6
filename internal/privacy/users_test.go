//go:build duckdb_arrow

package privacy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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
	if _, err := Export(t.Context(), w, "trace", t.TempDir()+"/out.jsonl", optionsOf(1)); err == nil || !strings.Contains(err.Error(), "61 users") {
		t.Errorf("61 users under a cap of 1 %%: got %v, want an error that says so", err)
	}
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
	if text := string(content(t, path)); strings.Contains(text, "user") || strings.Contains(text, "heavy") {
		t.Error("a session's name is in the export")
	}
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
		renamed := lump(make([]string, len(c.counts)), c.counts, 10)
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
