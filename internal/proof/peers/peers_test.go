//go:build peers

package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// TestPeers measures every client under every load and prints the table.
//
//	PEERS_OUTPUT=DIR      keep every client's reports and output in DIR
//	PEERS_ONLY=aiperf,... clients to measure, of aiperf, guidellm, inference-perf, vllm, vllm-rs, tidemark
//	PEERS_LOADS=rate-500  loads to measure
//	PEERS_TIDEMARK=FILE   our binary; built when not named
func TestPeers(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("client and server need a core each, this machine has one")
	}
	output := os.Getenv("PEERS_OUTPUT")
	if output == "" {
		output = t.TempDir()
	}
	output = must.Get(filepath.Abs(output))(t)
	p := places{cache: cacheFolder(t), tokenizer: filepath.Join(output, "tokenizer"), hub: filepath.Join(output, "hub")}
	writeTokenizer(t, p.tokenizer)
	writeHub(t, p.hub)

	var columns []column
	for _, c := range clients(t, p, output) {
		columns = append(columns, measure(t, p, c.client, filepath.Join(output, c.key)))
	}
	table := heading() + markdown(columns)
	fmt.Println("\n" + table)
	must.Do(t, os.WriteFile(filepath.Join(output, "table.md"), []byte(table), 0o644))
}

type named struct {
	key    string
	client client
}

func clients(t *testing.T, p places, output string) (chosen []named) {
	for _, c := range []named{
		{"aiperf", aiperf{p}}, {"guidellm", guidellm{p}}, {"inference-perf", inferencePerf{p}},
		{"vllm", vllmBench{places: p}}, {"vllm-rs", vllmBench{places: p, isRust: true}}, {"tidemark", nil},
	} {
		if !isChosen("PEERS_ONLY", c.key) {
			continue
		}
		if c.client == nil {
			c.client = ours{binary: tidemark(t, output)}
		}
		chosen = append(chosen, c)
	}
	return chosen
}

func isChosen(variable, key string) bool {
	only := os.Getenv(variable)
	return only == "" || slices.Contains(strings.Split(only, ","), key)
}

func cacheFolder(t *testing.T) string {
	t.Helper()
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home := must.Get(os.UserHomeDir())(t)
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "tidemark")
}

func tidemark(t *testing.T, output string) string {
	t.Helper()
	if binary := os.Getenv("PEERS_TIDEMARK"); binary != "" {
		return binary
	}
	binary := filepath.Join(output, "tidemark.bin")
	if out, err := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", binary, "tidemark/cmd/tidemark").CombinedOutput(); err != nil {
		t.Fatalf("build tidemark: %v\n%s", err, out)
	}
	return binary
}

// measure puts one client through every load.
func measure(t *testing.T, p places, c client, output string) column {
	if _, err := os.Stat(c.program()); err != nil {
		return column{name: strings.Split(c.name(), " version")[0], missing: fmt.Sprintf("setup.sh has not made %s here", c.program())}
	}
	col := column{name: c.name(), outcomes: map[string]outcome{}}
	for _, l := range loads(t) {
		if isChosen("PEERS_LOADS", l.name) {
			began := time.Now()
			col.outcomes[l.name] = once(t, p, c, l, filepath.Join(output, l.name))
			t.Logf("%s, %s: %s s", col.name, l.name, seconds(time.Since(began).Round(time.Second)))
		}
	}
	return col
}

// once is one client under one load, with a server of its own.
func once(t *testing.T, p places, c client, l load, dir string) outcome {
	t.Helper()
	must.Do(t, os.RemoveAll(dir))
	must.Do(t, os.MkdirAll(dir, 0o755))
	s := startServer(t)
	defer s.Stop()
	o := outcome{load: l}
	argv, err := c.command(l, s.base(), dir)
	if why, ok := isCannot(err); ok {
		o.why = why
		return o
	}
	if err != nil {
		t.Fatalf("%s, %s: %v", c.name(), l.name, err)
	}
	o.run = play(t, s, l, argv, p.environment(), dir)
	if len(o.run.truths) == 0 {
		o.why = fmt.Sprintf("no request of it came (exit code %d, ended by us: %t); its last words: %s", o.run.exit, o.run.isKilled, lastWords(o.run.output))
		return o
	}
	if o.saying, err = c.said(dir); err != nil && l.streams > 0 {
		o.why = fmt.Sprintf("it left no report that can be read (exit code %d, ended by us: %t): %v", o.run.exit, o.run.isKilled, err)
	}
	return o
}

func lastWords(output string) string {
	lines := strings.Split(strings.TrimSpace(escapes.ReplaceAllString(output, "")), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	return "`" + strings.ReplaceAll(last[:min(len(last), 200)], "`", "'") + "`"
}

func heading() string {
	var kernel string
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("Measured %s on %s, Linux %s, %d cores; client on core %s, server (internal/vllmsim, first token after %s, then one every %s) on core %s.\n"+
		"Lateness is by the server's record of arrivals for every client; TTFT and TPOT are what each client reports.\n\n",
		time.Now().UTC().Format("2006-01-02"), processor(), kernel, runtime.NumCPU(), clientCore, trueTTFT, trueTPOT, serverCore)
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, "\t :"))
		}
	}
	return runtime.GOARCH
}
