package ingest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// Tables of measured kernel times in the layout of NVIDIA's aiconfigurator: one
// operation a file, a row for each shape, of any GPU and engine. They come as Parquet
// (parquet.go hands them over), before 2026 also as CSV.
var _ = register(format{
	name: "kernel-times",
	sees: func(h *head) string {
		if h.columnsHave(kernelTableMarks...) {
			return "measured kernel times of an engine"
		}
		return ""
	},
	read:  readKernelCSV,
	wants: "the columns " + strings.Join(kernelTableMarks, ", ") + " and those of its operation",
	kind:  kernelTimes,
})

const kernelTimes = "kernel times" // kind of such a source

var kernelTableMarks = []string{"framework", "version", "device", "op_name", "latency"}

// kernelColumns are all that is read of such a table.
var kernelColumns = append([]string{
	"kernel_source", "gemm_dtype", "m", "n", "k",
	"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size", "distribution",
	"batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim", "window_size", "kv_cache_dtype",
	"model", "gemm_type", "allreduce_dtype", "num_gpus", "message_size", "backend",
}, kernelTableMarks...)

// readKernelParquet reads what the other process hands over, which is CSV.
func readKernelParquet(d *document, from io.Reader, out *rows) error {
	lines, err := tableOfLines(d, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil {
		return hint.Errorf("a table of kernel times without a row").Hint("check where it came from")
	}
	return readKernelCSV(lines, out)
}

// kernelCells are one line's cells by their columns; "" for nothing.
type kernelCells map[string]string

func readKernelCSV(d *document, out *rows) error {
	var names []string
	tables := map[kernelTableRow]int32{}
	cells := kernelCells{}
	err := d.lines(out, func(_ int64, line []byte) (*reject, error) {
		fields, reason := csvFields(line)
		switch {
		case reason != "":
			return &reject{reason: reason}, nil
		case names == nil:
			names = fields
			return nil, nil
		case len(fields) > len(names):
			return &reject{reason: tooManyColumns}, nil
		}
		clear(cells)
		for i, field := range fields {
			cells[names[i]] = field
		}
		operation := kernelOperations[cells["op_name"]]
		if operation == nil {
			return nil, hint.Errorf("kernel times of an operation that no prediction reads").
				Hint("%s", "read are "+strings.Join(slices.Sorted(maps.Keys(kernelOperations)), ", ")).Mark(errUnknownFormat)
		}
		where, problem := cells.table()
		if problem != nil {
			return problem, nil
		}
		seq, known := tables[where]
		if !known {
			seq = int32(len(tables))
		}
		l := kernelLine{cells: cells, seq: seq}
		row := operation(&l)
		if l.problem != nil {
			return l.problem, nil
		}
		if !known {
			tables[where] = seq
			where.Seq = seq
			if err := out.add(where); err != nil {
				return nil, err
			}
		}
		return nil, out.add(row)
	})
	out.note("measured on %s", kernelPlaces(tables))
	return err
}

// kernelPlaces lists where times were measured, for a reader.
func kernelPlaces(tables map[kernelTableRow]int32) string {
	var places []string
	for table := range tables {
		places = append(places, fmt.Sprintf("%s, %s %s", table.GPU, table.Engine, table.EngineVersion))
	}
	slices.Sort(places)
	return strings.Join(places, "; ")
}

// kernelEngines are the frameworks whose names are others here.
var kernelEngines = map[string]string{"trtllm": "tensorrt-llm"}

// table is where the line's time was measured, without its number.
func (c kernelCells) table() (row kernelTableRow, problem *reject) {
	for _, column := range []string{"device", "framework", "version"} {
		if c[column] == "" || word(c[column]) == "" {
			return row, &reject{column: column, reason: isMissing}
		}
	}
	engine := strings.ToLower(c["framework"])
	if ours, ok := kernelEngines[engine]; ok {
		engine = ours
	}
	return kernelTableRow{GPU: c["device"], Engine: engine, EngineVersion: c["version"]}, nil
}
