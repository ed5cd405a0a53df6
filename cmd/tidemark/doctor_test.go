package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/replay/host"
)

// fit is a machine with nothing wrong.
func fit() host.Fitness {
	return host.Fitness{Cores: 8, Governors: []string{"performance"}, Clock: host.Clock{KnownBy: host.ByKernel, LowS: -1e-4, HighS: 1e-4}, OpenFiles: 1 << 20,
		Folder: "runs", FreeBytes: 1e12, Late: &host.Quantiles{P50: 1e-5, P99: 1e-4, Max: 1e-3}, OthersCPU: new(0.01)}
}

// onMachine has the program find another machine than this one.
func onMachine(t *testing.T, change func(*host.Fitness)) {
	t.Helper()
	was := send.Machine
	t.Cleanup(func() { send.Machine = was })
	send.Machine = func(context.Context, string, time.Duration) (host.Fitness, error) {
		f := fit()
		change(&f)
		return f, nil
	}
}

// aServer is a simulated vLLM with exactly known times.
func aServer(t *testing.T, change func(*vllmsim.Config)) string {
	t.Helper()
	config := vllmsim.Config{Fixed: &vllmsim.Fixed{TTFT: 20 * time.Millisecond, TPOT: 5 * time.Millisecond}}
	config.Model, config.MaxModelLen = "tiny", 4096
	change(&config)
	server, url, err := startServer(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return url
}

// inFront is a server that hands requests on, changed.
func inFront(t *testing.T, of string, request func(*http.Request), answer func(*http.Response) error) string {
	t.Helper()
	to := must.Get(url.Parse(of))(t)
	proxy := httputil.NewSingleHostReverseProxy(to)
	direct := proxy.Director
	proxy.Director = func(r *http.Request) {
		direct(r)
		if r.Method == http.MethodPost { // whole: a server that answers before its last byte is read would have it closed (go.dev/issue/40747)
			if body, err := io.ReadAll(r.Body); err == nil {
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
		}
		request(r)
	}
	proxy.ModifyResponse, proxy.FlushInterval = answer, -1
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func asItIs(*http.Request) {}

// Each planted fault is found under its name, with what to do; alone it decides the exit code.
func TestDoctorFindsEachPlantedFault(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("text.duckdb", []byte("not a warehouse"), 0o600))
	unchanged := func(*vllmsim.Config) {}
	endsEarly := func(c *vllmsim.Config) { c.EndOfText = 0.05 } // of 32 tokens, where nothing forbids it
	server := aServer(t, unchanged)
	nobody := "http://127.0.0.1:1"
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"success","data":[]}`) }))
	t.Cleanup(empty.Close)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"success","data":["vllm:prompt_tokens_total","vllm:generation_tokens_total"]}`)
	}))
	t.Cleanup(engine.Close)

	for _, c := range []struct {
		name    string
		machine func(*host.Fitness)
		args    []string
		want    string // the beginning of its line; empty: no fault and no note
		says    string
		code    int
	}{
		{name: "nothing", args: []string{"--base-url", server, "--prometheus", engine.URL}},
		{name: "nothing of a chat", args: []string{"--base-url", server, "--model", "tiny", "--endpoint", "/v1/chat/completions"}},
		{name: "less than a core", machine: func(f *host.Fitness) { f.Cores = 0.5 }, want: "fault machine    cores", says: "give the client a core", code: 1},
		{name: "one core", machine: func(f *host.Fitness) { f.Cores = 1 }, want: "note  machine    cores", says: "two cores"},
		{name: "a governor that saves", machine: func(f *host.Fitness) { f.Governors = []string{"powersave"} }, want: "note  machine    CPU governor powersave", says: "cpupower"},
		{name: "a clock that nobody keeps", machine: func(f *host.Fitness) { f.Clock = host.Clock{KnownBy: host.ByNothing} }, want: "note  machine    clock", says: "chrony"},
		{name: "a clock that is off", machine: func(f *host.Fitness) { f.Clock.LowS = -1 }, want: "note  machine    clock        this clock is between", says: "chrony"},
		{name: "a clock that steps", machine: func(f *host.Fitness) { f.WallStep = 40 * time.Millisecond }, want: "fault machine    clock        the wall clock stepped by 40ms", says: "slew", code: 1},
		{name: "few open files", machine: func(f *host.Fitness) { f.OpenFiles = 256 }, want: "fault machine    open files   256", says: "ulimit", code: 1},
		{name: "a full disk", machine: func(f *host.Fitness) { f.FreeBytes = 2e8 }, want: "fault machine    disk         0.2 GB free for runs", says: "--runs DIR", code: 1},
		{name: "a machine that is late", machine: func(f *host.Fitness) { f.Late.P99 = 20e-3 }, want: "fault machine    lateness     over loopback p99 20 ms", says: "stop what else runs", code: 1},
		{name: "a machine that stood still", machine: func(f *host.Fitness) { f.Late.Max = 0.3 }, want: "fault machine    lateness", says: "standing still", code: 1},
		{name: "others on the cores", machine: func(f *host.Fitness) { f.OthersCPU = new(0.9) }, want: "note  machine    lateness", says: "others had 90 % of the cores"},
		{name: "no server", args: []string{"--base-url", nobody}, want: "fault server     reachable    no server at " + nobody, says: "start it", code: 1},
		{name: "a key", args: []string{"--base-url", aServer(t, func(c *vllmsim.Config) { c.APIKey = "secret" })}, want: "fault server     key", says: "$OPENAI_API_KEY", code: 1},
		{name: "another model", args: []string{"--base-url", server, "--model", "huge"}, want: "fault server     model", says: "it serves tiny", code: 1},
		{name: "two servers in turn", args: []string{"--base-url", inTurn(t, server, inFront(t, aServer(t, unchanged), asItIs, starting("process_start_time_seconds 9")))}, want: "fault server     one server   2 processes", says: "address of each server", code: 1},
		{name: "two servers that say no start", args: []string{"--base-url", inFront(t, inTurn(t, server, aServer(t, unchanged)), asItIs, starting("other "))}, want: "fault server     one server   its counters fall", says: "address of each server", code: 1},
		{name: "two servers of other lengths", args: []string{"--base-url", inTurn(t, server, aServer(t, func(c *vllmsim.Config) { c.MaxModelLen = 8192 }))}, want: "fault server     one server   asked twice", says: "address of each server", code: 1},
		{name: "no metrics", args: []string{"--base-url", inFront(t, server, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/metrics", "/nothing", 1) }, nil)}, want: "note  server     metrics      no metrics", says: "--metrics-url"},
		{name: "others' requests", args: []string{"--base-url", inUse(t)}, want: "fault server     shared       the server runs 1 requests", says: "none of them ours", code: 1},
		{name: "a gateway that drops fields", args: []string{"--base-url", inFront(t, aServer(t, endsEarly), withoutFields, nil)}, want: "fault server     fields       ignore_eos and min_tokens: not", says: "gateway", code: 1},
		{name: "a proxy that buffers", args: []string{"--base-url", inFront(t, server, asItIs, buffered)}, want: "fault server     streams", says: "proxy_buffering off", code: 1},
		{name: "a server that fails", args: []string{"--base-url", inFront(t, server, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/completions", "/nothing", 1) }, nil)}, want: "fault server     answers      3 of 3 small requests failed: http_404", says: "mend this first", code: 1},
		{name: "no Prometheus", args: []string{"--prometheus", nobody}, want: "fault prometheus series", says: "cannot be reached", code: 1},
		{name: "a Prometheus of others", args: []string{"--prometheus", empty.URL}, want: "fault prometheus series", says: "has no metrics of an engine", code: 1},
		{name: "no warehouse of that name", args: []string{"--warehouse", "none.duckdb"}, want: "fault warehouse  opens        none.duckdb", says: "->", code: 1},
		{name: "a file that is no warehouse", args: []string{"--warehouse", "text.duckdb"}, want: "fault warehouse  opens        text.duckdb: not a DuckDB file", says: "->", code: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.machine == nil {
				c.machine = func(*host.Fitness) {}
			}
			onMachine(t, c.machine)
			var out, said bytes.Buffer
			code := run(append([]string{"tidemark", "doctor"}, c.args...), strings.NewReader(""), &out, &said)
			text := strings.Join(strings.Fields(out.String()), " ")
			if code != c.code || !strings.Contains(text, strings.Join(strings.Fields(c.want), " ")) || !strings.Contains(text, c.says) {
				t.Errorf("exit code %d, want %d, %q and %q in\n%s%s", code, c.code, c.want, c.says, out.String(), said.String())
			}
			bad := 0
			for line := range strings.Lines(out.String()) {
				if strings.HasPrefix(line, "fault ") || strings.HasPrefix(line, "note ") {
					bad++
				}
			}
			if wanted := map[bool]int{true: 0, false: 1}[c.want == ""]; bad != wanted || strings.Count(out.String(), " -> ") != wanted {
				t.Errorf("%d faults and notes, want %d, each with what to do:\n%s", bad, wanted, out.String())
			}
		})
	}
}

// inTurn is one address in front of several servers, which take turns.
func inTurn(t *testing.T, servers ...string) string {
	t.Helper()
	var asked atomic.Int64
	return inFront(t, servers[0], func(r *http.Request) {
		if to, err := url.Parse(servers[int(asked.Add(1))%len(servers)]); err == nil {
			r.URL.Host = to.Host
		}
	}, nil)
}

// inUse is a server that works on somebody else's long answer.
func inUse(t *testing.T) string {
	t.Helper()
	server := aServer(t, func(c *vllmsim.Config) { c.Fixed.TPOT = 100 * time.Millisecond })
	body := `{"model":"tiny","prompt":"one","max_tokens":3000,"ignore_eos":true,"stream":true}`
	answer := must.Get(http.Post(server+"/v1/completions", "application/json", strings.NewReader(body)))(t)
	t.Cleanup(func() { answer.Body.Close() })
	must.Get(io.ReadFull(answer.Body, make([]byte, 5)))(t)
	return server
}

// buffered holds an answer back until it is whole.
func buffered(answer *http.Response) error {
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

// starting has the metrics say another start of the process.
func starting(line string) func(*http.Response) error {
	return func(answer *http.Response) error {
		if answer.Request.URL.Path != "/metrics" {
			return nil
		}
		body, err := io.ReadAll(answer.Body)
		body = bytes.ReplaceAll(body, []byte("\nprocess_start_time_seconds "), []byte("\n"+line))
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		answer.Header.Del("Content-Length")
		return err
	}
}

// withoutFields forwards what a plain OpenAI client sends.
func withoutFields(r *http.Request) {
	var fields map[string]any
	if r.Body == nil || json.NewDecoder(r.Body).Decode(&fields) != nil {
		return
	}
	delete(fields, "ignore_eos")
	delete(fields, "min_tokens")
	body, _ := json.Marshal(fields) // it came out of JSON
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// For programs each finding is a row.
func TestDoctorsFindingsAsJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	onMachine(t, func(f *host.Fitness) { f.OpenFiles = 256 })
	var out, said bytes.Buffer
	code := run([]string{"tidemark", "doctor", "--json"}, strings.NewReader(""), &out, &said)
	var rows []struct {
		Of, What, Level, Answer string
		Todo                    *string
	}
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil || code != 1 || len(rows) != 7 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out.String())
	}
	for _, row := range rows {
		if isFault := row.What == "open files"; isFault != (row.Level == "fault") || isFault != (row.Todo != nil) {
			t.Errorf("%+v", row)
		}
	}
}

// replay and capacity tell the faults that cost no request before they send the first one, and go on; a good machine and server get no word.
func TestFaultsAreToldBeforeAnythingIsSent(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("few.jsonl", []byte(`{"timestamp": 0, "input_length": 10, "output_length": 3, "hash_ids": [1]}`+"\n"), 0o600))
	if code := run([]string{"tidemark", "ingest", "few.jsonl", "--quiet"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	must.Do(t, os.WriteFile("slo.yaml", []byte("schema: tidemark.slo/2\nname: s\nobjectives:\n  - {metric: tpot, percentile: 90, at_most: 20ms}\n"), 0o600))
	server, other := aServer(t, func(*vllmsim.Config) {}), aServer(t, func(c *vllmsim.Config) { c.MaxModelLen = 8192 })
	for _, c := range []struct {
		name    string
		machine func(*host.Fitness)
		server  string
		want    []string
		verb    string // empty: replay
	}{
		{"nothing is wrong", func(*host.Fitness) {}, server, nil, ""},
		{"few files, and others' requests", func(f *host.Fitness) { f.OpenFiles = 256 }, inUse(t), []string{"this machine: open files: 256 at most; raise the limit", "the server runs 1 requests"}, ""},
		{"two servers", func(*host.Fitness) {}, inTurn(t, server, other), []string{"more than one server answers there"}, ""},
		{"few files, and a search that first asks how long steps take", func(f *host.Fitness) { f.OpenFiles = 256 },
			inFront(t, server, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/completions", "/nothing", 1) }, nil), []string{"this machine: open files: 256 at most; raise the limit"}, "capacity --mode closed --max-concurrency 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onMachine(t, c.machine)
			said := &lockedBuffer{}
			before := ""
			watched := inFront(t, c.server, func(r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/completions") && before == "" {
					before = said.String()
				}
			}, nil)
			run(append(strings.Fields("tidemark "+cmp.Or(c.verb, "replay")), "few", "--slo", "slo.yaml", "--base-url", watched, "--model", "tiny", "--runs", filepath.Join(t.TempDir(), "runs"), "--max-lateness", "1m", "--max-stall", "1m"),
				strings.NewReader(""), io.Discard, said)
			for _, want := range c.want {
				if !strings.Contains(before, want) {
					t.Errorf("before the first request it had not said %q:\n%s", want, said.String())
				}
			}
			if c.want == nil && (strings.Contains(said.String(), "this machine") || strings.Contains(said.String(), "server runs") || before == "") {
				t.Errorf("said\n%s", said.String())
			}
		})
	}
}
