//go:build duckdb_arrow

package ingest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// fuzzTool gives a reader the small files of its tool, and pieces and twists of
// them; secret words in them must not come out.
func fuzzTool(f *testing.F, folder string, names ...string) {
	for _, path := range toolFiles(f, folder) {
		content := must.Get(os.ReadFile(path))(f)
		f.Add(content)
		f.Add(content[:len(content)*2/3])
		f.Add(bytes.ReplaceAll(content, []byte("0"), []byte("9e99")))
		f.Add(bytes.ReplaceAll(content, []byte(":"), []byte(":[")))
		f.Add(bytes.ReplaceAll(content, []byte("null"), []byte("NaN")))
		f.Add(bytes.ReplaceAll(content, []byte(","), []byte(",\"")))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range names {
			readAll(t, named(name), content)
		}
	})
}

func toolFiles(f *testing.F, folder string) (paths []string) {
	err := filepath.WalkDir(filepath.Join("..", "fixtures", "tools", folder), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasSuffix(path, ".want.txt") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		f.Fatalf("%s: %d files, %v", folder, len(paths), err)
	}
	return paths
}

func FuzzGuideLLM(f *testing.F) { fuzzTool(f, "guidellm", "guidellm") }

func FuzzInferencePerf(f *testing.F) {
	fuzzTool(f, "inference-perf", "inference-perf", "inference-perf-requests")
}

func FuzzInferencePerfGoodput(f *testing.F) { fuzzTool(f, "inference-perf-goodput", "inference-perf") }

func FuzzAgentPerf(f *testing.F) { fuzzTool(f, "agentperf", "agentperfbench") }

func FuzzMLPerf(f *testing.F) { fuzzTool(f, "mlperf", "mlperf-loadgen") }

func FuzzLLMD(f *testing.F) { fuzzTool(f, "llm-d", "llm-d-report") }

func FuzzBLIS(f *testing.F) { fuzzTool(f, "blis", "blis", "blis-trace") }

func FuzzLocust(f *testing.F) { fuzzTool(f, "locust", "locust", "locust-requests") }

func FuzzOptuna(f *testing.F) { fuzzTool(f, "optuna", "optuna") }

func FuzzLLMPerf(f *testing.F) { fuzzTool(f, "llmperf", "llmperf") }

func FuzzGenAIBench(f *testing.F) { fuzzTool(f, "genai-bench", "genai-bench") }

func FuzzAutoTune(f *testing.F) { fuzzTool(f, "auto-tune", "auto-tune", "vllm-bench-log") }

func FuzzEvalscope(f *testing.F) {
	fuzzTool(f, "evalscope", "evalscope", "evalscope-requests", "sqlite")
}

func FuzzTraceReplayer(f *testing.F) { fuzzTool(f, "trace-replayer", "trace-replayer") }

func FuzzK6(f *testing.F) { fuzzTool(f, "k6", "k6") }

func FuzzAIPerfSearch(f *testing.F) {
	fuzzTool(f, "aiperf-search", "aiperf-search", "aiperf-adaptive-scale", "aiperf-phases")
}

func FuzzSGLangAuto(f *testing.F) { fuzzTool(f, "sglang-auto", "sglang-auto-benchmark") }
