package deployment_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
)

// The list of fields stands once in Go and once in SQL. They must be the same, with the same types.
func TestSQLHasTheSameFields(t *testing.T) {
	text := must.Get(os.ReadFile("../../queries/macros/deployment.sql"))(t)
	_, schema, _ := strings.Cut(string(text), "create macro macros.deployment_fields(asked) as")
	schema, _, _ = strings.Cut(schema, ";")
	types := map[reflect.Kind]string{reflect.String: "VARCHAR", reflect.Int: "BIGINT", reflect.Float64: "DOUBLE"}
	var inSQL, inGo []string
	for _, match := range regexp.MustCompile(`"(\w+)": "(\w+)"`).FindAllStringSubmatch(schema, -1) {
		inSQL = append(inSQL, match[1]+" "+match[2])
	}
	of := reflect.TypeFor[deployment.Deployment]()
	for i, f := range deployment.Fields {
		inGo = append(inGo, f.Name+" "+types[of.Field(i).Type.Kind()])
	}
	slices.Sort(inSQL)
	slices.Sort(inGo)
	if !slices.Equal(inSQL, inGo) {
		t.Errorf("macros.deployment_fields has\n%s\nand deployment.Deployment has\n%s", strings.Join(inSQL, "\n"), strings.Join(inGo, "\n"))
	}
}

func TestFieldsAreReadFromText(t *testing.T) {
	for _, test := range []struct {
		name, field, text, want string // want is JSON of the value, or the error
	}{
		{"a name is taken as it is", "gpu", "NVIDIA H200", `"NVIDIA H200"`},
		{"a count", "tensor_parallel_size", "8", "8"},
		{"a count as spreadsheets write it", "max_num_batched_tokens", "8.0", "8"},
		{"half a GPU", "tensor_parallel_size", "0.5", "0.5 is not a whole number of at least 1"},
		{"no GPU", "data_parallel_size", "0", "0 is not a whole number of at least 1"},
		{"a word", "max_num_seqs", "many", "many is not a number"},
		{"a share", "gpu_memory_utilization", "0.95", "0.95"},
		{"a share in percent", "gpu_memory_utilization", "95", "95: at most 1 is possible"},
		{"a rate with its unit", "hbm_bytes_per_s", "600GB/s", "600000000000"},
		{"a rate in base units", "hbm_bytes_per_s", "3.35e12", "3350000000000"},
		{"a rate without its unit", "hbm_bytes_per_s", "600", "600 is not a bandwidth: write a number and its unit, as 600GB/s for 600e9 bytes a second"},
		{"a size is no rate", "hbm_bytes_per_s", "80GB", "80GB is not a bandwidth: write a number and its unit, as 600GB/s for 600e9 bytes a second"},
	} {
		var d deployment.Deployment
		f := deployment.Named(test.field)
		err := f.Set(&d, test.text)
		got := ""
		if err != nil {
			got = err.Error()
		} else if text, err := json.Marshal(f.Get(d)); err == nil {
			got = string(text)
		}
		if got != test.want {
			t.Errorf("%s: %s %q: got %s, want %s", test.name, test.field, test.text, got, test.want)
		}
	}
}

func TestOnlyWhatIsSaidIsAsked(t *testing.T) {
	d := deployment.Deployment{GPU: "H200", CatalogModel: "deepseek-v3", DataParallelSize: 8, ExpertParallelSize: 8}
	want := `{"catalog_model":"deepseek-v3","data_parallel_size":8,"expert_parallel_size":8,"gpu":"H200"}`
	if got := d.SQL(); got != want {
		t.Errorf("SQL: got %s, want %s", got, want)
	}
	if got := d.GPUs(); got != 8 {
		t.Errorf("GPUs: got %d, want 8: one tensor parallel rank in each of 8 replicas", got)
	}
}

func TestAnEnvironmentFile(t *testing.T) {
	d, err := deployment.Read(strings.NewReader(`{"gpu": "H100", "catalog_model": "llama-3.1-8b", "expert_parallel_size": 2}`))
	if err != nil || d.GPU != "H100" || d.ExpertParallelSize != 2 {
		t.Errorf("got %+v, %v", d, err)
	}
	for text, want := range map[string]string{
		`{"gpu": "H100", "tp": 2}`:        `"tp"`,
		`{"gpu": "H100"} and more`:        "behind the closing brace",
		`{"gpu": 100}`:                    "gpu: a number stands where a text is needed",
		`{"tensor_parallel_size": "two"}`: "tensor_parallel_size: a string stands where a whole number is needed",
	} {
		must.Refuse(deployment.Read(strings.NewReader(text)))(t, want)
	}
}

func TestWhatNoDeploymentCanHave(t *testing.T) {
	for field, d := range map[string]deployment.Deployment{
		"tensor_parallel_size":   {TensorParallelSize: -1},
		"hbm_bytes_per_s":        {HBMBytesPerS: math.NaN()},
		"gpu_memory_utilization": {GPUMemoryUtilization: 1.5},
		"compute_dtype":          {ComputeDtype: "fp7"},
	} {
		if err := d.Check(); err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%+v: got %v, want an error of %s", d, err, field)
		}
	}
	if err := (deployment.Deployment{}).Check(); err != nil {
		t.Errorf("nothing said is right: got %v", err)
	}
}
