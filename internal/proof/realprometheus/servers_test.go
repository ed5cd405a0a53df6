//go:build prometheus

package realprometheus

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
)

// folder of prometheus and promtool.
func folder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("PROMETHEUS_FOLDER")
	if folder == "" {
		t.Fatal("PROMETHEUS_FOLDER is not set: make test-prometheus sets it")
	}
	return folder
}

// start runs a program until the test ends or stop is called, and waits until an address answers.
func start(t *testing.T, ready string, program string, arguments ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Do(t, cmd.Start())
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	for range 300 {
		if response, err := http.Get(ready); err == nil {
			response.Body.Close()
			if response.StatusCode < 500 {
				return stop
			}
		}
		select {
		case <-done:
			t.Fatalf("%s ended:\n%s", program, log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not answer at %s", program, ready)
	return nil
}

// prometheus serves data, and scrapes what the configuration says. requests counts what came through a proxy before it.
type prometheus struct {
	url      string // of the proxy
	direct   string
	requests atomic.Int64
	ranges   atomic.Int64
}

func serve(t *testing.T, data, configuration string, flags ...string) *prometheus {
	t.Helper()
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	must.Do(t, os.WriteFile(config, []byte(configuration), 0o600))
	p := &prometheus{direct: fmt.Sprintf("http://127.0.0.1:%d", proof.FreePort(t))}
	start(t, p.direct+"/-/ready", filepath.Join(folder(t), "prometheus"), append([]string{
		"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=60d", "--web.listen-address=" + strings.TrimPrefix(p.direct, "http://"), "--log.level=warn",
	}, flags...)...)
	target := must.Get(url.Parse(p.direct))(t)
	behind := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			p.ranges.Add(1)
			defer func() { // the proxy itself cuts an answer now and then, and it is asked for again
				if cut := recover(); cut != nil {
					p.ranges.Add(-1)
					panic(cut)
				}
			}()
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	p.url = proxy.URL
	return p
}

// program is tidemark, built anew, with a folder to work in.
type program struct{ binary, folder string }

func build(t *testing.T) program {
	t.Helper()
	folder := t.TempDir()
	p := program{filepath.Join(folder, "tidemark"), folder}
	cmd := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", p.binary, "tidemark/cmd/tidemark")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return p
}

// run gives what was printed and what was said; it wants that exit code.
func (p program) run(t *testing.T, code int, environment []string, arguments ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.binary, arguments...)
	cmd.Dir = p.folder
	cmd.Env = append(append(os.Environ(), "TIDEMARK_WAREHOUSE="+filepath.Join(p.folder, "tidemark.duckdb"), "TIDEMARK_PUBLISH=off"), environment...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("tidemark %s: exit code %d, want %d:\n%s", strings.Join(arguments, " "), got, code, talk.String())
	}
	return out.String(), talk.String()
}

// rows are the answer to a query, without its header.
func (p program) rows(t *testing.T, query string) [][]string {
	t.Helper()
	out, _ := p.run(t, 0, nil, "sql", "--csv", query)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %v\n%s", query, err, out)
	}
	return rows[1:]
}

// service writes a service file and returns its path.
func (p program) service(t *testing.T, name, metrics, selector string) string {
	t.Helper()
	path := filepath.Join(p.folder, name+".yaml")
	text := fmt.Sprintf("service: %s\ntime_zone: UTC\nmetrics: %s\nmetrics_selector: '%s'\ndeployment: {gpu: H100, model: llama-3.1-8b}\nreplicas: 2\nslo: slo.yaml\n", name, metrics, selector)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// get is the body of an answer, whatever its status.
func get(t *testing.T, address string) string {
	t.Helper()
	response := must.Get(http.Get(address))(t)
	defer response.Body.Close()
	body := must.Get(io.ReadAll(response.Body))(t)
	return string(body)
}
