package vllmsim

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim/simpipe"
)

// scrape reads /metrics with Prometheus' own parser; a family's samples are
// summed, histograms as name_count and name_sum.
func scrape(t testing.TB, url string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(get(t, url+"/metrics")))
	must.Do(t, err)
	out := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			if family.GetType() == dto.MetricType_HISTOGRAM {
				out[name+"_count"] += float64(m.Histogram.GetSampleCount())
				out[name+"_sum"] += m.Histogram.GetSampleSum()
				continue
			}
			out[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// TestMetricsEqualTheClientsSums runs a mixed load and compares counters with
// what the clients counted.
func TestMetricsEqualTheClientsSums(t *testing.T) {
	_, url := serve(t, small())
	var mu sync.Mutex
	var clients sync.WaitGroup
	prompt, output, cached, requests, hundreds := 0, 0, 0, 0, 0
	for client := range 8 {
		clients.Go(func() {
			for k := range 6 {
				n := 20 + 7*client + k
				body := fmt.Sprintf(`{"prompt":%s,"max_tokens":%d,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`, appendIDs(nil, ids(300, n)), 1+n%20)
				r := streamed(t, url, body)
				mu.Lock()
				if r.tokens != 1+n%20 || r.completion != r.tokens || r.prompt != n || !r.isDone || r.finish != "length" {
					t.Errorf("got %+v for %d in and %d out", r, n, 1+n%20)
				}
				prompt, output, cached, requests = prompt+r.prompt, output+r.tokens, cached+r.cached, requests+1
				hundreds += 1 + n%20
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	within(t, "the last answer is counted", func() bool { return scrape(t, url)["http_requests_total"] == float64(requests) })
	got := scrape(t, url)
	for name, want := range map[string]int{
		"vllm:prompt_tokens_total": prompt, "vllm:generation_tokens_total": output, "vllm:prompt_tokens_cached_total": cached,
		"vllm:prompt_tokens_by_source_total": prompt, "vllm:prefix_cache_queries_total": prompt, "vllm:prefix_cache_hits_total": cached,
		"vllm:request_success_total": requests, "vllm:time_to_first_token_seconds_count": requests, "vllm:e2e_request_latency_seconds_count": requests,
		"vllm:inter_token_latency_seconds_count": output - requests, "vllm:request_time_per_output_token_seconds_count": requests,
		"vllm:request_prompt_tokens_sum": prompt, "vllm:request_generation_tokens_sum": output, "vllm:request_params_max_tokens_sum": hundreds,
		"vllm:request_max_num_generation_tokens_sum": output, "vllm:request_params_n_sum": requests, "vllm:iteration_tokens_total_sum": prompt - cached + output,
		"vllm:request_queue_time_seconds_count": requests, "vllm:request_inference_time_seconds_count": requests, "vllm:request_prefill_time_seconds_count": requests,
		"vllm:request_decode_time_seconds_count": requests, "vllm:request_prefill_kv_computed_tokens_sum": prompt - cached,
		"vllm:num_preemptions_total": 0, "vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0, "vllm:cache_config_info": 1,
		"http_requests_total": requests,
	} {
		if value, ok := got[name]; !ok || value != float64(want) {
			t.Errorf("%s: got %v, want %d", name, value, want)
		}
	}
	if d := got["vllm:request_decode_time_seconds_sum"] - got["vllm:inter_token_latency_seconds_sum"]; d > 1e-6 || d < -1e-6 {
		t.Errorf("decode time and gaps between tokens differ by %g s", d)
	}
}

func TestPrometheusFloat(t *testing.T) {
	for _, one := range []struct {
		value float64
		want  string
	}{{0, "0.0"}, {200, "200.0"}, {999999, "999999.0"}, {1e6, "1e+06"}, {41367205, "4.1367205e+07"}, {1.68e10, "1.68e+010"}, {0.0125, "0.0125"}, {1.5e-5, "1.5e-05"}} {
		if got := prometheusFloat(one.value); got != one.want {
			t.Errorf("prometheusFloat(%v): got %s, want %s", one.value, got, one.want)
		}
	}
}

// TestDisconnectAborts leaves in mid-stream: the engine stops working on the
// request, its tokens are counted, the request is not.
func TestDisconnectAborts(t *testing.T) {
	for _, name := range []string{"engine", "fixed"} {
		t.Run(name, func(t *testing.T) {
			c := small()
			if name == "fixed" {
				c.Fixed = &Fixed{TTFT: time.Millisecond, TPOT: time.Millisecond}
			}
			_, url := serve(t, c)
			ctx, cancel := context.WithCancel(withTimeout(t))
			request, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(`{"prompt":[300],"max_tokens":4000,"min_tokens":4000,"ignore_eos":true,"stream":true}`))
			answer := must.Get(http.DefaultClient.Do(request))(t)
			bufio.NewReader(answer.Body).ReadString('\n')
			cancel()
			answer.Body.Close()
			within(t, "the request is aborted", func() bool { return scrape(t, url)["vllm:num_requests_running"] == 0 })
			got := scrape(t, url)
			if got["vllm:request_success_total"] != 0 || got["vllm:e2e_request_latency_seconds_count"] != 0 || got["vllm:kv_cache_usage_perc"] != 0 {
				t.Errorf("an aborted request was counted as finished or keeps its blocks: %v", got)
			}
			if n := got["vllm:generation_tokens_total"]; n < 1 || n > 3999 {
				t.Errorf("got %v generated tokens, want some of 4000", n)
			}
		})
	}
}

// within polls until what is true; the limit only keeps a failure from hanging.
func within(t testing.TB, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestSlowReaderDoesNotHoldUpOthers never reads one stream while another one is
// read to its end; then it reads the first, whose tokens come merged, all of
// them.
func TestSlowReaderDoesNotHoldUpOthers(t *testing.T) {
	c := small()
	c.StepTime = func(engine.Step) time.Duration { return 50 * time.Microsecond }
	t.Run("on a socket, whose buffer fills", func(t *testing.T) {
		l := must.Get(net.Listen("unix", t.TempDir()+"/s"))(t)
		serveOn(t, c, l)
		slowAndQuick(t, func() net.Conn {
			conn := must.Get(net.Dial("unix", l.Addr().String()))(t)
			return conn
		})
	})
	t.Run("on a pipe, which has none", func(t *testing.T) {
		l := simpipe.New()
		serveOn(t, c, l)
		slowAndQuick(t, func() net.Conn { return dial(t, l) })
	})
}

func slowAndQuick(t *testing.T, dial func() net.Conn) {
	ask := func(conn net.Conn, tokens int) {
		body := fmt.Sprintf(`{"prompt":[300],"max_tokens":%d,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`, tokens)
		fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
	}
	read := func(conn net.Conn) reading {
		answer := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		r := must.Get(readStream(answer.Body))(t)
		return r
	}
	slow, quick := dial(), dial()
	defer slow.Close()
	defer quick.Close()
	ask(slow, 4000)
	// As many tokens: when these are read, the slow ones have been made too.
	ask(quick, 4000)
	if r := read(quick); r.tokens != 4000 {
		t.Fatalf("the quick reader got %d of 4000 tokens", r.tokens)
	}
	if r := read(slow); r.tokens != 4000 || r.completion != 4000 || r.mostPerChunk < 2 {
		t.Errorf("the slow reader got %d of 4000 tokens, at most %d in a chunk", r.tokens, r.mostPerChunk)
	}
}

// TestCloseAbortsStreams is SIGTERM: what is under way ends with "abort", usage
// and [DONE].
func TestCloseAbortsStreams(t *testing.T) {
	for _, name := range []string{"engine", "fixed"} {
		t.Run(name, func(t *testing.T) {
			c := small()
			if name == "fixed" {
				c.Fixed = &Fixed{TTFT: time.Millisecond, TPOT: time.Millisecond}
			}
			s, url := serve(t, c)
			answer := post(t, url+"/v1/completions", `{"prompt":[300,301],"max_tokens":4000,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`)
			in := bufio.NewReader(answer.Body)
			line := must.Get(in.ReadString('\n'))(t)
			closed := make(chan struct{})
			go func() { s.Close(); close(closed) }()
			r, err := readStream(io.MultiReader(strings.NewReader(line), in))
			if err != nil || r.finish != "abort" || !r.isDone || r.completion != r.tokens || r.tokens == 4000 {
				t.Errorf("got %+v, %v", r, err)
			}
			<-closed
		})
	}
}

func TestCloseWithIdleAndUnreadConnections(t *testing.T) {
	s, url := serve(t, small())
	idle := must.Get(net.Dial("tcp", strings.TrimPrefix(url, "http://")))(t)
	defer idle.Close()
	get(t, url+"/health")
	s.Close()
	if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("an idle connection outlived the server: %d bytes, %v", n, err)
	}
}

// TestKeepAlive sends several requests on one connection, one of them before
// the answer to the one before has come, and then idles until the server
// closes.
func TestKeepAlive(t *testing.T) {
	c := small()
	c.IdleTimeout = 50 * time.Millisecond
	_, url := serve(t, c)
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(url, "http://")))(t)
	defer conn.Close()
	in := bufio.NewReader(conn)
	body := `{"prompt":[300],"max_tokens":100,"ignore_eos":true,"stream":true,"return_token_ids":true}`
	request := fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
	read := func() {
		t.Helper()
		answer := must.Get(http.ReadResponse(in, nil))(t)
		// 100 ms of stream are longer than the idle time: it must not count
		// there.
		if r, err := readStream(answer.Body); err != nil || r.tokens != 100 || !r.isDone {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	io.WriteString(conn, request)
	read()
	io.WriteString(conn, request+request)
	read()
	read()
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the idle time: got %v, want EOF", err)
	}
}

func TestQueueLimit(t *testing.T) {
	c := small()
	c.MaxNumSeqs, c.MaxQueuedReqs = 2, 4
	gate := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(gate) }) }
	c.StepTime = func(engine.Step) time.Duration { <-gate; return time.Millisecond }
	s, url := serve(t, c)
	t.Cleanup(open) // before Close: the engine's goroutine stands at the gate
	body := `{"prompt":[300],"max_tokens":20,"ignore_eos":true,"stream":true,"return_token_ids":true}`
	var answers []*http.Response
	answers = append(answers, post(t, url+"/v1/completions", body))
	within(t, "the first one runs", func() bool { return scrape(t, url)["vllm:num_requests_running"] == 1 })
	// The engine stands: the frontend still sees an empty queue, takes all, and
	// those beyond the limit learn it inside their 200.
	for range 8 {
		answers = append(answers, post(t, url+"/v1/completions", body))
	}
	open()
	served, refused := 0, 0
	for _, answer := range answers {
		r, err := readStream(answer.Body)
		switch {
		case err != nil || answer.StatusCode != 200 || !r.isDone:
			t.Fatalf("status %d, %+v, %v", answer.StatusCode, r, err)
		case r.errorCode == 503:
			refused++
		case r.tokens == 20:
			served++
		}
	}
	if served != 5 || refused != 4 {
		t.Errorf("served %d and refused %d, want 5 and 4", served, refused)
	}
	s.driver.(*stepper).waiting.Store(4)
	if status, answer := postAll(t, url+"/v1/completions", body); status != 503 || !strings.Contains(answer, `"code":503`) {
		t.Errorf("a queue known to be full: got %d %s", status, answer)
	}
	if got := scrape(t, url)["vllm:admission_rejections_total"]; got != 5 {
		t.Errorf("admission rejections: got %v, want 5", got)
	}
}

