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
	"tidemark/internal/proof/must"
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
	f := must.Get(Parse([]byte(text)))(t)
	return f
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// player does steps: it writes each down and says what outcomes has for its row.
type player struct {
	outcomes []Outcome
	did      []string
	dieAt    int // the step that is interrupted; 0: none
	held     int // so many tries to take something in find the warehouse held
	tries    []string
}

func (p *player) callbacks() Callbacks {
	return Callbacks{Run: p.do, TakeIn: p.takeIn, Tell: func(string) {}}
}

func (p *player) takeIn(_ context.Context, d Done, takesTime bool) (Result, error) {
	p.tries = append(p.tries, fmt.Sprintf("%s %v after %d", d.RunID, takesTime, len(p.did)))
	if p.held--; p.held >= 0 {
		return Result{Outcome: NotTakenIn}, nil
	}
	return Result{RunID: d.RunID, Outcome: p.outcomes[d.Row]}, nil
}

func (p *player) do(_ context.Context, s Step, sent func(string) error) (Result, error) {
	p.did = append(p.did, fmt.Sprintf("%s/%d %v", s.Value, s.Repeat, s.Options["request-rate"]))
	if len(p.did) == p.dieAt {
		return Result{}, errors.New("the server has gone")
	}
	r := Result{RunID: fmt.Sprint("run-", len(p.did)), Outcome: p.outcomes[s.Row]}
	if p.held--; p.held >= 0 {
		r.Outcome = NotTakenIn
	}
	return r, sent(r.RunID)
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

// Repeats of one plan say nothing of chance: each draws anew, and as in the other rows.
func TestEachRepeatDrawsAnew(t *testing.T) {
	seeds := func(f File) (all []any) {
		for _, s := range f.Steps() {
			all = append(all, s.Options["seed"])
		}
		return all
	}
	f := File{Repeats: 3, Send: "chat", rows: []row{{value: "1"}, {value: "2"}}}
	if got, want := seeds(f), []any{nil, 2, 3, nil, 2, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("seeds %v, want %v", got, want)
	}
	f.Options = map[string]any{"seed": "7"}
	if got, want := seeds(f), []any{"7", 8, 9, "7", 8, 9}; !reflect.DeepEqual(got, want) {
		t.Errorf("seeds %v, want %v", got, want)
	}
	f.Options, f.Send = nil, "plan.jsonl.zst"
	if got, want := seeds(f), make([]any, 6); !reflect.DeepEqual(got, want) {
		t.Errorf("seeds of a plan %v, want none", got)
	}
}

// Rows that alternate go forwards in the first repeat and backwards in the next. A row's name is no option, and what belongs to the
// address that is sent to is no second setting.
func TestRowsAlternate(t *testing.T) {
	f := parsed(t, `schema: tidemark.experiment/1
name: routers
hypothesis: the second router is faster
send: gtc-multiturn
order: alternate
rows:
  - {name: turns, base-url: "http://a:1", metrics-url: ["http://r1:1/metrics"]}
  - {name: prefix, base-url: "http://b:1", metrics-url: ["http://r2:1/metrics"]}
  - {name: least, base-url: "http://c:1"}
repeats: 3
`)
	var order []string
	for _, s := range f.Steps() {
		order = append(order, fmt.Sprintf("%s %d %v %v", s.Value, s.Repeat, s.Options["seed"], s.Options["name"]))
	}
	want := []string{"turns 0 <nil> <nil>", "prefix 0 <nil> <nil>", "least 0 <nil> <nil>", "least 1 2 <nil>", "prefix 1 2 <nil>", "turns 1 2 <nil>",
		"turns 2 3 <nil>", "prefix 2 3 <nil>", "least 2 3 <nil>"}
	if !reflect.DeepEqual(order, want) {
		t.Errorf("%q", order)
	}
	if varied := f.Varied(); !reflect.DeepEqual(varied, []string{"base-url"}) {
		t.Errorf("varied %q", varied)
	}
	must.Refuse(Parse([]byte(strings.Replace(rates, "repeats: 2", "repeats: 2\norder: alternate", 1))))(t, "stop_after_not_met")
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
	log := must.Get(OpenLog(path, f, false, noon))(t)
	series := log.SeriesID
	must.Refuse(Play(t.Context(), f, log, first.callbacks()))(t)
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
	log, err := OpenLog(path, f, false, noon)
	if err != nil || log.SeriesID != series {
		t.Errorf("series %q, %v; want %q", log.SeriesID, err, series)
	}
	log.Close()
}

// Each row is sent although the first run cannot be taken in; the stop rule counts a row once its runs are judged.
func TestALockStopsNoRow(t *testing.T) {
	f := parsed(t, strings.Replace(rates, "repeats: 2", "repeats: 1", 1))
	for _, c := range []struct {
		what     string
		outcomes []Outcome
		held     int
		did      int
		tries    string
		last     Outcome
	}{
		{"free again after the second row", []Outcome{Met, Met, Met}, 2, 3, "[run-1 true after 3 run-2 true after 3]", Met},
		{"held for the first row alone, which would have ended it", []Outcome{NotMet, Met, Met}, 1, 2, "[run-1 false after 2]", Met},
		{"held to the end", []Outcome{NotMet, NotMet, NotMet}, 99, 3, "[run-1 true after 3]", NotTakenIn},
	} {
		p := &player{outcomes: c.outcomes, held: c.held}
		done := play(t, f, filepath.Join(t.TempDir(), "log"), p)
		if len(p.did) != c.did || fmt.Sprint(p.tries) != c.tries || done[len(done)-1].Outcome != c.last {
			t.Errorf("%s: did %v, tried %v and ended with %+v; want %d rows, %s, the last %s", c.what, p.did, p.tries, done, c.did, c.tries, c.last)
		}
	}
}

// A run that was sent is not sent again, whether the program ended before it was taken in or was killed meanwhile.
func TestAnExperimentGoesOnByTakingInWhatWasSent(t *testing.T) {
	f, path := parsed(t, strings.Replace(rates, "repeats: 2", "repeats: 1", 1)), filepath.Join(t.TempDir(), "log")
	first := &player{outcomes: []Outcome{Met, Met, Met}, held: 99}
	play(t, f, path, first)
	second := &player{outcomes: first.outcomes}
	done := play(t, f, path, second)
	if len(second.did) != 0 || len(second.tries) != 3 || RowOutcome(done, 2) != Met || done[2].RunID != "run-3" {
		t.Errorf("did %v, tried %v, ended with %+v; want the three runs taken in and nothing sent", second.did, second.tries, done)
	}
	third := &player{}
	if play(t, f, path, third); len(third.tries) != 0 {
		t.Errorf("tried %v again", third.tries)
	}
}

func TestAChangedFileIsNotGoneOnWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	play(t, parsed(t, rates), path, &player{outcomes: []Outcome{Met, Met, Met}})
	_, err := OpenLog(path, parsed(t, strings.Replace(rates, "repeats: 2", "repeats: 3", 1)), false, noon)
	if err == nil || !strings.Contains(err.Error(), "has changed") || hint.Of(err) == "" {
		t.Errorf("got %v, want that it has changed, with a hint", err)
	}
}

