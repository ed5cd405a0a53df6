package hardware

import (
	"math"
	"strconv"
	"strings"

	"tidemark/ingest/read"
)

// kernelLine reads the columns of one line; the first that is not what it has to be
// becomes the line's reject.
type kernelLine struct {
	cells   kernelCells
	seq     int32 // of its kernelTableRow
	problem *read.Reject
}

// kernelOperations make a row of a line, by its op_name.
var kernelOperations = map[string]func(*kernelLine) read.Row{
	"gemm":                  gemmTime,
	"moe":                   expertTime,
	"generation_attention":  func(l *kernelLine) read.Row { return attentionTime(l, "decode") },
	"context_attention":     func(l *kernelLine) read.Row { return attentionTime(l, "prefill") },
	"mla_generation_module": func(l *kernelLine) read.Row { return mlaTime(l, "decode") },
	"mla_context_module":    func(l *kernelLine) read.Row { return mlaTime(l, "prefill") },
	"all_reduce":            allReduceTime,
}

func gemmTime(l *kernelLine) read.Row {
	return gemmTimeRow{
		TableSeq: l.seq, Format: l.word("gemm_dtype"), Kernel: l.kernel(),
		M: l.count("m"), N: l.count("n"), K: l.count("k"), Seconds: l.seconds(),
	}
}

func expertTime(l *kernelLine) read.Row {
	return expertTimeRow{
		TableSeq: l.seq, Format: l.word("moe_dtype"), Kernel: l.kernel(), Router: l.word("distribution"), Tokens: l.count("num_tokens"),
		Hidden: l.count("hidden_size"), Intermediate: l.count("inter_size"), Experts: l.count("num_experts"), ExpertsPerToken: l.count("topk"),
		TensorParallelSize: l.count("moe_tp_size"), ExpertParallelSize: l.count("moe_ep_size"), Seconds: l.seconds(),
	}
}

func attentionTime(l *kernelLine, phase string) read.Row {
	added, past := l.newAndPast(phase)
	row := attentionTimeRow{
		TableSeq: l.seq, Phase: phase, Kernel: l.kernel(), KVFormat: l.word("kv_cache_dtype"), Batch: l.count("batch_size"),
		NewTokens: added, PastTokens: past,
		QueryHeads: l.count("num_heads"), KVHeads: l.whole("num_key_value_heads"), HeadDim: l.count("head_dim"), Seconds: l.seconds(),
	}
	if row.KVHeads == 0 { // as many as query heads
		row.KVHeads = row.QueryHeads
	}
	if l.cells["window_size"] != "" {
		row.WindowTokens = read.OrNil(l.whole("window_size"))
	}
	return row
}

func mlaTime(l *kernelLine, phase string) read.Row {
	added, past := l.newAndPast(phase)
	return mlaTimeRow{
		TableSeq: l.seq, Phase: phase, Kernel: l.kernel(), Model: l.word("model"), Format: l.word("gemm_type"), KVFormat: l.word("kv_cache_dtype"),
		QueryHeads: l.count("num_heads"), Batch: l.count("batch_size"), NewTokens: added, PastTokens: past, Seconds: l.seconds(),
	}
}

// newAndPast tells the tokens that a sequence adds from those in its cache. A decode
// step adds one: what "isl" counts beyond it is cached already.
func (l *kernelLine) newAndPast(phase string) (added, past int64) {
	added, past = l.count("isl"), l.whole("step")
	if phase == "decode" {
		return 1, past + added - 1
	}
	return added, past
}

// elementSizes are those of the formats that are sent between GPUs.
var elementSizes = map[string]int64{"bfloat16": 2, "float16": 2, "half": 2, "float32": 4}

// allReduceTime: message_size counts elements of the format, not bytes.
func allReduceTime(l *kernelLine) read.Row {
	size, known := elementSizes[l.word("allreduce_dtype")]
	if !known {
		l.reject("allreduce_dtype", read.NotAKnownWord)
	}
	backend := l.word("backend")
	isGraph := strings.HasSuffix(backend, "graph")
	if !isGraph && !strings.HasSuffix(backend, "eager") {
		l.reject("backend", read.NotAKnownWord)
	}
	return allReduceTimeRow{
		TableSeq: l.seq, Kernel: l.kernel(), GPUs: l.count("num_gpus"), IsGraph: isGraph,
		MessageBytes: size * l.count("message_size"), Seconds: l.seconds(),
	}
}

func (l *kernelLine) reject(column, reason string) {
	if l.problem == nil {
		l.problem = &read.Reject{Column: column, Reason: reason}
	}
}

func (l *kernelLine) word(column string) string {
	text := read.Word(l.cells[column])
	if text == "" {
		l.reject(column, read.Missing)
	}
	return text
}

func (l *kernelLine) kernel() string { return kernelName(l.word("kernel_source")) }

// maxKernelSize is beyond any size, batch or context that a kernel was measured at.
const maxKernelSize = 1 << 40

// whole is a number of things, none of them included.
func (l *kernelLine) whole(column string) int64 {
	text := l.cells[column]
	number, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, 64)
	switch {
	case text == "":
		l.reject(column, read.Missing)
	case err != nil:
		l.reject(column, read.NotAnInteger)
	case number < 0:
		l.reject(column, read.Negative)
	case number > maxKernelSize:
		l.reject(column, read.TooLarge)
	}
	return number
}

// count is a number of things, at least one.
func (l *kernelLine) count(column string) int64 {
	number := l.whole(column)
	if number == 0 {
		l.reject(column, read.OutOfRange)
	}
	return number
}

// seconds is the time, which files say in milliseconds.
func (l *kernelLine) seconds() float64 {
	text := l.cells["latency"]
	ms, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		l.reject("latency", read.Missing)
	case err != nil:
		l.reject("latency", read.NotANumber)
	case math.IsNaN(ms) || math.IsInf(ms, 0):
		l.reject("latency", read.NotFinite)
	case ms <= 0:
		l.reject("latency", read.OutOfRange)
	}
	return ms / 1e3
}