func TestLengths(t *testing.T) {
	c := small()
	c.EndOfText = 0.05
	_, url := serve(t, c)
	long := string(appendIDs(nil, ids(300, 4090)))
	for _, one := range []struct {
		sentence, body, finish string
		tokens                 int
	}{
		{"the default is 16", `"prompt":[300],"ignore_eos":true`, "length", 16},
		{"what does not fit is cut off", `"max_tokens":100,"ignore_eos":true,"prompt":` + long, "length", 6},
		{"min_tokens holds an end-of-text back", `"prompt":[300],"max_tokens":500,"min_tokens":500,"seed":4`, "length", 500},
	} {
		r := streamed(t, url, `{"stream":true,"return_token_ids":true,`+one.body+`}`)
		if r.tokens != one.tokens || r.finish != one.finish {
			t.Errorf("%s: got %d tokens and %q, want %d and %q", one.sentence, r.tokens, r.finish, one.tokens, one.finish)
		}
	}
	r := streamed(t, url, `{"stream":true,"return_token_ids":true,"prompt":[300],"max_tokens":4000,"seed":1}`)
	if r.finish != "stop" || r.ids[len(r.ids)-1] != endOfText {
		t.Errorf("without ignore_eos: got %d tokens and %q, want an end-of-text", r.tokens, r.finish)
	}
	again := streamed(t, url, `{"stream":true,"return_token_ids":true,"prompt":[301,302],"max_tokens":4000,"seed":1}`)
	if fmt.Sprint(again.ids) != fmt.Sprint(r.ids) {
		t.Error("the same seed gave another output")
	}
	status, answer := postAll(t, url+"/v1/completions", `{"max_tokens":1,"prompt":`+string(appendIDs(nil, ids(300, 5000)))+`}`)
	if want := "This model's maximum context length is 4096 tokens. However, your prompt contains 5000 input tokens"; status != 400 || !strings.Contains(answer, want) {
		t.Errorf("a prompt too long: got %d %s", status, answer)
	}
}

