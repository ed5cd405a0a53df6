package analysis_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

func TestReadPoints(t *testing.T) {
	for _, test := range []struct{ what, file, text, hint string }{
		{"nothing at all", "", "it is empty", ""},
		{"a quote that is never closed", "gpu,model\nH100,\"a\nH100,b\n", "line 2: a quote that is not closed", "twice"},
		{"a quote inside a cell", "gpu,model\nH100,a\"b\n", "line 2: a quote inside a cell", "twice"},
		{"the same name twice", "gpu,model, GPU\n", `line 1: two columns are named "gpu"`, "rename"},
	} {
		_, err := analysis.ReadPoints(strings.NewReader(test.file))
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v, want %q", test.what, err, test.text)
		} else if test.hint != "" {
			must.Fail(t, err, test.text, test.hint)
		}
	}

	points := must.Get(analysis.ReadPoints(strings.NewReader("\ufeffGPU, tp ,note\r\nH100,2,\"two\nlines, and a \"\"quote\"\"\"\r\n\r\nH200,4,\r\n")))(t)
	if len(points.Rows) != 2 || points.Rows[0][2] != "two\nlines, and a \"quote\"" || points.Lines[1] != 5 {
		t.Errorf("ReadPoints: got %q in lines %v", points.Rows, points.Lines)
	}
}

// What one row says, over what holds for all.
func TestPointOfARow(t *testing.T) {
	base := analysis.Point{Load: analysis.Load{Clients: 7, InputTokens: 100, OutputTokens: 10}}
	base.Engine, base.GPU = "sglang", "H100"
	rate := 0.5
	for _, test := range []struct {
		what, header, row string
		want              func(*analysis.Point)
		err               string
	}{
		{"nothing said keeps the base", "gpu,note", ",x", func(p *analysis.Point) {}, ""},
		{"the mean that was drawn goes before the nominal length", "input_len,input_len_mean,output_len", "1000,921.6,50",
			func(p *analysis.Point) { p.InputTokens, p.OutputTokens = 921.6, 50 }, ""},
		{"the nominal one where no mean is known", "input_len,input_len_mean", "1000,", func(p *analysis.Point) { p.InputTokens = 1000 }, ""},
		{"engines by their other names", "engine,weight_precision,kv_precision", "TRTLLM,fp8,fp8",
			func(p *analysis.Point) { p.Engine, p.Quantization, p.KVCacheDtype = "tensorrt-llm", "fp8", "fp8" }, ""},
		{"a rate takes the place of clients", "request_rate", "2.5", func(p *analysis.Point) { p.Clients, p.RequestsPerS = 0, 2.5 }, ""},
		{"an endless rate beside clients is a closed loop", "request_rate,max_concurrency", "inf,16", func(p *analysis.Point) { p.Clients = 16 }, ""},
		{"both, and the table says which", "request_rate,concurrency,load", "3,16,open-loop", func(p *analysis.Point) { p.Clients, p.RequestsPerS = 0, 3 }, ""},
		{"both, and nobody says which", "request_rate,concurrency", "3,16", nil, "both a concurrency and a request rate"},
		{"GPUs are tensor parallel where nothing else is said", "gpu_count,dp", "8,2",
			func(p *analysis.Point) { p.TensorParallelSize, p.DataParallelSize = 4, 2 }, ""},
		{"a count as a float", "tp,max_num_seqs", "2.0,None", func(p *analysis.Point) { p.TensorParallelSize = 2 }, ""},
		{"speculation", "num_speculative_tokens,acceptance_rate", "3,0.5", func(p *analysis.Point) { p.Drafts, p.AcceptanceRate = 3, &rate }, ""},
		{"half a GPU", "tp", "0.5", nil, "tensor_parallel_size: 0.5 is not a whole number"},
		{"a batch of 0", "concurrency", "0", nil, "concurrency: 0, more than 0 is needed"},
		{"no number", "concurrency", "NaN", nil, "concurrency: NaN is not a number"},
		{"an answer of no tokens", "output_len", "0", nil, "output tokens: 0, more than 0 is needed"},
		{"a prompt of less than none", "input_len", "-3", nil, "input tokens: -3, more than 0 is needed"},
		{"a cell less", "engine,tp,dp", "vllm,2", nil, "line 2: 2 cells, 3 are named"},
		{"a cell more", "tp", "2,3", nil, "line 2: 2 cells, 1 are named"},
		{"one cell of two", "tp,dp", "2", nil, "line 2: 1 cell, 2 are named"},
		{"an engine of no constants", "engine", "tgi", nil, `no engine named "tgi": known are vllm, sglang, tensorrt-llm`},
		{"drafts kept of none", "acceptance_rate", "0.7", nil, "an acceptance rate of 0.7 without speculative tokens"},
		{"none kept of none", "acceptance_rate", "0", func(p *analysis.Point) { p.AcceptanceRate = new(0e0) }, ""},
		{"text for a number", "input_len", "many", nil, "input tokens: many is not a number"},
	} {
		points := must.Get(analysis.ReadPoints(strings.NewReader(test.header + "\n" + test.row + "\n")))(t)
		got, err := points.Point(0, base)
		if test.err != "" {
			must.Fail(t, err, test.err, "")
			continue
		}
		want := base
		test.want(&want)
		if got.AcceptanceRate != nil && want.AcceptanceRate != nil && *got.AcceptanceRate == *want.AcceptanceRate {
			got.AcceptanceRate = want.AcceptanceRate
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.what, got, err, want)
		}
	}
}

