package hardware

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// KernelTimes reads tables of measured kernel times in the layout of NVIDIA's
// aiconfigurator: one operation per file, a row for each shape, of any GPU and
// engine. They come as Parquet, whose reader (ingest/parquet.go) hands them over as
// CSV; before 2026 also as CSV.
var KernelTimes = read.Format{
	Name: "kernel-times",
	Sees: func(h *read.Head) string {
		return read.If(h.ColumnsHave(KernelTableMarks...), "measured kernel times of an engine")
	},
	Read:  readKernelCSV,
	Wants: "the columns " + strings.Join(KernelTableMarks, ", ") + " and those of its operation",
	Kind:  KindKernelTimes,
}

// KindKernelTimes is the kind of such a source.
const KindKernelTimes = "kernel times" // kind of such a source

// KernelTableMarks are the columns that all such tables have.
var KernelTableMarks = []string{"framework", "version", "device", "op_name", "latency"}

// KernelColumns are all columns that are read; of a Parquet file no others are
// handed over.
var KernelColumns = append([]string{
	"kernel_source", "gemm_dtype", "m", "n", "k",
	"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size", "distribution",
	"batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim", "window_size", "kv_cache_dtype",
	"model", "gemm_type", "allreduce_dtype", "nccl_dtype", "num_gpus", "message_size", "backend",
}, KernelTableMarks...)

// ReadKernelParquet reads the CSV that the reader of Parquet makes of such a table.
func ReadKernelParquet(d *read.Document, from io.Reader, out *read.Rows) error {
	lines, err := d.WithLines(from)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil {
		return hint.Errorf("a table of kernel times without a row").Hint("check where it came from")
	}
	return readKernelCSV(lines, out)
}

// readKernelCSV makes a row of each line, by its operation. Lines of one GPU,
// engine and version share a row of raw.kernel_tables that says so.
func readKernelCSV(d *read.Document, out *read.Rows) error {
	tables := map[kernelTableRow]int32{}
	err := d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		operation := kernelOperations[s.Text("op_name")]
		if operation == nil {
			return nil, hint.Errorf("kernel times of an operation that no prediction reads").
				Hint("%s", "read are "+strings.Join(slices.Sorted(maps.Keys(kernelOperations)), ", ")).Mark(read.ErrUnknownFormat)
		}
		where := kernelTableRow{GPU: s.Word("device"), Engine: strings.ToLower(s.Word("framework")), EngineVersion: s.Word("version")}
		if ours, ok := kernelEngines[where.Engine]; ok {
			where.Engine = ours
		}
		if s.Text("nccl_dtype") != "" { // the version is that of NCCL, whatever engine was started to time it
			where.Engine = "nccl"
		}
		seq, known := tables[where]
		if !known {
			seq = int32(len(tables))
		}
		row := operation(kernelLine{s, seq})
		if s.Problem() != nil {
			return s.Problem(), nil
		}
		if !known {
			tables[where] = seq
			where.Seq = seq
			out.Add(where)
		}
		return nil, out.Add(row)
	})
	out.Note("measured on %s", kernelPlaces(tables))
	return err
}

// kernelPlaces lists where times were measured, for a note.
func kernelPlaces(tables map[kernelTableRow]int32) string {
	var places []string
	for table := range tables {
		places = append(places, fmt.Sprintf("%s, %s %s", table.GPU, table.Engine, table.EngineVersion))
	}
	slices.Sort(places)
	return strings.Join(places, "; ")
}

// kernelEngines are the frameworks that have another name here.
var kernelEngines = map[string]string{"trtllm": "tensorrt-llm"}
