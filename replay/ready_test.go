package replay

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/vllmsim"
	"tidemark/replay/plan"
)

// Gateways hang up on paths that they do not let through: what a server need not answer ends no run.
func TestAProbeThatIsHungUpOnIsNoAnswer(t *testing.T) {
	for _, endpoint := range []string{completionsPath, chatPath} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t, well(0))
			hangUp := func(w http.ResponseWriter, r *http.Request) { hijack(w).Close() }
			fake.others = map[string]http.HandlerFunc{
				"/tokenize": hangUp, "/detokenize": hangUp, "/reset_prefix_cache": hangUp, "/version": hangUp, "/server_info": hangUp,
			}
			s := settingsFor(fake.URL)
			s.Endpoint, s.Cache = endpoint, cacheReset
			folder := filepath.Join(t.TempDir(), "run")
			result, err := Run(t.Context(), planOf(t, every(0, 2, 20, 3)), s, folder)
			if err != nil || result.Completed != 2 {
				t.Fatalf("%+v, %v", result, err)
			}
			d := documentIn(t, folder)
			if d.Readiness.Cache.Method != "salt_per_run" || endpoint == chatPath && d.Prompts.CountedBy != "assumed" {
				t.Errorf("%+v, %+v", d.Readiness.Cache, d.Prompts)
			}
		})
	}
}

// What a server says otherwise than it was named is told before anything is sent, and kept. Limits that nobody named are
// our own defaults, and a layout is no format.
func TestADeploymentThatIsAnotherIsToldBeforeItIsSent(t *testing.T) {
	fake := newFake(t, well(0))
	fake.probe = status(200, `{"data":[{"id":"tiny","root":"meta-llama/Llama-3.1-8B-Instruct","max_model_len":4096}]}`)
	fake.info = `{"vllm_config":{"model_config":{"dtype":"torch.bfloat16","quantization":null},"cache_config":{"cache_dtype":"auto"},
		"scheduler_config":{"max_num_seqs":64,"max_num_batched_tokens":2048},"parallel_config":{"tensor_parallel_size":2}}}`
	for _, c := range []struct {
		name, info string
		named      Environment
		want       []string
	}{
		{"as named", fake.info, Environment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 2, Quantization: "bf16", KVCacheDtype: "bf16", MaxNumSeqs: 64, EngineVersion: "0.32"}, nil},
		{"another", fake.info, Environment{GPU: "H200", CatalogModel: "llama-3.1-70b", TensorParallelSize: 1, Quantization: "fp8", KVCacheDtype: "fp8", MaxNumSeqs: 256, EngineVersion: "0.3"},
			[]string{"catalog_model is llama-3.1-8b at URL, and llama-3.1-70b was named", "tensor_parallel_size is 2 at URL, and 1 was named",
				"quantization is bfloat16 at URL, and fp8 was named", "kv_cache_dtype is bfloat16 at URL, and fp8 was named",
				"engine_version is 0.32.0 at URL, and 0.3 was named", "max_num_seqs is 64 at URL, and 256 was named"}},
		{"experts and replicas", `{"vllm_config":{"parallel_config":{"tensor_parallel_size":1,"data_parallel_size":8,"enable_expert_parallel":true}}}`,
			Environment{GPU: "H200", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, DataParallelSize: 8}, []string{"expert_parallel_size is 8 at URL, and 1 was named"}},
		{"simulated", `{"tidemark_simulated":true,"simulates":{"gpu":"H100","catalog_model":"llama-3.1-8b","tensor_parallel_size":1,"quantization":"bf16"}}`,
			Environment{GPU: "H200", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Quantization: "bf16"}, []string{"gpu is H100 at URL, and H200 was named"}},
		{"a layout", `{"vllm_config":{"model_config":{"dtype":"bfloat16","quantization":"compressed-tensors"}}}`,
			Environment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Quantization: "fp8"}, nil},
	} {
		fake.info = c.info
		s := settingsFor(fake.URL)
		s.Environment, s.Named = &c.named, c.named
		s.CatalogName = func(served string) string {
			return map[string]string{"meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b"}[served]
		}
		var told []string
		s.Tell = func(text string) {
			if len(fake.bodies) > 0 {
				t.Errorf("%s: told after something was sent", c.name)
			}
			told = append(told, strings.ReplaceAll(strings.TrimPrefix(text, "not what was named: "), fake.URL, "URL"))
		}
		folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
		fake.bodies = nil
		if !slices.Equal(told, c.want) || len(documentIn(t, folder).Readiness.Differences) != len(c.want) {
			t.Errorf("%s: told %q, want %q", c.name, told, c.want)
		}
	}
}

