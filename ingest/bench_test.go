//go:build duckdb_arrow

package ingest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// rowsVariable overrides how many rows the benchmark takes in.
const rowsVariable = "TIDEMARK_BENCH_ROWS"

// BenchmarkIngest takes the same ten million Azure-like rows in, one after the
// other into the same table on disk: by DuckDB's own read_csv, which works out
// the same values, and by ours. What is asked of ours is asked of it: every row
// checked, rejects kept (store_rejects), lines numbered; the sha256 of the file it
// cannot do. Numbering and rejects cost it its parallel plan, so that it is
// measured without both as well.
func BenchmarkIngest(b *testing.B) {
	rows := benchRows(b, 10_000_000)
	path := filepath.Join(b.TempDir(), "azure.csv")
	writeAzureLike(b, path, rows)
	var theirs, unnumbered, rejecting, ours time.Duration
	var peak int64
	for b.Loop() {
		theirs += timed(b, rows, func(w *warehouse.Warehouse) {
			readCSVInto(b, w, path, "row_number() over () + 1", "store_rejects = true,")
		})
		resetPeak()
		ours += timed(b, rows, func(w *warehouse.Warehouse) { load(b, w, path, ingest.Options{}) })
		peak = max(peak, peakRSS(b))
		unnumbered += timed(b, rows, func(w *warehouse.Warehouse) { readCSVInto(b, w, path, "0", "") })
		rejecting += timed(b, rows, func(w *warehouse.Warehouse) { readCSVInto(b, w, path, "0", "store_rejects = true,") })
	}
	all := float64(rows) * float64(b.N)
	b.ReportMetric(all/ours.Seconds(), "rows/s")
	b.ReportMetric(all/theirs.Seconds(), "read_csv_rows/s")
	b.ReportMetric(all/unnumbered.Seconds(), "read_csv_unchecked_rows/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times_read_csv")
	b.ReportMetric(unnumbered.Seconds()/ours.Seconds(), "times_read_csv_unchecked")
	b.ReportMetric(rejecting.Seconds()/ours.Seconds(), "times_read_csv_unnumbered")
	b.ReportMetric(float64(peak)/1e6, "peak_RSS_MB")
}

// timed measures one way to fill a new warehouse, from an open file to a
// committed and closed one.
func timed(b *testing.B, rows int, fill func(*warehouse.Warehouse)) time.Duration {
	b.Helper()
	path := emptyFile(b)
	defer os.Remove(path)
	w := must.Get(warehouse.Open(context.Background(), path, warehouse.ReadWrite))(b)
	must.Get(w.DB().Exec("set threads = 2"))(b)
	began := time.Now()
	fill(w)
	if got := number(b, w, "select count(*) from raw.arrivals"); got != int64(rows) {
		b.Fatalf("got %d rows, want %d", got, rows)
	}
	must.Do(b, w.Close())
	return time.Since(began)
}

// readCSVInto is how one would do it without a reader of one's own. A timestamp
// of microseconds loses the seventh digit; a timestamp_ns keeps it.
func readCSVInto(b *testing.B, w *warehouse.Warehouse, path, line, options string) {
	b.Helper()
	must.Get(w.DB().Exec(fmt.Sprintf(`
		insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens)
		select
			1,
			%s,
			epoch_ns("TIMESTAMP") - epoch_ns(timestamp '2023-11-16 18:17:03'),
			"ContextTokens",
			"GeneratedTokens"
		from read_csv('%s', %s header = true, auto_detect = false, delim = ',', quote = '', escape = '', new_line = '\r\n',
			columns = {'TIMESTAMP': 'TIMESTAMP_NS', 'ContextTokens': 'BIGINT', 'GeneratedTokens': 'BIGINT'})`, line, path, options)))(b)
}

// writeAzureLike writes rows as Azure 2023 does: CRLF, seven digits, a few
// requests a second, no line end at the end.
func writeAzureLike(b *testing.B, path string, rows int) {
	b.Helper()
	file := must.Get(os.Create(path))(b)
	out := bufio.NewWriterSize(file, 1<<20)
	out.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens")
	at := time.Date(2023, 11, 16, 18, 17, 3, 979960000, time.UTC)
	state := uint64(1)
	var line []byte
	for range rows {
		state = state*6364136223846793005 + 1442695040888963407
		at = at.Add(time.Duration(state>>40) * 10)
		line = at.AppendFormat(append(line[:0], "\r\n"...), "2006-01-02 15:04:05.0000000")
		line = strconv.AppendUint(append(line, ','), state>>33%8000, 10)
		line = strconv.AppendUint(append(line, ','), state>>50%1000, 10)
		out.Write(line)
	}
	must.Do(b, out.Flush())
	must.Do(b, file.Close())
}

// resetPeak makes the kernel measure the peak anew (Linux).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakRSS is the most memory that the process has held since then, bytes; 0 where
// the kernel does not say.
func peakRSS(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	text, _, _ := strings.Cut(after, "kB")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes * 1024
}
