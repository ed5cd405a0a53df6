//go:build duckdb_arrow

package ingest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// benchRows is how many rows a benchmark takes in, unless the environment says
// another number.
func benchRows(b *testing.B, usual int) int {
	b.Helper()
	text := os.Getenv(rowsVariable)
	if text == "" {
		return usual
	}
	rows, err := strconv.Atoi(text)
	if err != nil {
		b.Fatalf("%s: %v", rowsVariable, err)
	}
	return rows
}

// BenchmarkIngestJSONLines takes the same Mooncake-like rows in, with their prefix
// blocks, by DuckDB's read_json and by ours, into the same table on disk.
// read_json is told the columns; it has no rejects with a reason, and no sha256.
func BenchmarkIngestJSONLines(b *testing.B) {
	rows := benchRows(b, 1_000_000)
	path := filepath.Join(b.TempDir(), "mooncake.jsonl")
	writeMooncakeLike(b, path, rows)
	var theirs, ours, theirCPU, ourCPU time.Duration
	var peak int64
	for b.Loop() {
		began := cpuUsed(b)
		theirs += timed(b, rows, func(w *warehouse.Warehouse) { readJSONInto(b, w, path) })
		theirCPU += cpuUsed(b) - began
		resetPeak()
		began = cpuUsed(b)
		ours += timed(b, rows, func(w *warehouse.Warehouse) { load(b, w, path, ingest.Options{}) })
		ourCPU += cpuUsed(b) - began
		peak = max(peak, peakRSS(b))
	}
	all := float64(rows) * float64(b.N)
	b.ReportMetric(all/ours.Seconds(), "rows/s")
	b.ReportMetric(all/theirs.Seconds(), "read_json_rows/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times_read_json")
	b.ReportMetric(ourCPU.Seconds()/float64(b.N), "CPU-s")
	b.ReportMetric(theirCPU.Seconds()/ourCPU.Seconds(), "times_read_json_by_CPU")
	b.ReportMetric(float64(peak)/1e6, "peak_RSS_MB")
}

// cpuUsed is the CPU time of this process so far: beside other work it says more than the wall clock.
func cpuUsed(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func readJSONInto(b *testing.B, w *warehouse.Warehouse, path string) {
	b.Helper()
	must.Get(w.DB().Exec(fmt.Sprintf(`
		insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, blocks)
		select
			1,
			row_number() over (),
			"timestamp" * 1000000,
			input_length,
			output_length,
			hash_ids
		from read_json('%s', format = 'newline_delimited',
			columns = {'timestamp': 'BIGINT', 'input_length': 'BIGINT', 'output_length': 'BIGINT', 'hash_ids': 'UBIGINT[]'})`, path)))(b)
}

// writeMooncakeLike writes rows as Mooncake does: some tens of block ids a row,
// most of the first ones seen before.
func writeMooncakeLike(b *testing.B, path string, rows int) {
	b.Helper()
	writeFile(b, path, func(out *bufio.Writer) {
		state, at, fresh := uint64(1), uint64(0), uint64(0)
		var line []byte
		for range rows {
			state = state*6364136223846793005 + 1442695040888963407
			at += 1 + state>>55
			blocks := state >> 40 % 28
			line = strconv.AppendUint(append(line[:0], `{"timestamp": `...), at, 10)
			line = strconv.AppendUint(append(line, `, "input_length": `...), blocks*512+1+state>>20%512, 10)
			line = strconv.AppendUint(append(line, `, "output_length": `...), state>>50%1000, 10)
			line = append(line, `, "hash_ids": [`...)
			for i := range blocks + 1 {
				if i > 0 {
					line = append(line, ", "...)
				}
				id := i
				if i >= 4 {
					fresh++
					id = fresh
				}
				line = strconv.AppendUint(line, id, 10)
			}
			line = append(line, "]}\n"...)
			out.Write(line)
		}
	})
}

func writeFile(b *testing.B, path string, write func(*bufio.Writer)) {
	b.Helper()
	file := must.Get(os.Create(path))(b)
	out := bufio.NewWriterSize(file, 1<<20)
	write(out)
	must.Do(b, out.Flush())
	must.Do(b, file.Close())
}

// BenchmarkIngestGzip sets taking a gzipped trace in beside undoing its
// compression alone, by the same library.
func BenchmarkIngestGzip(b *testing.B) {
	rows := benchRows(b, 10_000_000)
	plain := filepath.Join(b.TempDir(), "azure.csv")
	writeAzureLike(b, plain, rows)
	packed := plain + ".gz"
	packFile(b, plain, packed)
	var alone, ours, unpacked time.Duration
	for b.Loop() {
		began := time.Now()
		unpack(b, packed)
		alone += time.Since(began)
		ours += timed(b, rows, func(w *warehouse.Warehouse) { load(b, w, packed, ingest.Options{}) })
		unpacked += timed(b, rows, func(w *warehouse.Warehouse) { load(b, w, plain, ingest.Options{}) })
	}
	all := float64(rows) * float64(b.N)
	b.ReportMetric(all/ours.Seconds(), "rows/s")
	b.ReportMetric(all/alone.Seconds(), "gunzip_alone_rows/s")
	b.ReportMetric(all/unpacked.Seconds(), "plain_rows/s")
	b.ReportMetric(ours.Seconds()/max(alone, unpacked).Seconds(), "times_the_slower_of_both")
}

func packFile(b *testing.B, from, into string) {
	b.Helper()
	in := must.Get(os.Open(from))(b)
	defer in.Close()
	writeFile(b, into, func(out *bufio.Writer) {
		packer := gzip.NewWriter(out)
		must.Get(io.Copy(packer, in))(b)
		must.Do(b, packer.Close())
	})
}

func unpack(b *testing.B, path string) {
	b.Helper()
	file := must.Get(os.Open(path))(b)
	defer file.Close()
	unpacker := must.Get(gzip.NewReader(bufio.NewReaderSize(file, 256<<10)))(b)
	must.Get(io.Copy(io.Discard, unpacker))(b)
}

// BenchmarkIngestScaling takes traces of growing length in: time a row and memory
// must not grow with them. TIDEMARK_BENCH_ROWS=100000000 makes the last one as
// long as that.
func BenchmarkIngestScaling(b *testing.B) {
	longest := benchRows(b, 20_000_000)
	for rows := longest; rows >= 1_000_000 && rows >= longest/100; rows /= 10 {
		b.Run(strconv.Itoa(rows), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "azure.csv")
			writeAzureLike(b, path, rows)
			var ours time.Duration
			var peak int64
			for b.Loop() {
				resetPeak()
				ours += timed(b, rows, func(w *warehouse.Warehouse) { load(b, w, path, ingest.Options{}) })
				peak = max(peak, peakRSS(b))
			}
			b.ReportMetric(float64(rows)*float64(b.N)/ours.Seconds(), "rows/s")
			b.ReportMetric(float64(peak)/1e6, "peak_RSS_MB")
		})
	}
}

