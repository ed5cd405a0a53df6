package serve

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/serve/plot"
	"tidemark/internal/serve/worker"
)

// Config says what is served, to whom, and how much of it.
type Config struct {
	Published   string        // the folder with the snapshot
	Trouble     func() error  // why the folder may be behind what it is a copy of; nil for one that is no copy
	Tokens      []Token       // none: everybody on this machine may ask
	MemoryBytes int64         // that one query may take
	Timeout     time.Duration // from a query's start to the end of its answer
	Workers     int           // queries that run at a time
	Queue       int           // queries of one token that may wait
	MostRows    int64         // of an answer; 0: no limit
	MostBytes   int64
	// Reports lists the pages of ReportsFolder, the newest first; nil: no folder is shown.
	Reports       func() ([]Report, error)
	ReportsFolder string
	Tell          func(format string, args ...any) // takes one line for the operator
}

// Server answers over HTTP.
type Server struct {
	config     Config
	snapshots  *snapshots
	pool       *pool
	queue      *queue
	counters   *counters
	schema     schemaCache
	linkSecret []byte
	http       *http.Server
	stop       context.Context // ends running queries
	stopAll    context.CancelFunc
	watched    chan struct{} // closed when the watch over the snapshot has ended
}

// New opens the snapshot and starts the first workers.
func New(config Config) (*Server, error) {
	following, err := openSnapshots(config.Published)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, snapshots: following, queue: newQueue(config.Workers, config.Queue, max(config.Timeout, 30*time.Second)), counters: newCounters(), linkSecret: linkSecret(), watched: make(chan struct{})}
	s.stop, s.stopAll = context.WithCancel(context.Background())
	setup := worker.Setup{MemoryBytes: config.MemoryBytes, Threads: min(runtime.NumCPU(), 4)}
	s.pool = newPool(following, setup, config.Workers, config.Tell)
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10*time.Second + longestBody,
		// An answer may take its time; each query sets its own end (see do).
		WriteTimeout:   config.Timeout*2 + time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(io.Discard, "", 0), // a client's mistakes in TLS or HTTP are not the operator's
		ConnState:      (&connections{limit: mostConnections(config.Workers)}).changed,
	}
	if err := s.pool.prove(following.current); err != nil {
		s.pool.close()
		following.close()
		return nil, hint.Errorf("serve: %s: %w", following.path, err).Hint(`if it is damaged, "tidemark warehouse publish" makes it anew`)
	}
	s.pool.refill()
	go s.watch()
	return s, nil
}

// watch takes up a new snapshot before the next query comes, so that a process waits for it.
func (s *Server) watch() {
	defer close(s.watched)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, _ := s.snapshots.newest()
	for {
		select {
		case <-s.stop.Done():
			return
		case <-tick.C:
		}
		if now, _ := s.snapshots.newest(); now != last {
			last = now
			s.pool.refill()
			s.config.Tell("serving the snapshot of %s", now.publishedAt())
		}
	}
}

// Serve answers until Shutdown or Close.
func (s *Server) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown lets running queries end, until the context ends too.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.stopAll()
	if err != nil {
		err = s.http.Close()
	}
	<-s.watched
	// A handler that was cut off above gives its place back when it is done.
	for range s.config.Workers {
		if leave, err := s.queue.enter(context.Background(), ""); err == nil {
			defer leave()
		}
	}
	s.pool.close()
	s.snapshots.close()
	return err
}

// routes are all paths. Only /healthz and the script of the page are open.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /"+plot.ScriptName, serveScript)
	mux.HandleFunc("GET /tidemark.py", servePython)
	mux.HandleFunc("POST /v1/sql", s.asked(s.serveSQL))
	mux.HandleFunc("POST /v1/plot", s.asked(s.servePlot))
	mux.HandleFunc("GET /v1/schema", s.asked(s.serveSchema))
	mux.HandleFunc("GET /v1/runs", s.asked(s.serveRuns))
	mux.HandleFunc("GET /v1/home", s.asked(s.serveHome))
	mux.HandleFunc("GET /v1/reports/files/{file}", s.linkedOrAsked(s.serveFile))
	mux.HandleFunc("GET /v1/reports/runs/{run}", s.linkedOrAsked(s.serveReport))
	mux.HandleFunc("GET /v1/reports/services/{service}/{week}", s.linkedOrAsked(s.serveReport))
	mux.HandleFunc("GET /metrics", s.asked(func(w http.ResponseWriter, r *http.Request, _ string) { s.serveMetrics(w, r) }))
	mux.HandleFunc("/", s.asked(s.serveNothing))
	return s.guarded(mux)
}

// serveHealth is 503 while the published file is gone or damaged: answers are then from the last good one, of which they
// have the date (Tidemark-Snapshot). It names no path, because it asks for no token.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	now, err := s.snapshots.newest()
	w.Header().Set("Tidemark-Snapshot", now.publishedAt())
	if err == nil && s.trouble() == nil {
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	what := "is damaged or cannot be opened"
	if errors.Is(err, fs.ErrNotExist) {
		what = "is not there any more"
	} else if err == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "the bucket cannot be read; answers are of the snapshot of %s, and its messages on stderr say why\n", now.publishedAt())
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, "the published snapshot %s; answers are of that of %s: \"tidemark warehouse publish\" makes it anew\n", what, now.publishedAt())
}

