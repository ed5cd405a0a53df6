//go:build duckdb_arrow && coverage

package tuning

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
)

// tried is what one method has found after so many GPU-minutes: of its candidates, those that it holds for the front.
type tried struct {
	Seed    uint64  `json:"seed"`
	Method  string  `json:"method"`
	Minutes float64 `json:"gpu_minutes"`
	Front   []int   `json:"front"`
}

// method is one search while it goes.
type method struct {
	*seed
	name    string
	minutes float64 // of GPUs
	loads   int
	started int             // the candidate that serves now; -1: none
	best    map[int]float64 // the largest rate of each candidate that was seen to keep the SLO
	trail   []tried
}

func (s *seed) method(name string) *method {
	return &method{seed: s, name: name, started: -1, best: map[int]float64{}}
}

// start starts a candidate's server where another one serves.
func (m *method) start(i int) {
	if m.started != i {
		m.minutes += startMinutes * float64(m.gpus(i))
		m.started = i
	}
}

// try sends one load.
func (m *method) try(ctx context.Context, i int, perS float64) (load, error) {
	m.start(i)
	m.loads++
	got, err := m.load(ctx, i, perS, m.loads)
	m.minutes += windowLength.Minutes() * float64(m.gpus(i))
	if err == nil && got.excess <= 1 && got.perS > m.best[i] {
		m.best[i] = got.perS
		m.note(m.front())
	}
	return got, err
}

func (m *method) note(front []int) {
	m.trail = append(m.trail, tried{m.number, m.name, m.minutes, front})
}

// front are the candidates that none beats in rate and cost, by what was measured.
func (m *method) front() (front []int) {
	for i, rate := range m.best {
		isBeaten := false
		for j, other := range m.best {
			a, b := m.cost(i, rate), m.cost(j, other)
			isBeaten = isBeaten || other >= rate && b <= a && (other > rate || b < a)
		}
		if !isBeaten {
			front = append(front, i)
		}
	}
	return front
}

// peerBudget is after how many GPU-minutes a peer ends.
const peerBudget = 1200.0

const halvings = 5 // of the range of rates, for each candidate: to 4 % on each side

// bisect takes candidates in an order, and halves the range of rates of each, as SGLang's benchmark does.
func (m *method) bisect(ctx context.Context, order []int, lowest, highest float64) error {
	for _, i := range order {
		low, high := lowest, highest
		for range halvings {
			perS := math.Sqrt(low * high)
			got, err := m.try(ctx, i, perS)
			if err != nil {
				return err
			}
			if got.excess <= 1 {
				low = perS
			} else {
				high = perS
			}
		}
		if m.minutes > peerBudget {
			return nil
		}
	}
	return nil
}

func (s *seed) inOrder() (order []int) {
	for i := range s.candidates[1:] {
		order = append(order, i+1)
	}
	return order
}

func (s *seed) shuffled() []int {
	order := s.inOrder()
	rand.New(rand.NewPCG(s.number, 44)).Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	return order
}

// eight is a grid of the size of SGLang's second tier: two values of each of three settings, the others as by default.
func (s *seed) eight() (order []int) {
	for i := range s.candidates[1:] {
		has := s.candidates[i+1].Settings()
		if strings.Contains("128 512", has["max_num_seqs"]) && strings.Contains("2048 8192", has["max_num_batched_tokens"]) && has["gpu_memory_utilization"] == "0.90" && has["enable_prefix_caching"] == "true" {
			order = append(order, i+1)
		}
	}
	return order
}

// optuna lets one of its samplers choose settings and a rate. It is told of each load its throughput, its cost, and how far it is from the SLO.
func (m *method) optuna(ctx context.Context, sampler string, low, high float64) error {
	var sizes []int
	for _, k := range m.file.Knobs {
		sizes = append(sizes, len(k.Values))
	}
	about, err := json.Marshal(map[string]any{"sampler": sampler, "seed": m.number, "sizes": sizes, "low": low, "high": high})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, os.Getenv("TUNING_PYTHON"), "testdata/sampler.py", string(about))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = m.converse(ctx, bufio.NewScanner(out), in)
	in.Close()
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	return err
}

// converse answers one line for each line "candidate rate" until the peers' budget is spent.
func (m *method) converse(ctx context.Context, asks *bufio.Scanner, answers io.Writer) error {
	for m.minutes < peerBudget && asks.Scan() {
		var i int
		var perS float64
		if _, err := fmt.Sscan(asks.Text(), &i, &perS); err != nil {
			return fmt.Errorf("%q: %w", asks.Text(), err)
		}
		got, err := m.try(ctx, i+1, perS)
		if err != nil {
			return err
		}
		fmt.Fprintln(answers, got.perS, m.cost(i+1, max(got.perS, 1e-3)), got.excess-1)
	}
	return asks.Err()
}
