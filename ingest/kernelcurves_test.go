//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// How the built-in curves are thinned out of the tables; queries/seeds/NOTICE says the
// same in words. Each makes one line a curve.
const (
	powersOfTwo = "(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)"
	version24   = "engine_version = '0.24.0'"
	// Three significant digits: 4.738e-5 is 474e-7.
	threeDigits = "string_agg(round(seconds / pow(10, floor(log10(seconds)) - 2))::bigint || 'e' || (floor(log10(seconds)) - 2)::bigint, ' ' order by x) as seconds"
	// All of them but those of a GPU, version and format that are slower than 16 bits in most shapes.
	plausibleExperts = `
		select expert_curves.*, unnest(tokens) as x, unnest(seconds) as at_x
		from macros.expert_curves() as expert_curves
		where source <> 'built in'
			and (gpu, engine_version, format) not in (
				select (narrow.gpu, narrow.engine_version, narrow.format)
				from macros.expert_curves() as narrow
				inner join macros.expert_curves() as plain
					using (source, gpu, engine_version, router, hidden, intermediate, experts, experts_per_token, tensor_parallel_size, expert_parallel_size)
				where plain.format = 'bf16' and narrow.format <> 'bf16' and narrow.source <> 'built in'
				group by narrow.gpu, narrow.engine_version, narrow.format
				having median(narrow.seconds[list_position(narrow.tokens, 64)] / plain.seconds[list_position(plain.tokens, 64)]) > 1.25e0
			)`
)

var thinned = []struct{ seed, columns, points, list, order string }{
	{"expert_curves", "gpu, engine, engine_version, format, kernel, router, hidden, intermediate, experts, experts_per_token, tensor_parallel_size, expert_parallel_size",
		"select * exclude (seconds), at_x as seconds from (" + plausibleExperts + `) as experts
			where router in ('balanced', 'power_law_1.01') and tensor_parallel_size * expert_parallel_size <= 8 and x <= 8192 and x in ` + powersOfTwo,
		"tokens", "hidden, intermediate, experts, experts_per_token, tensor_parallel_size, expert_parallel_size, router, format, engine, engine_version, gpu"},
	{"gemm_curves", "gpu, engine, engine_version, format, kernel, n, k",
		`select * exclude (seconds), at_x as seconds from (select curves.*, unnest(tokens) as x, unnest(seconds) as at_x from macros.gemm_curves() as curves where source <> 'built in') as points
			where n * k >= 1048576 and engine_version in ('0.14.0', '0.14.1', '0.24.0') and x <= 8192 and x in ` + powersOfTwo,
		"tokens", "format, n, k, engine, engine_version, gpu"},
	{"attention_curves", "phase, gpu, engine, engine_version, kv_format, kernel, query_heads, kv_heads, head_dim, window_tokens, batch",
		`select * exclude (seconds), at_x as seconds from (select curves.*, unnest(contexts) as x, unnest(seconds) as at_x from macros.attention_curves() as curves where source <> 'built in') as points
			where ` + version24 + ` and (phase = 'decode' and batch in (1, 4, 16, 64, 256) or phase = 'prefill' and batch = 1 and x in ` + powersOfTwo + `)`,
		"contexts", "phase, head_dim, window_tokens nulls first, query_heads, kv_heads, batch, kv_format, engine, engine_version, gpu"},
	{"mla_curves", "phase, gpu, engine, engine_version, model, format, kv_format, kernel, query_heads, batch",
		`select * exclude (seconds), at_x as seconds from (select curves.*, unnest(contexts) as x, unnest(seconds) as at_x from macros.mla_curves() as curves where source <> 'built in') as points
			where ` + version24 + ` and (phase = 'decode' and batch in (1, 4, 16, 64, 256) or phase = 'prefill' and batch = 1 and x in ` + powersOfTwo + `)`,
		"contexts", "phase, query_heads, batch, format, kv_format, engine, engine_version, gpu"},
	{"all_reduce_curves", "gpu, engine, engine_version, kernel, gpus, is_graph",
		`select * exclude (seconds), at_x as seconds from (select curves.*, unnest(message_bytes) as x, unnest(seconds) as at_x from macros.all_reduce_curves() as curves where source <> 'built in' and operation = 'all_reduce') as points
			where ` + version24,
		"message_bytes", "gpus, is_graph, engine, engine_version, gpu"},
}

// The built-in curves are what comes of the tables, taken in as anybody would. That
// takes most of a minute, so TIDEMARK_KERNEL_CURVES asks for it: "compare" ("make ci"),
// or "remake" to write them anew ("make kernel-curves").
func TestKernelCurvesAreOfTheTables(t *testing.T) {
	asked := os.Getenv("TIDEMARK_KERNEL_CURVES")
	if asked == "" {
		t.Skip("LEFT OUT: takes most of a minute; TIDEMARK_KERNEL_CURVES=compare asks for it")
	}
	tables := shared(t, "data/kernels")
	w := open(t)
	must.Get(ingest.Load(t.Context(), w, []string{tables}, ingest.Options{}))(t)
	for _, c := range thinned {
		path := "../queries/seeds/" + c.seed + ".csv.gz"
		made := curvesOf(t, w, fmt.Sprintf(`
			select %s, string_agg(x, ' ' order by x) as %s, %s
			from (%s) as points
			group by %s
			order by %s`, c.columns, c.list, threeDigits, c.points, c.columns, c.order))
		there := unpacked(t, path)
		switch {
		case there == made:
		case asked == "remake":
			must.Do(t, os.WriteFile(path, packed(t, made), 0o644))
		default:
			t.Errorf("%s is not what comes of the tables: %s", path, firstDifference(there, made))
		}
	}
}

// curvesOf writes what a query yields as CSV.
func curvesOf(t *testing.T, w *warehouse.Warehouse, query string) string {
	t.Helper()
	rows := must.Get(w.DB().QueryContext(t.Context(), "select columns(*)::varchar from ("+query+"\n)"))(t)
	defer rows.Close()
	names := must.Get(rows.Columns())(t)
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	_ = out.Write(names)
	cells, targets := make([]*string, len(names)), make([]any, len(names))
	for i := range cells {
		targets[i] = &cells[i]
	}
	for rows.Next() {
		must.Do(t, rows.Scan(targets...))
		line := make([]string, len(names))
		for i, cell := range cells {
			if cell != nil {
				line[i] = *cell
			}
		}
		_ = out.Write(line)
	}
	out.Flush()
	must.Do(t, rows.Err())
	return text.String()
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var content bytes.Buffer
	writer, err := gzip.NewWriterLevel(&content, gzip.BestCompression)
	if err == nil {
		_, err = writer.Write([]byte(text))
	}
	if err == nil {
		err = writer.Close()
	}
	must.Do(t, err)
	return content.Bytes()
}

func unpacked(t *testing.T, path string) string {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	reader := must.Get(gzip.NewReader(file))(t)
	text := must.Get(io.ReadAll(reader))(t)
	return string(text)
}

func firstDifference(there, made string) string {
	a, b := strings.Split(there, "\n"), strings.Split(made, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nnot\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(a), len(b))
}
