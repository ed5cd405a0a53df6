//go:build duckdb_arrow && coverage

package tuning

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/analysis/tune"
	"tidemark/internal/proof/must"
)

// race is tune's own strategy, stage one with the model as it is and then the race, by the code that the verb runs.
func (m *method) race(ctx context.Context, rows []tune.Row) (ended string, err error) {
	r := m.file.NewRace(rows, m.question(0))
	number := map[string]int{}
	for i, row := range rows {
		if row.Why == "" {
			number[row.Key()] = i
		}
	}
	m.note(m.expected(rows))
	searched := map[string][]capacity.Event{}
	for {
		turn, ended := r.Next()
		if ended != "" {
			return ended, nil
		}
		key := turn.Key()
		i := number[key]
		m.started = -1 // each turn is a start
		m.start(i)
		q, server := m.server(i, uint64(len(r.Tries)))
		q.Budget, q.Precision, q.MaxScale, q.Twin.AreSettingsCertain = turn.Load, tune.Precision, r.MaxScale(), false
		sent := 0.0
		for _, e := range searched[key] {
			if e.Kind == "run" {
				sent += e.Run.LoadS
			}
		}
		a, err := capacity.Search(ctx, *q, server, searched[key], func(e capacity.Event) error {
			searched[key] = append(searched[key], e)
			return nil
		})
		if err != nil {
			return "", err
		}
		m.minutes += (a.LoadS - sent) / 60 * float64(m.gpus(i))
		try := tune.Try{Candidate: key}
		try.Answered(a, "simulated")
		r.Tries = append(r.Tries, try)
		var front []int
		for _, f := range r.Finish() {
			if f.IsOnFront {
				front = append(front, number[f.Key()])
			}
		}
		m.note(front)
	}
}

// expected is the front of stage one, as it is printed: of candidates that the engine cannot tell apart the first.
func (m *method) expected(rows []tune.Row) (front []int) {
	isThere := map[int]bool{}
	for i, r := range rows {
		if r.IsOnFront && !isThere[r.Class] {
			isThere[r.Class] = true
			front = append(front, i)
		}
	}
	return front
}

// ranked is stage one.
func (s *seed) ranked(ctx context.Context) ([]tune.Row, error) {
	return s.file.Rehearse(ctx, s.candidates, func(i int, _ *tune.Candidate) (tune.Modelled, error) {
		return tune.Modelled{Question: s.question(i), USDPerHour: s.usdPerHour[i]}, nil
	}, func(chosen []tune.Candidate) (bands []float64, err error) {
		for _, c := range chosen {
			bands = append(bands, s.bands[c.Deployment.GPUs()])
		}
		return bands, nil
	}, func(string, int, int) {})
}

// run plays one method, and says what it found and when.
func (s *seed) run(ctx context.Context, name string, say func(any)) error {
	m, began, ended := s.method(name), time.Now(), "the budget is used up"
	expected, err := capacity.Rehearse(ctx, s.question(0))
	if err != nil {
		return err
	}
	low, high := *expected.RatePerS/4, *expected.RatePerS*4 // between which the peers look
	switch name {
	case "truth":
		return s.sayTruth(ctx, say)
	case "tune":
		var rows []tune.Row
		if rows, err = s.ranked(ctx); err == nil {
			ended, err = m.race(ctx, rows)
		}
	case "grid":
		err = m.bisect(ctx, s.inOrder(), low, high)
	case "random":
		err = m.bisect(ctx, s.shuffled(), low, high)
	case "eight":
		err = m.bisect(ctx, s.eight(), low, high)
	default:
		err = m.optuna(ctx, name, low, high)
	}
	for _, one := range m.trail {
		say(one)
	}
	say(map[string]any{"seed": s.number, "method": name, "loads": m.loads, "ended": ended, "took_s": time.Since(began).Seconds()})
	return err
}

func (s *seed) sayTruth(ctx context.Context, say func(any)) error {
	truth := make([][2]float64, len(s.candidates))
	for i := range truth {
		rate, err := s.truth(ctx, i)
		if err != nil {
			return err
		}
		truth[i] = [2]float64{rate, s.cost(i, rate)}
	}
	say(map[string]any{"seed": s.number, "truth": truth, "twist": s.twist.String()})
	return nil
}

// TestStudy prints the table of docs/tune.md. TUNING_PYTHON is the Python of setup.sh. TUNING_SEEDS, TUNING_METHODS (with commas; "truth" is one)
// and TUNING_OUTPUT (a file to which is added) are for parts of it.
func TestStudy(t *testing.T) {
	seeds, methods, output := 20, []string{"truth", "tune", "grid", "random", "eight", "TPE", "NSGA-II", "GP"}, os.Getenv("TUNING_OUTPUT")
	if n, err := strconv.Atoi(os.Getenv("TUNING_SEEDS")); err == nil {
		seeds = n
	}
	if text := os.Getenv("TUNING_METHODS"); text != "" {
		methods = strings.Split(text, ",")
	}
	if output == "" {
		output = filepath.Join(t.TempDir(), "found.jsonl")
	}
	file := must.Get(os.OpenFile(output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))(t)
	defer file.Close()
	var mu sync.Mutex
	say := func(one any) {
		mu.Lock()
		defer mu.Unlock()
		must.Do(t, json.NewEncoder(file).Encode(one))
	}
	c := newCatalogue(t)
	var all sync.WaitGroup
	free := make(chan struct{}, 2)
	for number := range seeds {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			s := newSeed(c, uint64(number+1))
			for _, name := range methods {
				if err := s.run(t.Context(), name, say); err != nil {
					t.Errorf("seed %d, %s: %v", s.number, name, err)
				}
			}
		})
	}
	all.Wait()
	table, err := exec.Command(os.Getenv("TUNING_PYTHON"), "testdata/fronts.py", output).CombinedOutput()
	t.Logf("\n%s", table)
	must.Do(t, err)
}
