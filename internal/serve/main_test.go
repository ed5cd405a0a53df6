//go:build duckdb_arrow

package serve_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/study"
	"tidemark/analysis/tune"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
	"tidemark/internal/serve/worker"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Workers are processes of this test's own program.
func TestMain(m *testing.M) {
	dieOfSnapshot()
	worker.Child(shortReport)
	os.Exit(m.Run())
}

// deadly begins a snapshot of which a worker dies without a word. The rest is the name of a file that gets a byte from each that did.
const deadly = "checksumDUCK deadly "

func dieOfSnapshot() {
	const snapshot = 3 // the file that a worker inherits
	var head [4096]byte
	n, _ := syscall.Pread(snapshot, head[:], 0)
	if path, is := strings.CutPrefix(string(head[:max(n, 0)]), deadly); is {
		if died, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			_, _ = died.WriteString("x")
		}
		os.Exit(1)
	}
}

// shortReport takes the place of package reports, which needs ten seconds.
func shortReport(ctx context.Context, db *sql.DB, page worker.Page, w io.Writer) error {
	run, requests := page.Run, int64(0)
	if page.Service != "" {
		var sentence string
		err := db.QueryRowContext(ctx, "select sentence from marts.service_weeks where service = ? and week = ?", page.Service, page.Week).Scan(&sentence)
		if err == sql.ErrNoRows {
			return hint.Misuse("no report of %s in %s", page.Service, page.Week).Hint("known weeks are 2026-W47")
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "<p>%s in %s", page.Service, page.Week)
		}
		return err
	}
	err := db.QueryRowContext(ctx, "select count(*) from raw.requests where run_id = ?", run).Scan(&requests)
	if err == nil && requests == 0 {
		return hint.Misuse("no run %q", run).Hint("known runs are one, two")
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "<p>%d requests", requests)
	}
	return err
}

// secret is the token of alice, otherSecret that of bob.
const (
	secret      = "a-token-of-alice-0123456789abcdef"
	otherSecret = "a-token-of-bob-fedcba9876543210"
)

// small is the content of a warehouse with a little of everything, and with a table of a million rows of ten columns.
var small = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "tidemark-notebooktest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "w.duckdb")
	if err := warehousetest.Template(path); err != nil {
		return nil, err
	}
	rows, err := os.ReadFile("../../queries/testdata/small.sql")
	if err != nil {
		return nil, err
	}
	w, err := warehouse.Open(context.Background(), path, warehouse.ReadWrite)
	if err != nil {
		return nil, err
	}
	twoReplicas := `update raw.capacities set header = json_merge_patch(header, '{"replicas": 2}')`
	for _, statement := range []string{string(rows), million, twoReplicas} {
		if _, err := w.DB().Exec(statement); err != nil {
			return nil, err
		}
	}
	if err := keepTuning(w); err != nil {
		return nil, err
	}
	if err := warehouse.Refresh(context.Background(), w.DB()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// keepTuning keeps what "tidemark tune" finds by rehearsals.
func keepTuning(w *warehouse.Warehouse) error {
	rows := []tune.Row{{Candidate: tune.Candidate{IsBaseline: true}}, {RatePerS: 21, Full: &capacity.Answer{}}}
	result := study.OfTuning(tune.File{Asked: tune.Asked{Name: "chat"}}, analysis.SLO{}, rows, nil, "rehearsed", "set: --max-num-seqs 128; 21.0 requests/s; nothing was sent.", "test")
	return result.Keep(context.Background(), w, study.File{}, time.Date(2026, 11, 28, 10, 40, 0, 0, time.UTC))
}

const million = `
create table staging.million as
select
    seq,
    'run-' || seq % 7 as run_id,
    seq * 1e-3 as due_s,
    seq * 2e-3 as sent_s,
    sqrt(seq) as ttft_s,
    1 / (1 + seq) as tpot_s,
    (seq % 4000)::integer as input_tokens,
    (seq % 900)::integer as output_tokens,
    seq % 3 = 0 as is_success,
    'length' as finish_reason
from range(1000000) as numbers (seq)`

// publish puts a snapshot into a folder as a publisher does: by a rename.
func publish(t testing.TB, folder string, content []byte) {
	t.Helper()
	next := filepath.Join(folder, "next")
	must.Do(t, os.WriteFile(next, content, 0o600))
	must.Do(t, os.Rename(next, filepath.Join(folder, serve.SnapshotName)))
}

// served is a running server.
type served struct {
	url    string
	folder string
	addr   string
	mu     sync.Mutex
	told   []string // what the operator was told
}

// serving starts a server on the small warehouse. It ends with the test.
func serving(t testing.TB, change func(*serve.Config)) *served {
	t.Helper()
	content := must.Get(small())(t)
	s := &served{folder: t.TempDir()}
	publish(t, s.folder, content)
	tokens := must.Get(serve.ReadTokens("tokens", "# who may ask\nalice "+secret+"\nbob "+otherSecret+"\n"))(t)
	config := serve.Config{Published: s.folder, Tokens: tokens, MemoryBytes: 1 << 30, Timeout: time.Minute, Workers: 2, Queue: 16, MostBytes: 1 << 30, Tell: s.tell}
	if change != nil {
		change(&config)
	}
	server := must.Get(serve.New(config))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.addr = listener.Addr().String()
	s.url = "http://" + s.addr
	go server.Serve(listener)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		must.Do(t, server.Shutdown(ctx))
	})
	return s
}

func (s *served) tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// ask sends a query with headers given as name, value, name, value; alice's token goes with it.
func (s *served) ask(t testing.TB, body string, headers ...string) *http.Response {
	t.Helper()
	response, err := s.try(body, headers...)
	if err != nil {
		t.Fatalf("%.200s: %v", body, err)
	}
	return response
}

func (s *served) try(body string, headers ...string) (*http.Response, error) {
	return s.do("POST", "/v1/sql", strings.NewReader(body), headers...)
}

func (s *served) do(method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	request, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return http.DefaultClient.Do(request)
}

// text is the status and the whole body of an answer.
func text(t testing.TB, response *http.Response) (int, string) {
	t.Helper()
	defer response.Body.Close()
	body := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(body)
}

const (
	asCSV     = "text/csv"
	asJSON    = "application/json"
	asArrow   = "application/vnd.apache.arrow.stream"
	asParquet = "application/vnd.apache.parquet"
)