// trouble is why there may be a newer snapshot than the served one.
func (s *Server) trouble() error {
	if s.config.Trouble == nil {
		return nil
	}
	return s.config.Trouble()
}

// serveNothing answers a path or a method that is not there.
func (s *Server) serveNothing(w http.ResponseWriter, r *http.Request, _ string) {
	known := map[string]string{"/v1/sql": "POST", "/v1/plot": "POST", "/v1/schema": "GET", "/v1/runs": "GET", "/v1/home": "GET", "/metrics": "GET", "/": "GET", "/healthz": "GET"}
	if method, is := known[r.URL.Path]; is {
		w.Header().Set("Allow", method)
		(&problem{status: http.StatusMethodNotAllowed, text: r.URL.Path + " takes " + method, hint: "curl --data 'from marts.runs' URL/v1/sql"}).write(w)
		return
	}
	(&problem{status: http.StatusNotFound, text: "nothing here", hint: "POST /v1/sql, /v1/plot; GET /v1/home, /v1/schema, /v1/runs, /v1/reports/files/FILE, /v1/reports/runs/RUN, /v1/reports/services/SERVICE/WEEK, /metrics, /healthz, /"}).write(w)
}

// guarded refuses what no notebook sends: a page of another site that asks in the user's place, and, where no token is
// asked for, another name for this machine.
func (s *Server) guarded(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case len(s.config.Tokens) == 0 && !namesLoopback(r):
			(&problem{status: http.StatusForbidden, text: "without a token this server is asked by the name localhost or 127.0.0.1 only", hint: "start it with a token to use other names"}).write(w)
		case crossOrigin.Check(r) != nil, !isOpen(r.URL.Path) && crossOrigin.Check(asPost(r)) != nil:
			(&problem{status: http.StatusForbidden, text: "a page of another site may not ask here", hint: "ask from a notebook, or from this server's own page"}).write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isOpen says that a path shows nothing of the data: any page may lead there.
func isOpen(path string) bool {
	return path == "/" || path == "/healthz" || path == "/"+plot.ScriptName
}

// asPost has a question judged like one that changes something: the pages of other sites may not have this server work, whatever the method.
func asPost(r *http.Request) *http.Request {
	post := r.Clone(r.Context())
	post.Method = http.MethodPost
	return post
}

// asked lets only those in who have a token.
func (s *Server) asked(next func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, is := s.asker(r)
		if !is {
			s.unauthorized().write(w)
			return
		}
		if r.ContentLength == 0 { // ReadTimeout is for bodies; when it passes, the server takes the client for gone
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		next(w, r, name)
	}
}

func (s *Server) unauthorized() *problem {
	return &problem{status: http.StatusUnauthorized, text: "no token, or a wrong one", hint: "send the header Authorization: Bearer TOKEN"}
}

// python is the module for notebooks, of the version of its server.
//
//go:embed tidemark.py
var python []byte

// servePython sends it to anybody: it holds nothing of the warehouse.
func servePython(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/x-python; charset=utf-8")
	_, _ = w.Write(python)
}

// serveRuns answers GET /v1/runs.
func (s *Server) serveRuns(w http.ResponseWriter, r *http.Request, asker string) {
	s.run(w, r, asker, worker.Errand{SQL: "from marts.runs", Form: worker.JSON, MostBytes: s.config.MostBytes}, "application/json", time.Now())
}

// reportPolicy is for pages that have no script, and must not get one.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// serveReport answers GET /v1/reports/runs/RUN with the page that "tidemark report RUN" writes, and GET /v1/reports/services/SERVICE/WEEK with the
// page of "tidemark report --service" as it was made last. The pages have no script.
func (s *Server) serveReport(w http.ResponseWriter, r *http.Request, asker string) {
	w.Header().Set("Content-Security-Policy", reportPolicy)
	page := worker.Page{Run: pathValue(r, "run"), Service: pathValue(r, "service"), Week: pathValue(r, "week")}
	s.run(w, r, asker, worker.Errand{Page: page, Form: worker.HTML}, "text/html; charset=utf-8", time.Now())
}

func pathValue(r *http.Request, name string) string {
	value, err := url.PathUnescape(r.PathValue(name))
	if err != nil {
		return r.PathValue(name)
	}
	return value
}

// CheckListening refuses addresses that would let strangers in.
func CheckListening(host string, tokens int, hasTLS bool) error {
	switch {
	case isLoopback(host):
		return nil
	case tokens == 0:
		return hint.Misuse("serve: --host %s: other machines may only ask with a token", escape.Controls(host, "")).Hint("set $TIDEMARK_TOKEN, or name --token-file")
	case !hasTLS:
		return hint.Misuse("serve: --host %s: other machines may only ask over TLS, else the token could be read on the way", escape.Controls(host, "")).
			Hint("give --tls-cert and --tls-key, or keep to 127.0.0.1 behind a proxy or an SSH tunnel")
	}
	return nil
}