func TestMeasuredOfARow(t *testing.T) {
	for _, test := range []struct {
		header, row string
		want        float64
	}{
		{"tpot_ms", "13.5", 13.5e-3},
		{"tpot_s,tpot_ms", "0.012,13.5", 0.012},
		{"tpot_s,tpot_ms", ",13.5", 13.5e-3},
		{"mean_tpot_ms", "0", math.NaN()},
		{"tpot_ms", "nan", math.NaN()},
		{"mean_tpot_ms", "-4", math.NaN()},
		{"tpot_s,tpot_ms", "0,13.5", 13.5e-3},
		{"tpot_ms,gpu", "13.5", math.NaN()},
		{"gpu", "H100", math.NaN()},
	} {
		points := must.Get(analysis.ReadPoints(strings.NewReader(test.header + "\n" + test.row + "\n")))(t)
		if got := points.TPOT(0); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("TPOT of %s %s: got %v, want %v", test.header, test.row, got, test.want)
		}
	}
}

// A column that is nearly one of ours would silently be the default.
func TestColumnsOfPointsAreReadOrNamed(t *testing.T) {
	read := func(text string) (*analysis.Points, error) { return analysis.ReadPoints(strings.NewReader(text)) }
	const row = "H100,llama-3.1-8b,600GB/s,128,100,50,4,mine\n"
	points := must.Get(read("gpu,model,hbm-bandwidth,--max-num-seqs,Input-Len,output_len,concurrency,note\n" + row))(t)
	if p, err := points.Point(0, analysis.Point{}); err != nil || p.HBMBytesPerS != 600e9 || p.MaxNumSeqs != 128 || p.InputTokens != 100 {
		t.Errorf("got %+v, %v", p, err)
	}
	if !slices.Equal(points.Unused, []string{"note"}) {
		t.Errorf("unused %q, want note", points.Unused)
	}
	for text, want := range map[string]string{
		"gpu,model,kv_cache_dtyp,input_len,output_len,concurrency\n" + row: `no column "kv_cache_dtyp"`,
		"gpu;model;input_len;output_len;concurrency\n" + row:               "separated by semicolons",
		"\xff\xfeg\x00p\x00u\x00\n\x00":                                    "UTF-16",
		"gpu,model,input_len,output_len,concurrency\n":                     "a header and no rows",
		"gpu,GPU\n" + row:                   "two columns are named",
		"max-num-seqs,max_num_seqs\n" + row: "two columns are named",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) || !hint.IsMisuse(err) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	points = must.Get(read("gpu,model,concurrency,tpot_ms\nH100,llama-3.1-8b,4,9\n"))(t)
	if err := points.CheckColumns(analysis.Point{}); err == nil || !hint.IsMisuse(err) || !strings.Contains(err.Error(), "input_len, output_len") {
		t.Errorf("got %v", err)
	}
}