func TestBodyLimit(t *testing.T) {
	c := small()
	c.MaxBodyBytes = 1000
	_, url := serve(t, c)
	big := bytes.Repeat([]byte(" "), 4<<20)                                                        // more than the connection holds
	for _, body := range []io.Reader{bytes.NewReader(big), io.MultiReader(bytes.NewReader(big))} { // with a length, and chunked
		answer := must.Get(http.Post(url+"/v1/completions", "application/json", body))(t)
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("got %d, want 413", answer.StatusCode)
		}
	}
}

func TestTokenizerIsReversible(t *testing.T) {
	for _, text := range []string{"", "plain", " abcd efgh", "a  zzzz", " abc", "é世\x00\xff", " zzzz aaaa5"} {
		if got := rawText(tokenize(nil, text, 8192)); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
	words := []int32{259, 300, 8191, 5000}
	if got := fmt.Sprint(tokenize(nil, rawText(words), 8192)); got != fmt.Sprint(words) {
		t.Errorf("%v came back as %v", words, got)
	}
}

func rawText(ids []int32) string {
	var text []byte
	for _, id := range ids {
		text = appendText(text, id)
	}
	return string(text)
}

func TestConfigRefusals(t *testing.T) {
	for _, change := range map[string]func(*Config){
		"no time source":      func(c *Config) { c.StepTime = nil },
		"too few blocks":      func(c *Config) { c.KVBlocks = 10 },
		"a tiny vocabulary":   func(c *Config) { c.Vocab = 300 },
		"a budget below seqs": func(c *Config) { c.MaxNumBatchedTokens = 8 },
		"a negative TPOT":     func(c *Config) { c.Fixed = &Fixed{TPOT: -1} },
	} {
		c := small()
		change(&c)
		must.Refuse(New(c))(t)
	}
}

func TestCacheSaltSeparates(t *testing.T) {
	_, url := serve(t, small())
	body := `{"prompt":` + string(appendIDs(nil, ids(300, 100))) + `,"max_tokens":1,"stream":true,"stream_options":{"include_usage":true}`
	for _, one := range []struct {
		salt string
		want int
	}{{"", 0}, {"", 96}, {`,"cache_salt":"beef"`, 0}, {`,"cache_salt":"beef"`, 96}} {
		if got := streamed(t, url, body+one.salt+"}"); got.cached != one.want {
			t.Errorf("salt %q: got %d cached tokens, want %d", one.salt, got.cached, one.want)
		}
	}
}
