package profile

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// An hour of coding assistants at 3 sessions/s, fifteen times the rate that is shipped: 10,000 sessions of three classes.
func TestAnHourIsAsAsked(t *testing.T) {
	p, _ := Builtin("spoc-coding")
	figures := must.Get(p.Measure(Options{Seed: 1, Duration: time.Hour, RatePerS: 3}))(t)
	worst := 0.0
	for _, f := range figures {
		if off := math.Abs(f.Off()); off > 0.02 {
			t.Errorf("%s %s: drawn %g, asked %g", f.Class, f.Quantity, f.Drawn, f.Asked)
		} else if off <= 0.02 {
			worst = max(worst, off)
		}
	}
	t.Logf("worst: %.2f %%", 100*worst)
}

// As shipped an hour has some 720 sessions. Their shares are then within 8 %, no nearer: the sessions of the smallest class
// come as by chance, with gaps that vary almost as much as a tenth's by lot do (CV 0.95), not one in every ten.
func TestAnHourAsShippedIsLeftToChance(t *testing.T) {
	p, _ := Builtin("spoc-coding")
	worst, gaps := 0.0, weighted{}
	for seed := range uint64(20) {
		m := must.Get(p.generator(Options{Seed: 1 + seed}))(t)
		counts, number, last := map[string]float64{}, int64(0), int64(-1)
		for ; ; number++ {
			at := m.arrivalTimes.next()
			if at >= time.Hour {
				break
			}
			class := m.session(number, at).class
			counts[class]++
			if class == "P2" {
				if last >= 0 {
					gaps.add(float64(number - last))
				}
				last = number
			}
		}
		for _, c := range p.Classes {
			off := math.Abs(counts[c.Name]/float64(number)/c.Share - 1)
			if worst = max(worst, off); off > 0.08 {
				t.Errorf("seed %d: %s is %.3f of %d sessions, asked %v", 1+seed, c.Name, counts[c.Name]/float64(number), number, c.Share)
			}
		}
	}
	sum, squares := 0.0, 0.0
	for _, gap := range gaps.values {
		sum += gap
		squares += gap * gap
	}
	n := float64(len(gaps.values))
	cv := math.Sqrt(squares/n-sum*sum/n/n) / (sum / n)
	if cv < 0.8 {
		t.Errorf("gaps between sessions of P2 have a CV of %.2f: it can be told when one comes", cv)
	}
	t.Logf("worst: %.1f %%; CV of the gaps %.2f", 100*worst, cv)
}
