//go:build coverage

package capacity

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// score counts how often an interval held the truth, and how far the answers were off.
type score struct {
	searches, given, right int
	bias, squares, minutes float64
	within                 int // 10 % of the truth
}

func (s *score) add(ln, low, high, truth, minutes float64) {
	s.given++
	if low <= truth && truth <= high {
		s.right++
	}
	s.bias += ln - truth
	s.squares += (ln - truth) * (ln - truth)
	s.minutes += minutes
	if math.Abs(ln-truth) <= math.Log(1.1) {
		s.within++
	}
}

func (s *score) join(o score) {
	s.searches, s.given, s.right, s.within = s.searches+o.searches, s.given+o.given, s.right+o.right, s.within+o.within
	s.bias, s.squares, s.minutes = s.bias+o.bias, s.squares+o.squares, s.minutes+o.minutes
}

func (s *score) String() string {
	n := float64(s.given)
	return fmt.Sprintf("%d | %d | %.0f | %.0f | %+.1f | %.3f | %.1f", s.searches, s.given, 100*float64(s.right)/n, 100*float64(s.within)/n, 100*s.bias/n, math.Sqrt(s.squares/n), s.minutes/n)
}

// searches of a server: 200 in all.
func (s studied) searches() int {
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_SEARCHES")); err == nil {
		return n
	}
	if s.isSlow {
		return 19
	}
	return 27
}

const scoreHeader = "searches | answers | right % | within 10 % | bias % | RMSE of ln m | minutes"

// fewestAnswers are enough for a share of them to mean something.
const fewestAnswers = 5

// TestCoverage searches the capacity of each server many times; of as many servers at a time as there are cores.
func TestCoverage(t *testing.T) {
	var five, ten, bisected, iso score
	var joining sync.Mutex
	t.Run("servers", func(t *testing.T) {
		for _, s := range servers() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				truth, binding := s.truth(t, 150_000)
				t.Logf("%s: truth %.4f by %s, %v", s.name, math.Exp(truth), s.slo[binding], time.Since(began).Round(time.Second))
				var a, b, c, d score
				for i := range s.searches() {
					s.searchOnce(t, uint64(i), truth, &a, &b)
					if i < 6 {
						q := s.question(t, uint64(i))
						ln, low, high, minutes := bisect(t, q, s.server(q, uint64(i)), 0.05)
						c.searches++
						c.add(ln, low, high, truth, minutes)
						ln, low, high = isotonic(t, q, s.server(q, uint64(i)))
						d.searches++
						d.add(ln, low, high, truth, 20)
					}
				}
				t.Logf("| %s, to 5 %% | %v |", s.name, &a)
				t.Logf("| %s, to 10 %% | %v |", s.name, &b)
				t.Logf("| %s, bisection | %v |", s.name, &c)
				t.Logf("| %s, isotonic | %v |  in %v", s.name, &d, time.Since(began).Round(time.Second))
				joining.Lock()
				defer joining.Unlock()
				five.join(a)
				ten.join(b)
				bisected.join(c)
				iso.join(d)
				if a.given < fewestAnswers {
					a = b // 30 minutes do not give 5 %: the server is judged by what they do give
				}
				if float64(a.right) < 0.8*float64(a.given) || a.given < fewestAnswers {
					t.Errorf("%s: %d of %d intervals hold the truth, want 80 %%", s.name, a.right, a.given)
				}
			})
		}
	})
	t.Logf("| | %s |", scoreHeader)
	t.Logf("| twin to 5 %% | %v |", &five)
	t.Logf("| twin to 10 %% | %v |", &ten)
	t.Logf("| bisection | %v |", &bisected)
	t.Logf("| isotonic | %v |", &iso)
	if float64(five.right) < 0.86*float64(five.given) {
		t.Errorf("%d of %d intervals hold the truth, want 86 %%", five.right, five.given)
	}
	if bias := five.bias / float64(five.given); math.Abs(bias) > 0.02 {
		t.Errorf("bias of ln m %.3f, want less than 0.02", bias)
	}
}

// searchOnce scores a search to 5 %, and what it would have said when it was first asked for 10 %.
func (s studied) searchOnce(t *testing.T, seed uint64, truth float64, five, ten *score) {
	q := s.question(t, seed)
	search := newSearch(t.Context(), q)
	search.q.IsBrief = true
	isTen := false
	search.watch = func(e *estimate) {
		if testing.Verbose() && os.Getenv("TIDEMARK_WATCH") != "" {
			of := e.of[e.binding]
			t.Logf("  %d runs, %.1f min: %.4f half %.3f, k %.3f %.3f se %.3f gain %.2f freedom %.1f by %d %s", len(e.runs), search.loadS()/60, math.Exp(e.ln), e.half(), of.k, of.speeds, of.se, of.gain, of.freedom, e.binding, e.misfit)
		}
		if !isTen && e.misfit == "" && e.half() <= math.Log(1.1) && near(e.runs, e.ln) >= 2 {
			isTen = true
			ten.add(e.ln, e.low, e.high, truth, search.loadS()/60)
		}
	}
	a := must.Get(search.run(s.server(q, seed), nil))(t)
	five.searches++
	ten.searches++
	if a.Outcome != Found {
		t.Logf("seed %d: %s, %s: %v (%v to %v), %.1f min", seed, a.Outcome, a.Why, deref(a.Scale), deref(a.ScaleLow), deref(a.ScaleHigh), a.LoadS/60)
		return
	}
	low, high := math.Log(*a.ScaleLow), math.Log(*a.ScaleHigh)
	five.add(math.Log(*a.Scale), low, high, truth, a.LoadS/60)
	if truth < low || truth > high {
		t.Logf("seed %d: %.4f (%.4f to %.4f) by %s, truth %.4f", seed, *a.Scale, *a.ScaleLow, *a.ScaleHigh, *a.BindingObjective, math.Exp(truth))
	}
}
