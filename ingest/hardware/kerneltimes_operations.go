package hardware

import (
	"math"
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// What a line of kernel times means depends on its operation: each has its own
// columns, and its own table in the warehouse.

// kernelLine reads the cells of one line.
type kernelLine struct {
	*read.Sheet
	seq int32 // of its kernelTableRow
}

// kernelOperations make a row of a line, by its op_name.
var kernelOperations = map[string]func(kernelLine) read.Row{
	"gemm":                  gemmTime,
	"moe":                   expertTime,
	"generation_attention":  func(l kernelLine) read.Row { return attentionTime(l, "decode") },
	"context_attention":     func(l kernelLine) read.Row { return attentionTime(l, "prefill") },
	"mla_generation_module": func(l kernelLine) read.Row { return mlaTime(l, "decode") },
	"mla_context_module":    func(l kernelLine) read.Row { return mlaTime(l, "prefill") },
	"all_reduce":            allReduceTime,
	"all_gather":            func(l kernelLine) read.Row { return exchangeTime(l, "all_gather") },
	"reduce_scatter":        func(l kernelLine) read.Row { return exchangeTime(l, "reduce_scatter") },
	"alltoall":              func(l kernelLine) read.Row { return exchangeTime(l, "all_to_all") },
}

// gemmTime reads a matrix product.
func gemmTime(l kernelLine) read.Row {
	return gemmTimeRow{
		TableSeq: l.seq, Format: l.Word("gemm_dtype"), Kernel: l.kernel(),
		M: l.count("m"), N: l.count("n"), K: l.count("k"), Seconds: l.seconds(),
	}
}

// expertTime reads a mixture of experts. Its distribution is how the router spreads
// tokens over experts: balanced, or by a power law.
func expertTime(l kernelLine) read.Row {
	return expertTimeRow{
		TableSeq: l.seq, Format: l.Word("moe_dtype"), Kernel: l.kernel(), Router: l.Word("distribution"), Tokens: l.count("num_tokens"),
		Hidden: l.count("hidden_size"), Intermediate: l.count("inter_size"), Experts: l.count("num_experts"), ExpertsPerToken: l.count("topk"),
		TensorParallelSize: l.count("moe_tp_size"), ExpertParallelSize: l.count("moe_ep_size"), Seconds: l.seconds(),
	}
}

// attentionTime reads attention. No number of key-value heads means as many as
// query heads; no window means the whole context.
func attentionTime(l kernelLine, phase string) read.Row {
	added, past := l.newAndPast(phase)
	row := attentionTimeRow{
		TableSeq: l.seq, Phase: phase, Kernel: l.kernel(), KVFormat: l.Word("kv_cache_dtype"), Batch: l.count("batch_size"),
		NewTokens: added, PastTokens: past,
		QueryHeads: l.count("num_heads"), KVHeads: l.Whole("num_key_value_heads"), HeadDim: l.count("head_dim"), Seconds: l.seconds(),
	}
	if row.KVHeads == 0 { // as many as query heads
		row.KVHeads = row.QueryHeads
	}
	if l.Text("window_size") != "" {
		row.WindowTokens = maybe.Known(l.Whole("window_size"))
	}
	return row
}

// mlaTime reads latent attention, whose cache has one compressed head.
func mlaTime(l kernelLine, phase string) read.Row {
	added, past := l.newAndPast(phase)
	return mlaTimeRow{
		TableSeq: l.seq, Phase: phase, Kernel: l.kernel(), Model: l.Word("model"), Format: l.Word("gemm_type"), KVFormat: l.Word("kv_cache_dtype"),
		QueryHeads: l.count("num_heads"), Batch: l.count("batch_size"), NewTokens: added, PastTokens: past, Seconds: l.seconds(),
	}
}

// newAndPast tells the tokens that a sequence adds from those in its cache. A
// decode step adds one: what "isl" counts beyond it is cached already.
func (l kernelLine) newAndPast(phase string) (added, past int64) {
	added, past = l.count("isl"), l.Whole("step")
	if phase == "decode" {
		return 1, past + added - 1
	}
	return added, past
}

// elementSizes are the bytes of the formats that are sent between GPUs.
var elementSizes = map[string]int64{"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "int8": 1}

// allReduceTime reads an all-reduce of an engine's own kernels, or one of NCCL.
func allReduceTime(l kernelLine) read.Row {
	if l.Text("nccl_dtype") != "" {
		return exchangeTime(l, "all_reduce")
	}
	backend := l.Word("backend")
	isGraph := strings.HasSuffix(backend, "graph")
	if !isGraph && !strings.HasSuffix(backend, "eager") {
		l.Wrong("backend", read.NotAKnownWord)
	}
	return allReduceTimeRow{
		TableSeq: l.seq, Kernel: l.kernel(), GPUs: l.count("num_gpus"), IsGraph: isGraph,
		MessageBytes: l.messageBytes("allreduce_dtype"), Seconds: l.seconds(),
	}
}

// exchangeTime reads one collective of NCCL, as its own tests time it: message_size is
// of the larger buffer of one GPU.
func exchangeTime(l kernelLine, operation string) read.Row {
	return exchangeTimeRow{
		TableSeq: l.seq, Operation: operation, Kernel: l.kernel(), GPUs: l.count("num_gpus"),
		MessageBytes: l.messageBytes("nccl_dtype"), Seconds: l.seconds(),
	}
}

// messageBytes is message_size in bytes; files count elements of the format.
func (l kernelLine) messageBytes(format string) int64 {
	size, known := elementSizes[l.Word(format)]
	if !known {
		l.Wrong(format, read.NotAKnownWord)
	}
	return size * l.count("message_size")
}

// kernel is the library that the kernel came from.
func (l kernelLine) kernel() string { return kernelName(l.Word("kernel_source")) }

// count is a number of things, at least one.
func (l kernelLine) count(column string) int64 {
	number := l.Whole(column)
	if number == 0 {
		l.Wrong(column, read.OutOfRange)
	}
	return number
}

// seconds is the time, which files write in milliseconds.
func (l kernelLine) seconds() float64 {
	text := l.Text("latency")
	ms, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		l.Wrong("latency", read.Missing)
	case err != nil:
		l.Wrong("latency", read.NotANumber)
	case math.IsNaN(ms) || math.IsInf(ms, 0):
		l.Wrong("latency", read.NotFinite)
	case ms <= 0:
		l.Wrong("latency", read.OutOfRange)
	}
	return ms / 1e3
}
