package tune

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// settings are 4 values of each of three settings, all expected to take 20 requests/s; the first is the baseline.
func settings() *Race {
	knobs := []Knob{{Name: "a", Flag: "--a"}, {Name: "b", Flag: "--b"}, {Name: "c", Flag: "--c"}}
	r := &Race{File: File{Objectives: []string{MostRate}, Budget: Budget{Load: time.Hour, Starts: 16}}, Least: time.Minute, TokensPerRequest: 10}
	for i := range 64 {
		e := Row{Candidate: Candidate{IsBaseline: i == 0, knobs: knobs, Values: []string{fmt.Sprint(i / 16), fmt.Sprint(i / 4 % 4), fmt.Sprint(i % 4)}}, RatePerS: 20}
		e.Full = found(20, 18, 22, time.Minute)
		r.Field = append(r.Field, e)
	}
	return r
}

// The model sees no difference between 64 candidates. Two values make servers faster, one keeps them from starting.
func TestTheRaceLearnsWhatAValueDoes(t *testing.T) {
	r := settings()
	truth := make([]float64, 64)
	for i, e := range r.Field {
		truth[i] = 15
		if e.Values[0] == "2" {
			truth[i] *= 1.2
		}
		if e.Values[1] == "3" {
			truth[i] *= 1.15
		}
		if e.Values[2] == "1" {
			truth[i] = 0
		}
	}
	started, ended := r.runs(t, truth)
	best, failed := "", 0
	for _, f := range r.Finish() {
		if f.IsKnee {
			best = fmt.Sprint(f.Values)
		}
		if f.Values[2] == "1" {
			failed++
		}
	}
	if best[:4] != "[2 3" || len(started) > 16 {
		t.Errorf("the best is %s after %d starts, %s: want a 2 and b 3", best, len(started), ended)
	}
	if failed > 3 {
		t.Errorf("c 1 was started %d times and never served", failed)
	}
}

// Every sum must be what conditioning a normal distribution gives: here one that can be worked out by hand.
func TestATryIsSharedByWhatItHasInCommon(t *testing.T) {
	r := settings()
	e := newEffects(r.Field)
	e.learn(e.of(r.Field[0].Candidate), 0.2, 0.05)
	variance := allOff*allOff + 3*valueOff*valueOff + restOff*restOff + 0.05*0.05
	for i, shared := range map[int]float64{0: 3, 1: 2, 5: 1, 63: 0} {
		want := 0.2 * (allOff*allOff + shared*valueOff*valueOff) / variance
		if mean, _ := e.guess(r.Field[i].Candidate); math.Abs(mean-want) > 1e-9 {
			t.Errorf("%v shares %v values: %v, want %v", r.Field[i].Values, shared, mean, want)
		}
	}
	_, near := e.guess(r.Field[1].Candidate)
	_, far := e.guess(r.Field[63].Candidate)
	if near >= far {
		t.Errorf("what shares two values is known to %v, what shares none to %v", near, far)
	}
}
