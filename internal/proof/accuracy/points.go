//go:build duckdb_arrow

package accuracy

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/deployment"
)

// Row is a measurement and its labels in the tables.
type Row struct {
	Measured
	Line           int    // in the file
	Model, GPU     string // as the file says it
	Configuration  string // all but the concurrency
	Engine, Format string
}

// ReadPoints reads the layout of tpot_points.csv.
func ReadPoints(path string) ([]Row, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var rows []Row
	for i, line := range lines[1:] {
		cell := map[string]string{}
		for j, name := range lines[0] {
			cell[name] = line[j]
		}
		row, err := rowOf(cell)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+2, err)
		}
		row.Line = i + 2
		rows = append(rows, row)
	}
	return rows, nil
}

func rowOf(cell map[string]string) (Row, error) {
	var failed error
	number := func(name string) float64 {
		if cell[name] == "" {
			return 0
		}
		value, err := strconv.ParseFloat(cell[name], 64)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
		return value
	}
	row := Row{
		Model: cell["model"], GPU: cell["gpu"], Engine: cell["engine"], Format: cell["weight_precision"],
		Configuration: strings.Join([]string{cell["engine"], cell["engine_version"], cell["model"], cell["gpu"], cell["tp"], cell["ep"], cell["input_len"], cell["output_len"]}, " "),
	}
	row.TPOT, row.TTFT = number("tpot_ms")/1e3, number("ttft_ms_median")/1e3
	row.Point = analysis.Point{
		Deployment: deployment.Deployment{
			GPU: cell["gpu"], CatalogModel: cell["model"], TensorParallelSize: int(number("tp")), ExpertParallelSize: int(number("ep")),
			Quantization: cell["weight_precision"], KVCacheDtype: cell["kv_precision"], Engine: cell["engine"], EngineVersion: cell["engine_version"],
			MaxNumBatchedTokens: int(number("max_batched_tokens")),
		},
		Load: analysis.Load{Clients: number("concurrency"), InputTokens: number("input_len_mean"), OutputTokens: number("output_len_mean")},
	}
	return row, failed
}