// refusedRun runs a plan that must not begin: an error with a hint, no folder, nothing sent.
func refusedRun(t *testing.T, plan *plan.Plan, s Settings, want string, fakes ...*fakeVLLM) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	_, err := Run(t.Context(), plan, s, folder)
	if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
		t.Errorf("got %v; want %q, with a hint", err, want)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("left a folder")
	}
	for _, fake := range fakes {
		if len(fake.bodies) > 0 {
			t.Error("something was sent")
		}
	}
}

// load is an exposition of two gauges.
func load(running, waiting int64) string {
	return fmt.Sprintf("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} %d\n"+
		"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{engine=\"0\"} %d\n", running, waiting)
}

func TestARunWaitsUntilTheServersAreIdleTwiceInARow(t *testing.T) {
	t.Parallel()
	fake, other := newFake(t, well(0)), newFake(t, well(0))
	loads := []string{load(2, 1), load(0, 0), load(0, 3), load(0, 0), load(0, 0)}
	var looks atomic.Int64
	fake.metrics = func() string { return loads[min(looks.Add(1), int64(len(loads)))-1] }
	s := settingsFor(fake.URL)
	s.BaseURLs = append(s.BaseURLs, other.URL)
	s.DrainTimeout = time.Minute
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
	r := documentIn(t, folder).Readiness
	if looks.Load() < 5 || r.IsDrained == nil || !*r.IsDrained || *r.RunningBefore != 2 || *r.WaitingBefore != 1 || r.WaitedS < 4*drainEvery.Seconds() {
		t.Errorf("%d looks, %+v", looks.Load(), r)
	}
}

