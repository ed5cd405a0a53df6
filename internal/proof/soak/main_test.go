//go:build soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim/simprocess"
)

// The server of an episode is this test binary again, in a process of its own.
func TestMain(m *testing.M) {
	if listen := os.Getenv(serverEnv); listen != "" {
		simprocess.Serve(listen, serverConfig())
	}
	os.Exit(m.Run())
}

// TestSoak runs episodes in lanes, next to one long replay, until the time is over.
//
//	SOAK_MINUTES=10    how long
//	SOAK_SEED=N        of everything that is drawn; printed
//	SOAK_LANES=3       episodes at a time
//	SOAK_OUTPUT=DIR    keep the folders of episodes that went wrong there
//	SOAK_TIDEMARK=FILE the program; built when not named
func TestSoak(t *testing.T) {
	minutes := number(t, "SOAK_MINUTES", 10)
	seed := uint64(number(t, "SOAK_SEED", float64(time.Now().UnixNano()%1e9)))
	t.Logf("SOAK_SEED=%d", seed)
	w := workshop(t)
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	sum := &summary{}
	var work sync.WaitGroup
	work.Go(func() { w.long(t, sum, seed, end) })
	for lane := range int(number(t, "SOAK_LANES", 3)) {
		work.Go(func() {
			for n := lane * 1_000_000; time.Now().Before(end); n++ {
				w.episode(t, sum, rand.New(rand.NewPCG(seed, uint64(n))), n)
			}
		})
	}
	work.Wait()
	fmt.Printf("\nsoak of %.1f minutes, seed %d\n\n%s\n", minutes, seed, sum)
}

func number(t *testing.T, variable string, otherwise float64) float64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return v
}

// shop is what all episodes share.
type shop struct {
	tidemark string
	plan     string // of every episode's replay
	longPlan string
	scratch  string
	keep     string // where folders of what went wrong stay; empty: they do not
}

func workshop(t *testing.T) *shop {
	t.Helper()
	w := &shop{tidemark: os.Getenv("SOAK_TIDEMARK"), scratch: t.TempDir(), keep: os.Getenv("SOAK_OUTPUT")}
	if w.tidemark == "" {
		w.tidemark = filepath.Join(w.scratch, "tidemark")
		if out, err := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", w.tidemark, "tidemark/cmd/tidemark").CombinedOutput(); err != nil {
			t.Fatalf("build tidemark: %v\n%s", err, out)
		}
	}
	w.plan = w.planOf(t, "episode", planned, episodeRate)
	w.longPlan = w.planOf(t, "long", 3600*longRate, longRate) // more than any soak sends
	return w
}

const (
	planned      = 300 // requests of an episode
	episodeRate  = 100 // a second
	longRate     = 20
	outputTokens = 20
)

// planOf makes a plan of n even gaps.
func (w *shop) planOf(t *testing.T, name string, n, rate int) string {
	t.Helper()
	var trace strings.Builder
	trace.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		fmt.Fprintf(&trace, "%s0,%d,%d\n", at.Format("2006-01-02 15:04:05.000000"), 50+i%100, outputTokens)
	}
	path, plan := filepath.Join(w.scratch, name+".csv"), filepath.Join(w.scratch, name+".jsonl.zst")
	must.Do(t, os.WriteFile(path, []byte(trace.String()), 0o644))
	warehouse := filepath.Join(w.scratch, name+".duckdb")
	for _, argv := range [][]string{
		{"ingest", path, "--name", name, "--warehouse", warehouse, "--quiet"},
		{"plan", name, "--output", plan, "--warehouse", warehouse, "--quiet"},
	} {
		if out, err := exec.Command(w.tidemark, argv...).CombinedOutput(); err != nil {
			t.Fatalf("tidemark %s: %v\n%s", argv[0], err, out)
		}
	}
	return plan
}

// summary counts episodes by trouble.
type summary struct {
	mu   sync.Mutex
	rows map[string]*tallied
	said []string
}

type tallied struct {
	episodes, wrong, completed, failed, unsent int
	failures                                   map[string]int
}

func (s *summary) add(trouble string, f folder, isWrong bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string]*tallied{}
	}
	r := s.rows[trouble]
	if r == nil {
		r = &tallied{failures: map[string]int{}}
		s.rows[trouble] = r
	}
	r.episodes++
	if isWrong {
		r.wrong++
	}
	for _, row := range f.rows {
		if row.Failure == "" {
			r.completed++
			continue
		}
		r.failed++
		r.failures[row.Failure]++
	}
	r.unsent += f.planned - len(f.rows)
}

func (s *summary) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *summary) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	out.WriteString("| trouble | episodes | wrong | completed | failed | unsent | failures by kind |\n|---|---|---|---|---|---|---|\n")
	names := make([]string, 0, len(s.rows))
	for name := range s.rows {
		names = append(names, name)
	}
	slices.Sort(names)
	all := 0
	for _, name := range names {
		r := s.rows[name]
		all += r.episodes
		var kinds []string
		for kind, n := range r.failures {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
		}
		slices.Sort(kinds)
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d | %d | %s |\n", name, r.episodes, r.wrong, r.completed, r.failed, r.unsent, strings.Join(kinds, ", "))
	}
	fmt.Fprintf(&out, "\n%d episodes\n", all)
	for _, line := range s.said {
		out.WriteString(line + "\n")
	}
	return out.String()
}
