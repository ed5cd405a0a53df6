package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/hint"
)

const rates = `schema: tidemark.experiment/1
name: rates
hypothesis: TPOT leaves its floor before TTFT does
send: gtc-multiturn
options: {duration: 5m, base-url: "http://gpu1:8000"}
variable: request-rate
rows: [1, 2, 4]
repeats: 2
slo: slo.yaml
stop_after_not_met: 1
`

func parsed(t *testing.T, text string) File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// player does steps: it writes each down and says what outcomes has for its row.
type player struct {
	outcomes []Outcome
	did      []string
	dieAt    int // the step that is interrupted; 0: none
}

func (p *player) do(_ context.Context, s Step) (Result, error) {
	p.did = append(p.did, fmt.Sprintf("%s/%d %v", s.Value, s.Repeat, s.Options["request-rate"]))
	if len(p.did) == p.dieAt {
		return Result{}, errors.New("the server has gone")
	}
	return Result{RunID: fmt.Sprint("run-", len(p.did)), Outcome: p.outcomes[s.Row]}, nil
}

func TestRowsAreDoneInOrderWithTheirRepeats(t *testing.T) {
	f := parsed(t, strings.Replace(rates, "stop_after_not_met: 1\n", "", 1))
	p := &player{outcomes: []Outcome{Met, NotMet, NotMet}}
	done := play(t, f, filepath.Join(t.TempDir(), "log"), p)
	want := []string{"1/0 1", "1/1 1", "2/0 2", "2/1 2", "4/0 4", "4/1 4"}
	if !reflect.DeepEqual(p.did, want) || len(done) != 6 {
		t.Errorf("did %v, want %v; %d done", p.did, want, len(done))
	}
}

func TestTheStopRuleEndsBetweenRows(t *testing.T) {
	p := &player{outcomes: []Outcome{Met, NotMet, Met}}
	play(t, parsed(t, rates), filepath.Join(t.TempDir(), "log"), p)
	if want := []string{"1/0 1", "1/1 1", "2/0 2", "2/1 2"}; !reflect.DeepEqual(p.did, want) {
		t.Errorf("did %v, want %v", p.did, want)
	}
}

func TestAnInvalidRowIsNoFailure(t *testing.T) {
	p := &player{outcomes: []Outcome{Invalid, Invalid, Met}}
	play(t, parsed(t, rates), filepath.Join(t.TempDir(), "log"), p)
	if len(p.did) != 6 {
		t.Errorf("did %v, want all six", p.did)
	}
}

// An experiment that was interrupted in its fourth step goes on with just that one.
func TestAnInterruptedExperimentGoesOn(t *testing.T) {
	f, path := parsed(t, rates), filepath.Join(t.TempDir(), "log")
	first := &player{outcomes: []Outcome{Met, Met, Met}, dieAt: 4}
	log, err := OpenLog(path, f, noon)
	if err != nil {
		t.Fatal(err)
	}
	series := log.SeriesID
	if _, err := Play(t.Context(), f, log, first.do, func(string) {}); err == nil {
		t.Fatal("no error of a step that failed")
	}
	log.Close()
	cut(t, path, `{"at":"2026`) // as a kill in the middle of a line leaves it
	second := &player{outcomes: first.outcomes}
	done := play(t, f, path, second)
	if want := []string{"2/1 2", "4/0 4", "4/1 4"}; !reflect.DeepEqual(second.did, want) {
		t.Errorf("did %v after the interruption, want %v", second.did, want)
	}
	if len(done) != 6 || done[0].RunID != "run-1" {
		t.Errorf("%d steps done in all, the first %+v", len(done), done[0])
	}
	third := &player{}
	play(t, f, path, third)
	if len(third.did) != 0 {
		t.Errorf("did %v of an experiment that had ended", third.did)
	}
	log, err = OpenLog(path, f, noon)
	if err != nil || log.SeriesID != series {
		t.Errorf("series %q, %v; want %q", log.SeriesID, err, series)
	}
	log.Close()
}

func TestAChangedFileIsNotGoneOnWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	play(t, parsed(t, rates), path, &player{outcomes: []Outcome{Met, Met, Met}})
	_, err := OpenLog(path, parsed(t, strings.Replace(rates, "repeats: 2", "repeats: 3", 1)), noon)
	if err == nil || !strings.Contains(err.Error(), "has changed") || hint.Of(err) == "" {
		t.Errorf("got %v, want that it has changed, with a hint", err)
	}
}

func TestWhatIsNoExperiment(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"without a hypothesis", "hypothesis: TPOT leaves its floor before TTFT does\n", "", "hypothesis: missing"},
		{"a key that nobody knows", "repeats: 2", "repeat: 2", `line 8: no key is called "repeat"`},
		{"no rows", "rows: [1, 2, 4]", "rows: []", "rows: none"},
		{"no repeats", "repeats: 2", "repeats: 0", "repeats: must be at least 1"},
		{"a word for a number", "repeats: 2", "repeats: two", "line 8: `two` is not what belongs here"},
		{"a row twice", "rows: [1, 2, 4]", "rows: [1, 1]", `"1" twice`},
		{"a value of nothing", "variable: request-rate\n", "", "no variable says of what"},
		{"varied and fixed", "duration: 5m", "request-rate: 3", "among the options too"},
		{"another schema", "experiment/1", "experiment/9", "schema: must be"},
		{"a name that is a path", "name: rates", "name: ../rates", "it names files"},
		{"a stop rule without an SLO", "slo: slo.yaml\n", "", "needs an slo"},
		{"two in one", "stop_after_not_met: 1\n", "stop_after_not_met: 1\n---\nschema: x\n", "a second document"},
		{"nothing at all", rates, "", "empty"},
	} {
		text := strings.Replace(rates, c.old, c.new, 1)
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestRowsThatChangeTwoThingsAreToldSo(t *testing.T) {
	text := strings.Replace(strings.Replace(rates, "variable: request-rate\n", "", 1), "rows: [1, 2, 4]",
		"rows: [{request-rate: 1, seed: 1}, {request-rate: 2, seed: 2}]", 1)
	f := parsed(t, text)
	if got, want := f.Varied(), []string{"request-rate", "seed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("varied %v, want %v", got, want)
	}
	if got := parsed(t, rates).Varied(); !reflect.DeepEqual(got, []string{"request-rate"}) {
		t.Errorf("varied %v, want the rate alone", got)
	}
}

func play(t *testing.T, f File, path string, p *player) []Done {
	t.Helper()
	log, err := OpenLog(path, f, noon)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	done, err := Play(t.Context(), f, log, p.do, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func cut(t *testing.T, path, torn string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(torn); err != nil {
		t.Fatal(err)
	}
}