// BenchmarkIngestPrometheusRange takes a range response of a gigabyte in: memory
// must not grow with it. TIDEMARK_BENCH_ROWS is its number of values.
func BenchmarkIngestPrometheusRange(b *testing.B) {
	values := benchRows(b, 38_000_000)
	path := filepath.Join(b.TempDir(), "range.json")
	writeRange(b, path, values)
	info := must.Get(os.Stat(path))(b)
	var took time.Duration
	var peak int64
	for b.Loop() {
		w := must.Get(warehouse.Open(context.Background(), emptyFile(b), warehouse.ReadWrite))(b)
		resetPeak()
		began := time.Now()
		load(b, w, path, ingest.Options{})
		took += time.Since(began)
		peak = max(peak, peakRSS(b))
		if got := number(b, w, "select count(*) from raw.metrics"); got != int64(values) {
			b.Fatalf("got %d values, want %d", got, values)
		}
		must.Do(b, w.Close())
	}
	b.ReportMetric(float64(values)*float64(b.N)/took.Seconds(), "values/s")
	b.ReportMetric(float64(info.Size())*float64(b.N)/1e6/took.Seconds(), "MB/s")
	b.ReportMetric(float64(info.Size())/1e6, "file_MB")
	b.ReportMetric(float64(peak)/1e6, "peak_RSS_MB")
}

// writeRange writes what Prometheus answers to a query over days: 1,000 series of
// vLLM's buckets, a value every 15 s.
func writeRange(b *testing.B, path string, values int) {
	b.Helper()
	const series = 1000
	writeFile(b, path, func(out *bufio.Writer) {
		out.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
		for i := range series {
			if i > 0 {
				out.WriteString(",")
			}
			fmt.Fprintf(out, `{"metric":{"__name__":"vllm:request_prompt_tokens_bucket","engine":"%d","le":"%d","model_name":"m"},"values":[`, i/20, 1<<(i%20))
			for j := range values / series {
				if j > 0 {
					out.WriteString(",")
				}
				fmt.Fprintf(out, `[%d.123,"%d"]`, 1_700_000_000+15*j, 1000*i+j)
			}
			out.WriteString("]}")
		}
		out.WriteString("]}}\n")
	})
}
