//go:build duckdb_arrow

package serve_test

import (
	"context"
	"database/sql/driver"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
)

// A million rows of ten columns as Arrow over HTTP into a client, beside DuckDB that opens the same file and reads them into Arrow itself.
// The worker waits, as it does between questions of a notebook.
func BenchmarkMillionRowsOverHTTP(b *testing.B) {
	s := serving(b, nil)
	var served, itself, first time.Duration
	rounds := time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		awaitWorkers(b, s)
		b.StartTimer()
		began := time.Now()
		response := s.ask(b, "from staging.million")
		body := &firstByte{from: response.Body}
		if count, _ := readArrow(b, body); count != 1e6 {
			b.Fatalf("%d rows", count)
		}
		response.Body.Close()
		served += time.Since(began)
		first += body.at.Sub(began)
		rounds++
		b.StopTimer()
		began = time.Now()
		readItself(b, s.folder)
		itself += time.Since(began)
		b.StartTimer()
	}
	b.ReportMetric((served/rounds).Seconds()*1e3, "served-ms")
	b.ReportMetric((itself/rounds).Seconds()*1e3, "file-ms")
	b.ReportMetric((first/rounds).Seconds()*1e3, "first-row-ms")
	b.ReportMetric(served.Seconds()/itself.Seconds(), "served/file")
}

// The first answer of a worker that waits, and of one that must be started first.
func BenchmarkFirstRow(b *testing.B) {
	s := serving(b, nil)
	for name, isWarm := range map[string]bool{"warm": true, "cold": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if isWarm {
					b.StopTimer()
					awaitWorkers(b, s)
					b.StartTimer()
				}
				if status, _ := text(b, s.ask(b, "select 42", "Accept", asCSV)); status != http.StatusOK {
					b.Fatal(status)
				}
			}
		})
	}
}

func awaitWorkers(b *testing.B, s *served) {
	b.Helper()
	for s.metrics(b)[`tidemark_serve_workers{state="waiting"}`] != "2" {
		time.Sleep(5 * time.Millisecond)
	}
}

type firstByte struct {
	from io.Reader
	at   time.Time
}

func (f *firstByte) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if n > 0 && f.at.IsZero() {
		f.at = time.Now()
	}
	return n, err
}

// readItself is DuckDB in this process: it opens the file and reads all rows into Arrow.
func readItself(b *testing.B, folder string) {
	b.Helper()
	connector := must.Get(duckdb.NewConnector(filepath.Join(folder, serve.SnapshotName)+"?access_mode=read_only", nil))(b)
	defer connector.Close()
	connection := must.Get(connector.Connect(context.Background()))(b)
	defer connection.Close()
	arrow := must.Get(duckdb.NewArrowFromConn(connection.(driver.Conn)))(b)
	reader := must.Get(arrow.QueryContext(context.Background(), "from staging.million"))(b)
	defer reader.Release()
	rows := int64(0)
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	if rows != 1e6 {
		b.Fatalf("%d rows", rows)
	}
}
