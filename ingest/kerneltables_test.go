//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

const (
	onH200  = "'VLLM' as framework, '0.24.0' as version, 'NVIDIA H200' as device, 'k' as kernel_source, "
	theGPU  = "NVIDIA H200 vllm 0.24.0"
	joining = " inner join raw.kernel_tables as t on t.seq = x.table_seq and t.source_id = x.source_id order by all"
)

// One row of each operation, as the files have it, and what becomes of it.
func TestKernelTables(t *testing.T) {
	cases := []struct{ why, query, asks, want string }{
		{"milliseconds become seconds", "'gemm' as op_name, 'fp8' as gemm_dtype, 16 as m, 1024 as n, 2048 as k, 0.25e0 as latency",
			"select gpu, engine, engine_version, format, kernel, m, n, k, seconds from raw.gemm_times as x",
			"[[NVIDIA H200 vllm 0.24.0 fp8 k 16 1024 2048 0.00025]]"},
		{"experts", `'moe' as op_name, 'int4_wo' as moe_dtype, 8 as num_tokens, 7168 as hidden_size, 2048 as inter_size, 8 as topk,
			384 as num_experts, 4 as moe_tp_size, 2 as moe_ep_size, 'balanced' as distribution, 1 as latency`,
			`select format, router, tokens, hidden, intermediate, experts_per_token, experts, tensor_parallel_size, expert_parallel_size, seconds from raw.expert_times as x`,
			"[[int4_wo balanced 8 7168 2048 8 384 4 2 0.001]]"},
		{"a decode step adds one token to those cached; a window of 0 is none", `'generation_attention' as op_name, 4 as batch_size, 1 as isl, 127 as step,
			32 as num_heads, 8 as num_key_value_heads, 128 as head_dim, 'bfloat16' as kv_cache_dtype, 0 as window_size, 1 as latency`,
			"select phase, kv_format, batch, new_tokens, past_tokens, query_heads, kv_heads, head_dim, window_tokens, seconds from raw.attention_times as x",
			"[[decode bfloat16 4 1 127 32 8 128  0.001]]"},
		{"prefill; without a window column, and as many KV heads as query heads where the file says 0", `'context_attention' as op_name, 1 as batch_size,
			512 as isl, 64 as step, 32 as num_heads, 0 as num_key_value_heads, 128 as head_dim, 'fp8' as kv_cache_dtype, 1 as latency`,
			"select phase, new_tokens, past_tokens, query_heads, kv_heads, window_tokens from raw.attention_times as x",
			"[[prefill 512 64 32 32 ]]"},
		{"a window", `'context_attention' as op_name, 1 as batch_size, 512 as isl, 0 as step, 32 as num_heads, 8 as num_key_value_heads, 128 as head_dim,
			'fp8' as kv_cache_dtype, 128 as window_size, 1 as latency`,
			"select window_tokens from raw.attention_times as x", "[[128]]"},
		{"MLA", `'mla_generation_module' as op_name, 'm/M' as model, 'fp8_block' as gemm_type, 'fp8' as kv_cache_dtype, 16 as num_heads, 4 as batch_size,
			1 as isl, 128 as step, 2 as latency`,
			"select phase, model, format, kv_format, query_heads, batch, new_tokens, past_tokens, seconds from raw.mla_times as x",
			"[[decode m/M fp8_block fp8 16 4 1 128 0.002]]"},
		{"message sizes count elements of two bytes", `'all_reduce' as op_name, 'bfloat16' as allreduce_dtype, 2 as num_gpus, 8192 as message_size,
			unnest(['vllm_graph', 'vllm_eager']) as backend, 0.5e0 as latency`,
			"select gpus, is_graph, message_bytes, seconds from raw.all_reduce_times as x",
			"[[2 false 16384 0.0005] [2 true 16384 0.0005]]"},
		{"NCCL's collectives, whatever engine was started for them; elements of one or two bytes", `unnest(['alltoall', 'all_gather', 'reduce_scatter', 'all_reduce']) as op_name,
			unnest(['half', 'int8', 'half', 'half']) as nccl_dtype, 8 as num_gpus, 1024 as message_size, 0.5e0 as latency`,
			"select operation, gpus, message_bytes, seconds from raw.exchange_times as x",
			"[[all_gather 8 1024 0.0005] [all_reduce 8 2048 0.0005] [all_to_all 8 2048 0.0005] [reduce_scatter 8 2048 0.0005]]"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := open(t)
			result := load(t, w, parquet(t, "select "+onH200+c.query), ingest.Options{})
			if got := fmt.Sprint(table(t, w, c.asks+joining)); got != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			notes := strings.Join(result.Notes, "\n")
			isOfItsEngine := strings.Contains(notes, "NVIDIA H200, vllm 0.24.0") || strings.Contains(notes, "NVIDIA H200, nccl 0.24.0")
			if got := fmt.Sprint(table(t, w, "select kind from raw.sources")); got != "[[kernel times]]" || !isOfItsEngine {
				t.Errorf("got kind %s, notes %q", got, result.Notes)
			}
			answers(t, w, "select count(*) from checks.rows_add_up", "0")
		})
	}
}

// As CSV, of two versions; what cannot be read has its line and column.
func TestKernelTableCSV(t *testing.T) {
	w := open(t)
	result := load(t, w, "../fixtures/kernels/moe_perf.csv", ingest.Options{MaxRejectedRatio: 1})
	if result.Format != "kernel-times" || result.RowsKept != 2 || result.RowsRejected != 3 {
		t.Errorf("got %+v", result)
	}
	got := fmt.Sprint(table(t, w, "select gpu, engine, engine_version, format, tokens, tensor_parallel_size, router, seconds from staging.expert_times where source <> 'built in' order by all"))
	if want := "[[H100 vllm 0.19.0 bf16 1 1 balanced 5e-05] [H100 vllm 0.19.1 mxfp4 1 2 power_law_1.01 2.5e-05]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = fmt.Sprint(table(t, w, "select line, column_name, reason from raw.rejects order by line"))
	if want := "[[4 latency missing] [5 num_tokens not an integer] [6 latency out of range]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A folder goes in at once; a table of an operation that nothing reads is passed
// over there and refused by itself.
func TestKernelTableFolder(t *testing.T) {
	folder := t.TempDir()
	for name, operation := range map[string]string{"a": "gemm", "b": "nccl"} {
		path := parquet(t, "select "+onH200+"'"+operation+"' as op_name, 'fp8' as gemm_dtype, 16 as m, 1024 as n, 2048 as k, 0.25e0 as latency")
		must.Do(t, os.Rename(path, filepath.Join(folder, name+".parquet")))
	}
	w := open(t)
	results, err := ingest.Load(t.Context(), w, []string{folder}, ingest.Options{})
	if err != nil || len(results) != 2 || results[0].RowsKept+results[1].RowsKept != 1 {
		t.Errorf("got %+v, %v", results, err)
	}
	err = refused(t, open(t), filepath.Join(folder, "b.parquet"), ingest.Options{}, "an operation that no prediction reads")
	must.Say(t, hint.Of(err), "gemm")
}
