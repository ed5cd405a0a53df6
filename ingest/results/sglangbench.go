package results

import (
	"cmp"
	"strings"

	"tidemark/ingest/read"
)

// SGLangBench reads the results of SGLang's bench_serving, which appends one line
// per run. Infinity stands there without quotes, and old lines name neither the
// model nor the day. The client came from vLLM's and shares most of its keys.
var SGLangBench = read.Format{
	Name:  "sglang-bench",
	Sees:  seesSGLang,
	Read:  readSGLang,
	Wants: "backend, dataset_name, request_rate, random_input_len and sharegpt_output_len, a line a run",
}

// seesSGLang asks for lengths of both kinds of data sets, which the client always
// writes.
func seesSGLang(h *read.Head) string {
	keys := resultKeys(h)
	return read.If(read.HasAll(keys, "backend", "dataset_name", "request_rate", "max_concurrency", "sharegpt_output_len", "random_input_len", "random_output_len"), "results of SGLang's bench_serving: backend, dataset_name, random_input_len, sharegpt_output_len")
}

// sglangPointKeys are the keys that have columns of their own.
var sglangPointKeys = []string{
	"tag", "request_rate", "max_concurrency", "duration", "completed", "random_input_len", "random_output_len", "model", "model_id", "server_info",
	"cache_report",
}

// readSGLang reads a run per line, with its requests where details were saved.
func readSGLang(d *read.Document, out *read.Rows) error {
	return resultObjects(d, out, func(number int64, o read.Object, r *requestArrays) error {
		if o.Float("duration") == nil || o.Float("completed") == nil {
			return out.Reject(number, "duration", read.Missing)
		}
		if err := r.addTo(out, number); err != nil {
			return err
		}
		figures, used := vllmFigures(o, out, "ms")
		row := sglangPoint(o, out)
		saysOf(o, r)
		row.Settings = vllmSettings(o, out, append(used, sglangPointKeys...))
		return addPoint(out, row, figures)
	})
}

// sglangPoint reads a run. Of the server's own description (server_info) the words
// that name it are kept.
func sglangPoint(o read.Object, out *read.Rows) Point {
	row := vllmPoint(o, out, "sglang-bench")
	row.Label = o.Word("tag")
	if dataset := o.Word("dataset_name"); dataset != nil && strings.HasPrefix(*dataset, "random") {
		row.InputTokensAsked, row.OutputTokensAsked = o.Float("random_input_len"), o.Float("random_output_len")
	}
	server := o.Object("server_info")
	row.EngineVersion = server.Word("version")
	if row.EngineVersion != nil {
		row.Engine = new("sglang")
	}
	row.Model = cmp.Or(row.Model, o.ModelName("model"), server.ModelName("model_path"), server.ModelName("served_model_name"))
	row.TensorParallelSize = cmp.Or(server.Int32("tp_size"), row.TensorParallelSize)
	return row
}