func TestAServerThatStaysBusyIsNotSentTo(t *testing.T) {
	t.Parallel()
	fake := newFake(t, well(0))
	fake.metrics = func() string { return load(3, 1) }
	s := settingsFor(fake.URL)
	s.DrainTimeout = 300 * time.Millisecond
	refusedRun(t, planOf(t, every(0, 1, 9, 3)), s, "still runs 3 requests and has 1 waiting", fake)

	s.DrainTimeout = 0 // only look
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
	if r := documentIn(t, folder).Readiness; r.IsDrained == nil || *r.IsDrained || *r.RunningBefore != 3 || r.WaitedS != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWhetherAServerIsIdleMayBeUnknown(t *testing.T) {
	for what, metrics := range map[string]string{"no such gauge": "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 3\n", "no metrics": ""} {
		fake := newFake(t, well(0))
		fake.metrics = func() string { return metrics }
		s := settingsFor(fake.URL)
		s.DrainTimeout = time.Minute
		if metrics == "" {
			s.MetricsURLs = []string{fake.URL + "/nothing"}
		}
		folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
		if r := documentIn(t, folder).Readiness; r.IsDrained != nil || r.RunningBefore != nil || r.WaitedS != 0 {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func TestTheCacheIsEmptiedOrKeptApart(t *testing.T) {
	resets := 0
	for _, c := range []struct {
		what, asked string
		reset       http.HandlerFunc
		method      string
		salts       int // different ones of three requests
	}{
		{"as it is", "", nil, "none", 0},
		{"reset", "reset", status(200, `{"success":true}`), "reset", 0},
		{"reset by an older version", "reset", status(200, ""), "reset", 0},
		{"reset at the second try", "reset", func(w http.ResponseWriter, r *http.Request) {
			resets++
			fmt.Fprintf(w, `{"success":%t}`, resets > 1)
		}, "reset", 0},
		{"no such endpoint", "reset", nil, "salt_per_run", 1},
		{"not by this method", "reset", status(405, ""), "salt_per_run", 1},
		{"cold", "cold", nil, "salt_per_request", 3},
	} {
		fake := newFake(t, well(0))
		if c.reset != nil {
			fake.others = map[string]http.HandlerFunc{"/reset_prefix_cache": c.reset}
		}
		s := settingsFor(fake.URL)
		s.Cache = c.asked
		folder := ran(t, planOf(t, every(0, 3, 9, 3)), s)
		r, salts := documentIn(t, folder).Readiness.Cache, map[string]bool{}
		for _, body := range fake.bodies {
			if body.CacheSalt != "" {
				salts[body.CacheSalt] = true
			}
			if !strings.HasPrefix(body.CacheSalt, r.Salt) || len(body.CacheSalt) > 128 || strings.Trim(body.CacheSalt, "0123456789abcdef") != "" {
				t.Errorf("%s: salt %q of %q", c.what, body.CacheSalt, r.Salt)
			}
		}
		if r.Asked != c.asked || r.Method != c.method || len(salts) != c.salts || (r.Note != "") != (c.method == "salt_per_run") {
			t.Errorf("%s: %+v, %d salts", c.what, r, len(salts))
		}
	}
}

// One of two replicas cannot empty its cache: a salt keeps the run apart on both.
func TestEveryReplicaIsReset(t *testing.T) {
	one, two := newFake(t, well(0)), newFake(t, well(0))
	one.others = map[string]http.HandlerFunc{"/reset_prefix_cache": status(200, `{"success":true}`)}
	s := settingsFor(one.URL)
	s.BaseURLs, s.Cache = append(s.BaseURLs, two.URL), "reset"
	folder := ran(t, planOf(t, every(0, 4, 9, 3)), s)
	r := documentIn(t, folder).Readiness.Cache
	if r.Method != "salt_per_run" || !strings.Contains(r.Note, two.URL) || !strings.Contains(r.Note, "404") {
		t.Errorf("%+v", r)
	}
	for _, body := range append(one.bodies, two.bodies...) {
		if body.CacheSalt != r.Salt || r.Salt == "" {
			t.Errorf("salt %q, want %q", body.CacheSalt, r.Salt)
		}
	}
}

// cachedOf runs requests that share twice, and sums up what each run was given from the cache.
func cachedOf(t *testing.T, base, cache string) (sums []int64) {
	t.Helper()
	s := settingsFor(base)
	s.Cache, s.MaxConcurrency = cache, 1
	for range 2 {
		result, _, err := replayed(t, planOf(t, plan.Each(sharing())), s)
		if err != nil || result.Completed != 4 {
			t.Fatalf("%+v, %v", result, err)
		}
		sums = append(sums, result.CachedTokensReported)
	}
	return sums
}

// What is planned to be shared within a run are 512 + 1,024 tokens. A second run on a warm cache is given all whole blocks
// ahead of each prompt's last token: 4 x 68 x 16.
func TestColdAndResetRunsShareWhatTheyShould(t *testing.T) {
	t.Parallel()
	for cache, want := range map[string]string{"": "[1536 4352]", "reset": "[1536 1536]", "cold": "[0 0]"} {
		if got := fmt.Sprint(cachedOf(t, simulated(t, nil), cache)); got != want {
			t.Errorf("cache %q: cached tokens %v, want %v", cache, got, want)
		}
	}
}

func TestAColdRunThatWasGivenCachedTokensSaysSo(t *testing.T) {
	fake := newFake(t, events(tokenChunk(1, "length"), strings.Replace(usageChunk(9, 1), `"cached_tokens":0`, `"cached_tokens":8`, 1), "[DONE]"))
	s := settingsFor(fake.URL)
	s.Cache = "cold"
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, every(0, 2, 9, 1)), s, folder)
	if err != nil || result.CachedTokensReported != 16 {
		t.Fatalf("%+v, %v", result, err)
	}
	if d := documentIn(t, folder); !strings.Contains(d.Readiness.Cache.Note, "reports 16 cached tokens") {
		t.Errorf("%+v", d.Readiness)
	}
}

// spelling answers /detokenize as a tokenizer of so many ids, the last of them without text, as vLLM does.
func spelling(size int, asked *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var tokens struct{ Tokens []int }
		decodeBody(r, &tokens)
		text := ""
		for _, id := range tokens.Tokens {
			if id < size {
				text += "x"
			}
		}
		fmt.Fprintf(w, `{"prompt":%q}`, text)
	}
}

func TestTokenIdsBeyondTheVocabularyAreFoundBeforeTheRun(t *testing.T) {
	plan := planOf(t, every(0, 1, 9, 3))
	for _, c := range []struct {
		what       string
		info       string
		size, asks int
		high, want int // 0: refused
	}{
		{"the default in a large vocabulary", "", 128_000, 1, 0, 8192},
		{"the default in a small one", "", 4096, 20, 0, 4096},
		{"a model with some ids more than its tokenizer", "", 151_700, 2, 152_064, 152_064},
		{"too many", "", 32_000, 30, 128_000, 0},
		{"too many by what the server says", `{"vllm_config":{"model_config":{"vocab_size":32000}}}`, 0, 0, 128_000, 0},
		{"a server that spells nothing", "", 0, 3, 128_000, 128_000},
	} {
		var asked atomic.Int64
		fake := newFake(t, well(0))
		fake.info = c.info
		fake.others = map[string]http.HandlerFunc{"/detokenize": spelling(c.size, &asked)}
		s := settingsFor(fake.URL)
		s.VocabHigh = c.high
		if c.want == 0 {
			refusedRun(t, plan, s, "ends at 32000", fake)
			continue
		}
		folder := ran(t, plan, s)
		if d := documentIn(t, folder); d.Settings.VocabHigh != c.want || asked.Load() > int64(c.asks) {
			t.Errorf("%s: ids up to %d, want %d; %d questions", c.what, d.Settings.VocabHigh, c.want, asked.Load())
		}
	}
}

func TestAPlanThatNoServerCanHoldIsRefused(t *testing.T) {
	fake, small := newFake(t, well(0)), newFake(t, well(0))
	small.probe = status(200, `{"data":[{"id":"other"},{"id":"tiny","max_model_len":2048}]}`)
	s := settingsFor(fake.URL)
	s.BaseURLs = append(s.BaseURLs, small.URL)
	refusedRun(t, planOf(t, every(0, 1, 2046, 3)), s, "longest request has 2049 tokens, tiny at "+small.URL+" holds 2048", fake, small)
	if result, _, err := replayed(t, planOf(t, every(0, 2, 2045, 3)), s); err != nil || result.Completed != 2 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestEveryServerIsAskedAndTheirDifferencesAreSaid(t *testing.T) {
	one, two := newFake(t, well(0)), newFake(t, well(0))
	two.others = map[string]http.HandlerFunc{"/version": status(200, `{"version":"0.31.0"}`)}
	s := settingsFor(one.URL)
	s.Routes = map[string]string{"P0": two.URL + "/v1/"}
	folder := ran(t, planOf(t, every(0, 2, 9, 3)), s)
	d := documentIn(t, folder)
	if len(d.Servers) != 2 || d.Servers[1].BaseURL != two.URL || d.Servers[1].Version != "0.31.0" || d.Server.Version != "0.32.0" ||
		d.Target.Routes["P0"] != two.URL || len(d.Readiness.Notes) != 1 ||
		!strings.Contains(d.Readiness.Notes[0], "engine_version differs: 0.32.0 at "+one.URL+", 0.31.0 at "+two.URL) {
		t.Errorf("%+v %+v %+v", d.Servers, d.Target, d.Readiness)
	}
	two.probe = status(200, `{"data":[{"id":"other"}]}`)
	refusedRun(t, planOf(t, every(0, 2, 9, 3)), s, two.URL+` does not serve the model "tiny"`)
}

func TestAModelThatChangesInTheMiddleEndsTheRun(t *testing.T) {
	for what, later := range map[string]string{
		"has changed its model: tiny was tiny of 4096 tokens and is now /models/b of 4096": `{"data":[{"id":"tiny","root":"/models/b","max_model_len":4096}]}`,
		"no longer serves the model tiny":                                                  `{"data":[{"id":"other"}]}`,
	} {
		fake := newFake(t, well(5*time.Millisecond))
		var looks atomic.Int64
		fake.probe = func(w http.ResponseWriter, r *http.Request) {
			text := `{"data":[{"id":"tiny","max_model_len":4096}]}`
			if looks.Add(1) > 2 { // the first two are before the run
				text = later
			}
			fmt.Fprint(w, text)
		}
		s := settingsFor(fake.URL)
		s.watch = 50 * time.Millisecond
		result, _, err := replayed(t, planOf(t, every(20*time.Millisecond, 500, 9, 3)), s)
		if err == nil || !strings.Contains(err.Error(), what) || result.IsValid || result.Status != "aborted" || result.Unsent == 0 ||
			!strings.HasPrefix(result.InvalidReason, "the run stopped by itself: the server at ") {
			t.Errorf("%s: %+v, %v", what, result, err)
		}
	}
}

// A replica that starts shows an empty list once; two replicas behind one address take turns. Neither is a model that changed.
func TestOddAnswersAboutTheModelAreNotedAndDoNotEndTheRun(t *testing.T) {
	const card = `{"data":[{"id":"tiny","root":"/models/a","max_model_len":4096}]}`
	for what, c := range map[string]struct {
		other string
		isOdd func(look int64) bool
		note  string
	}{
		"an empty list at first":  {`{"data":[]}`, func(look int64) bool { return look == 1 }, ""},
		"an empty list later":     {`{"data":[]}`, func(look int64) bool { return look == 4 }, "showed another model for a moment"},
		"two replicas take turns": {`{"data":[{"id":"tiny","root":"/models/b","max_model_len":4096}]}`, func(look int64) bool { return look%2 == 0 }, "more than one server answers there"},
	} {
		fake := newFake(t, well(5*time.Millisecond))
		var looks atomic.Int64
		fake.probe = func(w http.ResponseWriter, r *http.Request) {
			text := card
			if c.isOdd(looks.Add(1)) {
				text = c.other
			}
			fmt.Fprint(w, text)
		}
		s := settingsFor(fake.URL)
		s.watch = 30 * time.Millisecond
		folder := filepath.Join(t.TempDir(), "run")
		result, err := Run(t.Context(), planOf(t, every(20*time.Millisecond, 20, 9, 3)), s, folder)
		if err != nil || result.Status != "done" || result.Unsent != 0 {
			t.Fatalf("%s: %+v, %v", what, result, err)
		}
		if notes := strings.Join(documentIn(t, folder).Readiness.Notes, "; "); (c.note == "") != (notes == "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: noted %q, want %q", what, notes, c.note)
		}
	}
}

// A server that showed an empty list once was never judged again.
func TestAModelThatChangesAfterAnOddAnswerEndsTheRun(t *testing.T) {
	fake := newFake(t, well(5*time.Millisecond))
	var looks atomic.Int64
	fake.probe = func(w http.ResponseWriter, r *http.Request) {
		text := `{"data":[{"id":"tiny","max_model_len":4096}]}`
		switch look := looks.Add(1); {
		case look == 4:
			text = `{"data":[]}`
		case look > 8:
			text = `{"data":[{"id":"other"}]}`
		}
		fmt.Fprint(w, text)
	}
	s := settingsFor(fake.URL)
	s.watch = 15 * time.Millisecond
	result, _, err := replayed(t, planOf(t, every(20*time.Millisecond, 500, 9, 3)), s)
	if err == nil || !strings.Contains(err.Error(), "no longer serves the model tiny") || result.IsValid || result.Unsent == 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestTheSimulatorSaysWhatItRunsWith(t *testing.T) {
	base := simulated(t, func(c *vllmsim.Config) { c.MaxNumSeqs, c.KVBlocks = 48, 4096 })
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), settingsFor(base))
	e := documentIn(t, folder).Effective
	if e.EngineVersion != "0.32.0" || e.Model != "tiny" || e.MaxModelLen != 8192 || e.BlockSize != 16 || e.NumGPUBlocks != 4096 ||
		e.KVCacheTokens != 65536 || e.MaxNumSeqs != 48 || e.MaxNumBatchedTokens != 8192 || e.EnablePrefixCaching == nil || !*e.EnablePrefixCaching {
		t.Errorf("%+v", e)
	}
}
