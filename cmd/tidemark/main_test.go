package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/ingest"
	"tidemark/internal/proof"
	"tidemark/internal/store/objects/objectstest"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/vllmsim"
)

// Scripts run the real program, as a user's shell would.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tidemark": main,
		"hold":     hold,
		"dying":    dying,
		"measured": measured,
		"real-run": realRun,
		"take-in":  takeIn,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exec-code": execCode, "wait-for": waitFor, "envsubst": substitute},
		Condition: func(name string) (bool, error) {
			if name != "proof" { // [proof] begins a line that make proof runs, and make test does not
				return false, fmt.Errorf("no condition %q", name)
			}
			return proof.IsFull(), nil
		},
		Setup: func(e *testscript.Env) error {
			// A script about the copy for readers says env TIDEMARK_PUBLISH= and has one.
			e.Setenv("TIDEMARK_PUBLISH", "off")
			docs, err := filepath.Abs("../../docs")
			if err != nil {
				return err
			}
			e.Setenv("DOCS", docs)
			sim, sim2 := startSimulator(e, ""), startSimulator(e, "")
			e.Setenv("SIM_OTHER", startSimulator(e, "other"))
			e.Setenv("SIM_GUESS", startSimulator(e, "", func(c *vllmsim.Config) { c.Drafts, c.Acceptance = 3, 0.7 }))
			e.Setenv("SIM", sim)
			e.Setenv("SIM2", sim2)
			startRouters(e, sim, sim2)
			startHidden(e)
			for name, handler := range badServers {
				server := httptest.NewServer(handler)
				e.Defer(func() { server.CloseClientConnections(); server.Close() })
				e.Setenv("SERVER_"+name, server.URL)
			}
			down := httptest.NewServer(nil)
			down.Close()
			e.Setenv("SERVER_DOWN", down.URL)
			e.Setenv("PORT_DOWN", down.URL[strings.LastIndex(down.URL, ":")+1:])
			bucket, stop := objectstest.Start()
			e.Defer(stop)
			for name, value := range bucket.Environment() {
				e.Setenv(name, value)
			}
			prometheus := httptest.NewServer(http.HandlerFunc(fakePrometheus))
			e.Defer(prometheus.Close)
			e.Setenv("PROMETHEUS", prometheus.URL)
			return nil
		},
	})
}

// execCode runs a program and wants an exit code: exec-code 2 tidemark walk. One of several: exec-code 0,3, where a busy machine
// may make a measurement invalid.
func execCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exec-code CODE PROGRAM ARGS...")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if !slices.Contains(strings.Split(args[0], ","), fmt.Sprint(code)) {
		ts.Fatalf("%s: exit code %d, want %s", args[1], code, args[0])
	}
}

// substitute puts the environment's values into a file: envsubst service.yaml.
func substitute(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// waitFor waits until a file is there: another program has come so far.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for range 3000 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s did not come", args[0])
}

// simulated is the demo's deployment, computed once per process.
var simulated = sync.OnceValues(func() (vllmsim.Config, error) { return send.SimulatorOf(context.Background(), send.DemoDeployment) })

// startSimulator serves it, under a name of its own if there is one.
func startSimulator(e *testscript.Env, name string, set ...func(*vllmsim.Config)) string {
	config, err := simulated()
	if err != nil {
		panic(err)
	}
	config.Model = cmp.Or(name, config.Model)
	for _, one := range set {
		one(&config)
	}
	server, url, err := startServer(config)
	if err != nil {
		panic(err)
	}
	e.Defer(func() { server.Close() })
	return url
}

// badServers each fail in one way that a real deployment fails.
var badServers = map[string]http.HandlerFunc{
	"401": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"Unauthorized"}`)
	},
	"429": serving(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"slow down","type":"RateLimit","code":429}}`)
	}),
	"500": serving(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"message":"engine dead","type":"InternalServerError","code":500}}`)
	}),
	"ERROR_IN_200": serving(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"error\":{\"message\":\"out of vocabulary\",\"type\":\"BadRequestError\",\"code\":400}}\n\ndata: [DONE]\n\n")
	}),
	"CUT": serving(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"id\":\"cmpl-1\",\"choices\":[{\"index\":0,\"text\":\" a\",\"token_ids\":[300],\"finish_reason\":null}]}\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}),
	"ECHO": http.StripPrefix("/tok7Qx9ZkV3mW5pR8sT2", serving(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		sent := r.Header.Get("Authorization")
		fmt.Fprintf(w, `{"error":{"message":"you sent %s, in base64 %s, to %s"}}`, sent[9:], base64.StdEncoding.EncodeToString([]byte(sent)), r.RequestURI)
	})).ServeHTTP,
	"SILENT": serving(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}),
}

// serving answers what a client asks before it sends, and fails at completions.
func serving(completions http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"object":"list","data":[{"id":"llama-3.1-8b","object":"model","max_model_len":131072}]}`)
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"version":"0.0.0"}`)
		case strings.HasSuffix(r.URL.Path, "/completions"):
			io.Copy(io.Discard, r.Body) // else the server does not notice that the client left
			completions(w, r)
		default:
			http.NotFound(w, r)
		}
	}
}

// hold keeps a warehouse open until it is killed: for writing, or with -read for reading.
func hold() {
	mode := warehouse.ReadWrite
	if len(os.Args) > 2 && os.Args[2] == "-read" {
		mode = warehouse.ReadOnly
	}
	w, err := warehouse.Open(context.Background(), os.Args[1], mode)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer w.Close()
	os.WriteFile(os.Args[1]+".held", nil, 0o644)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
}

// dying simulates a server that ends when it reads its last request, whatever the clock says: dying PORT REQUESTS.
func dying() {
	of := send.DemoDeployment
	of.Quantization = "fp8"
	config, err := send.SimulatorOf(context.Background(), of)
	last, notCount := strconv.ParseInt(os.Args[2], 10, 64)
	listener, cannot := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err := errors.Join(err, notCount, cannot); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server, err := vllmsim.New(config)
	if err == nil {
		err = server.Serve(counting{listener, last, new(atomic.Int64)})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// counting ends the process with its last request.
type counting struct {
	net.Listener
	last int64
	seen *atomic.Int64
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	return countingConn{conn, c}, err
}

type countingConn struct {
	net.Conn
	of counting
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bytes.Contains(b[:n], []byte("POST /v1/completions")) && c.of.seen.Add(1) == c.of.last {
		os.Exit(0)
	}
	return n, err
}

// takeIn ingests runs as the verb does, but computes their marts together and not run by run: take-in FILE FOLDER... With -names it computes what
// names the runs, and no more.
func takeIn() {
	args := os.Args[1:]
	namesOnly := args[0] == "-names"
	if namesOnly {
		args = args[1:]
	}
	if err := takeRunsIn(context.Background(), args[0], args[1:], namesOnly); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func takeRunsIn(ctx context.Context, path string, folders []string, namesOnly bool) error {
	w, err := warehouse.Open(ctx, path, warehouse.ReadWrite)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.OneThread(ctx); err != nil { // as ingest does for small files
		return err
	}
	if _, err := ingest.Load(ctx, w, folders, ingest.Options{Format: "run", RefreshLater: true}); err != nil {
		return err
	}
	if namesOnly {
		return warehouse.Refresh(ctx, w.DB(), "from staging.runs")
	}
	return warehouse.Refresh(ctx, w.DB())
}