func TestWhatIsNoExperiment(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"without a hypothesis", "hypothesis: TPOT leaves its floor before TTFT does\n", "", "hypothesis: is missing"},
		{"a key that nobody knows", "repeats: 2", "repeat: 2", `line 8: unknown key "repeat"; did you mean repeats? known are`},
		{"no rows", "rows: [1, 2, 4]", "rows: []", "line 7: rows: must be a list of at least one"},
		{"no repeats", "repeats: 2", "repeats: 0", "repeats: \"0\": must be a whole number from 1"},
		{"a word for a number", "repeats: 2", "repeats: two", `line 8: repeats: "two": must be a whole number`},
		{"a row twice", "rows: [1, 2, 4]", "rows: [1, 1]", `"1" twice`},
		{"a value of nothing", "variable: request-rate\n", "", "line 6: rows[0]: a value alone, and no variable"},
		{"varied and fixed", "duration: 5m", "request-rate: 3", "among the options too"},
		{"another schema", "experiment/1", "experiment/9", `line 1: schema: "tidemark.experiment/9": must be`},
		{"a name that is a path", "name: rates", "name: ../rates", "it names files"},
		{"a stop rule without an SLO", "slo: slo.yaml\n", "", "needs an slo"},
		{"two in one", "stop_after_not_met: 1\n", "stop_after_not_met: 1\n---\nschema: x\n", "a second document"},
		{"nothing at all", rates, "", "empty"},
	} {
		text := strings.Replace(rates, c.old, c.new, 1)
		must.Refuse(Parse([]byte(text)))(t, c.want)
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
	log := must.Get(OpenLog(path, f, false, noon))(t)
	defer log.Close()
	done := must.Get(Play(t.Context(), f, log, p.callbacks()))(t)
	return done
}

func cut(t *testing.T, path, torn string) {
	t.Helper()
	file := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	defer file.Close()
	must.Get(file.WriteString(torn))(t)
}
