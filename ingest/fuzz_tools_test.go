//go:build duckdb_arrow

package ingest

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzTool gives a reader the small files of its tool, and pieces and twists of
// them; secret words in them must not come out.
func fuzzTool(f *testing.F, folder string, names ...string) {
	for _, path := range toolFiles(f, folder) {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
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

// A tree holds finite numbers alone, and is no deeper than it may be.
func FuzzTree(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1e999, "b": [NaN, -Infinity, "Infinity", "a\"NaN"], "c": {"d": null}}`, "a: .inf\nb: [1, 2.5, x]\n1: {2: y}\n", "a: &x [1]\nb: [*x, *x]\n",
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "? [a]\n: b\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		root, err := treeOf(content)
		if err == nil {
			sound(t, root, 0)
			flatten(map[string]any{}, "", root)
		}
	})
}

func sound(t *testing.T, value any, depth int) {
	if depth > 65 {
		t.Fatal("too deep")
	}
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			sound(t, inner, depth+1)
		}
	case []any:
		for _, inner := range value {
			sound(t, inner, depth+1)
		}
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			t.Fatalf("%v in a tree", value)
		}
	case nil, string, bool:
	default:
		t.Fatalf("a %T in a tree", value)
	}
}

// What Python writes for no number does not break the JSON around it, and texts
// that say the same stay.
func TestWithoutNaN(t *testing.T) {
	got := string(withoutNaN([]byte(`{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN Infinity \"NaN","d":1}`)))
	if want := `{"a":"" ,"b":[""       ,""      ],"c":"NaN Infinity \"NaN","d":1}`; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
