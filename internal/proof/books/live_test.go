//go:build notebooks

package books

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

const (
	token     = "0123456789abcdef0123456789abcdef"
	traceName = "day"
	// The bounds of the runs' SLO: some requests keep them and some do not.
	ttftBound, tpotBound = 0.080, 0.012 // seconds
)

// place is what a user has: the program, a folder with a warehouse, and a server for SQL.
type place struct {
	tidemark string
	dir      string
	url      string
	runs     []string // the latest is the last
}

func (p place) published() string { return filepath.Join(p.dir, "tidemark.published") }

// environment is what each notebook is told.
func (p place) environment() []string {
	return append(os.Environ(), "TIDEMARK_URL="+p.url, "TIDEMARK_TOKEN="+token, "TIDEMARK_PUBLISHED="+p.published(),
		"PLOOMBER_STATS_ENABLED=false")
}

// live makes a warehouse with a trace of a day and two runs of it, some of whose requests fail, and serves it.
func live(t *testing.T) place {
	t.Helper()
	p := place{tidemark: os.Getenv("BOOKS_TIDEMARK"), dir: t.TempDir()}
	if p.tidemark == "" || os.Getenv("BOOKS_PYTHON") == "" {
		t.Fatal("BOOKS_TIDEMARK and BOOKS_PYTHON name no programs: run make test-notebooks")
	}
	p.write(t, "slo.yaml", fmt.Sprintf(`schema: tidemark.slo/2
name: chat
objectives:
  - {metric: ttft_from_due, percentile: 90, at_most: %gs}
  - {metric: tpot, percentile: 90, at_most: %gs}
`, ttftBound, tpotBound))
	p.write(t, traceName+".csv", dayOfRequests())
	p.run(t, 0, "ingest", traceName+".csv", "--name", traceName)
	simulator := p.start(t, regexp.MustCompile(`simulated vLLM at (http\S+?),`), "simulate", "--gpu", "H100", "--catalog-model", "llama-3.1-8b", "--port", "0")
	server := failing(t, simulator, 24)
	for i, speed := range []string{"7200", "5400"} {
		// Not met, or invalid on a busy machine: both leave a run.
		p.run(t, 3, "replay", traceName, "--speed", speed, "--base-url", server, "--model", "llama-3.1-8b", "--gpu", "H100",
			"--catalog-model", "llama-3.1-8b", "--slo", "slo.yaml", "--max-failures", "0.1", "--name", fmt.Sprint("night-", i))
	}
	p.url = p.start(t, regexp.MustCompile(`SQL at (http\S+)/v1/sql`), "serve", "--port", "0")
	for _, row := range p.ask(t, "select run_id from marts.runs order by started_at") {
		p.runs = append(p.runs, row["run_id"].(string))
	}
	if len(p.runs) != 2 {
		t.Fatalf("the warehouse has the runs %q, want two", p.runs)
	}
	return p
}

// dayOfRequests is a trace in Azure's columns: 144 requests in 24 hours, most of them at 14:00, prompts of 200 to 2,600 tokens.
func dayOfRequests() string {
	var trace strings.Builder
	trace.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	midnight := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	for hour := range 24 {
		requests := int(math.Round(6 * (1 + 0.8*math.Sin(float64(hour-8)/12*math.Pi))))
		for i := range requests {
			due := midnight.Add(time.Duration(hour)*time.Hour + time.Duration(2*i+1)*time.Hour/time.Duration(2*requests))
			fmt.Fprintf(&trace, "%s,%d,%d\n", due.Format("2006-01-02 15:04:05.0000000"), 200+(hour*997+i*1301)%2400, 20+(hour*31+i*17)%50)
		}
	}
	return trace.String()
}

// failing stands before a server and answers every nth completion with an error.
func failing(t *testing.T, server string, n int64) string {
	t.Helper()
	target := must.Get(url.Parse(server))(t)
	through := httputil.NewSingleHostReverseProxy(target)
	through.FlushInterval = -1 // each token at once
	var asked atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// ReverseProxy cuts an answer that begins before the request was read to its end.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(r.URL.Path, "/completions") && asked.Add(1)%n == 0 {
			http.Error(w, `{"error":{"message":"out of memory","code":500}}`, http.StatusInternalServerError)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

// run is one command line of a user, which may end with an exit code of up to worst.
func (p place) run(t *testing.T, worst int, args ...string) {
	t.Helper()
	out, err := p.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 && exit.ExitCode() <= worst && exit.ExitCode() != 2 {
		err = nil
	}
	if err != nil {
		t.Fatalf("tidemark %s: %v\n%s", args[0], err, out)
	}
	t.Logf("tidemark %s\n%s", strings.Join(args, " "), out)
}

func (p place) command(args ...string) *exec.Cmd {
	command := exec.Command(p.tidemark, args...)
	command.Dir = p.dir
	// What the user's shell may have set about other warehouses does not reach it.
	command.Env = slices.DeleteFunc(os.Environ(), func(set string) bool { return strings.HasPrefix(set, "TIDEMARK_") })
	command.Env = append(command.Env, "TIDEMARK_TOKEN="+token)
	return command
}

// start starts a server of the program and returns what it says of itself on stderr, once it does.
func (p place) start(t *testing.T, says *regexp.Regexp, args ...string) string {
	t.Helper()
	command := p.command(args...)
	stderr, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	must.Do(t, err)
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		command.Wait()
	})
	var said []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		said = append(said, lines.Text())
		if found := says.FindStringSubmatch(lines.Text()); found != nil {
			go func() { // else it waits for a reader of its messages
				for lines.Scan() {
				}
			}()
			return found[1]
		}
	}
	t.Fatalf("tidemark %s ended and said\n%s", args[0], strings.Join(said, "\n"))
	return ""
}

// ask is `tidemark sql --json`.
func (p place) ask(t *testing.T, query string) []map[string]any {
	t.Helper()
	out, err := p.command("sql", "--json", query).Output()
	var rows []map[string]any
	if err == nil {
		err = json.Unmarshal(out, &rows)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		t.Fatalf("tidemark sql %q: %v\n%s", query, err, out)
	}
	return rows
}

// number is the answer to a query of one value.
func (p place) number(t *testing.T, query string) float64 {
	t.Helper()
	rows := p.ask(t, query)
	if len(rows) == 1 && len(rows[0]) == 1 {
		for _, value := range rows[0] {
			if number, ok := value.(float64); ok {
				return number
			}
		}
	}
	t.Fatalf("tidemark sql %q: got %v, want one number", query, rows)
	return 0
}

// python runs a script of testdata in the venv and decodes the last line that it prints.
func (p place) python(t *testing.T, answer any, environment []string, args ...string) {
	t.Helper()
	command := exec.Command(os.Getenv("BOOKS_PYTHON"), args...)
	command.Env = append(p.environment(), environment...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err == nil {
		printed := strings.Split(strings.TrimSpace(string(out)), "\n")
		err = json.Unmarshal([]byte(printed[len(printed)-1]), answer)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(args[0]), err, out, stderr.String())
	}
}

// isSame allows for sums in another order.
func isSame(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(math.Abs(got), math.Abs(want))
}
