package ingest

import (
	"cmp"
	"slices"

	"tidemark/ingest/hardware"
	"tidemark/ingest/metrics"
	"tidemark/ingest/read"
	"tidemark/ingest/results"
	"tidemark/ingest/runs"
	"tidemark/ingest/traces"
)

// formats are the formats of files, in the order in which a file's head is shown to
// them: the first one that recognises it reads it. A new format is one file in its
// wing and one line here.
//
// The marks that a format looks for are its own keys, columns or words, so that nearly
// every file is recognised by one format alone and its place here does not matter.
// Where two formats may recognise the same head, the one that asks for more stands
// first, and a comment says so. TestOneFormatForEachFixture knows all such pairs.
//
// What is not here is a folder: a run (run.json) and a results folder are recognised
// by the names of their files, before any file is opened.
var formats = slices.Concat(
	// By their first bytes: nothing else begins so.
	[]read.Format{parquetFormat, duckDBFormat},
	ofKind("results", results.SQLite),

	// Traces: a line, or a record, is one request of somebody's server.
	ofKind("arrivals",
		traces.Azure,
		traces.LengthList, // Azure's and Vidur's columns, without one of arrivals
		traces.BurstGPT,
		traces.AIPerfTurns, // before Mooncake: the same keys, and "delay" in some lines
		traces.Bailian,     // Mooncake's keys and "chat_id", which Mooncake and AIPerfTurns refuse
		traces.Mooncake,
		traces.AIBrix,
		traces.Dynamo,
		traces.Agentic,
		traces.FreeInference,
		traces.SwissAI,
		traces.TraceLab,
		traces.TraceLabSessions,
		traces.Conversations,
		traces.OTel, // before PrometheusAPI: Jaeger's export has "data", too
		traces.Envoy,
		traces.LiteLLM,
	),

	// Traffic by its distributions, without single requests.
	ofKind("lengths",
		traces.Lengths,
		traces.ServeGenRates,
		traces.ServeGenLengths,
	),

	// Results of other tools.
	ofKind("results",
		results.AIPerf, // before AIPerfRequests: both have "metadata" and "metrics"
		results.AIPerfAdaptive,
		results.AIPerfCSV,
		results.AIPerfPhases,
		results.AIPerfRequests,
		results.AIPerfSearch,
		results.AgentPerfBench,
		results.Argonne,
		results.AutoTune,
		results.BLIS, // with measured times; BLISTrace is the same table without
		results.BLISTrace,
		results.Evalscope,
		results.EvalscopeRequests,
		results.GenAIBench,
		results.GuideLLM,
		results.InferencePerf, // before InferencePerfPrometheus: both have "load_summary" and "successes"
		results.InferencePerfRequests,
		results.InferenceX, // before VLLMBenchServe, whose keys it changes
		results.K6,
		results.LLMDReport,
		results.LLMPerf,
		results.Locust,
		results.LocustRequests,
		results.MLPerf,
		results.Optuna,
		results.SGLangAuto,
		results.SGLangBench, // before VLLMBenchServe, from whose client it came
		results.TraceReplayer,
		results.VLLMBenchLatency,
		results.VLLMBenchServe,
		results.VLLMBenchSweep,
		results.VLLMBenchThroughput,
	),

	// Of Tidemark itself. A run is a folder, see runfolder.go.
	[]read.Format{
		runs.Capacity,
	},

	// What predictions are made from, and what kernels took.
	[]read.Format{
		hardware.GPUs, // before Prices: a table of both is one of GPUs
		hardware.Prices,
		hardware.ModelConfig,
		hardware.KernelTimes,
		hardware.KernelRules,
		hardware.Nsys,
	},

	// Metrics of servers and GPUs.
	ofKind("metrics",
		metrics.AIPerfServerMetrics,
		metrics.AIPerfGPUTelemetry,
		metrics.InferencePerfPrometheus,
		metrics.FPM,
		metrics.EngineCSV, // before NvidiaSMI: a sampler may write both kinds of columns
		metrics.NvidiaSMI,
		metrics.Prometheus,
		metrics.PrometheusAPI,
		metrics.PrometheusCollected,
		metrics.PrometheusDump,
		metrics.PrometheusJSON,
		metrics.VLLMLog,
		metrics.VLLMRequests,
	),

	// Guesses, by marks that other files may have too: a column called Time, columns of
	// any usual name, a title in a log. They must come last.
	ofKind("metrics", metrics.Grafana),
	ofKind("arrivals", traces.Plain),
	ofKind("results", results.VLLMBenchLog),
)

// ofKind gives formats the kind of their sources, unless they say another themselves.
func ofKind(kind string, formats ...read.Format) []read.Format {
	for i := range formats {
		formats[i].Kind = cmp.Or(formats[i].Kind, kind)
	}
	return formats
}
