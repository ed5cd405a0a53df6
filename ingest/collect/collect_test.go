package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// prometheus is a small one: it has series by their names, whose value is the instant, and limits.
type prometheus struct {
	names      []string
	ofPods     bool // DCGM's series belong to the engine's pods
	mostPoints int
	rhythm     float64      // seconds between two of its samples; 0: it does not say
	newest     float64      // of its samples, Unix seconds; 0: as new as what is asked for
	asked      []url.Values // of query_range
	refuse     func(w http.ResponseWriter, r *http.Request) bool
}

func (p *prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	if p.refuse != nil && p.refuse(w, r) {
		return
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v1/"); path {
	case "label/__name__/values", "label/model_name/values":
		found := []string{}
		selector := r.Form.Get("match[]")
		for _, name := range p.names {
			isChosen := !strings.Contains(selector, "model_name") || strings.Contains(selector, `model_name="llama"`) && !strings.HasPrefix(name, "DCGM")
			if pattern := regexp.MustCompile(`__name__=~"((?:[^"\\]|\\.)*)"`).FindStringSubmatch(selector); pattern != nil {
				isChosen = isChosen && regexp.MustCompile("^(?:"+strings.ReplaceAll(pattern[1], `\\`, `\`)+")$").MatchString(name)
			}
			if isChosen {
				found = append(found, name)
			}
		}
		if path != "label/__name__/values" {
			found = []string{"llama", "qwen"}
		}
		json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": found})
	case "query":
		result := `[]`
		if at := number(r.Form.Get("time")); strings.Contains(r.Form.Get("query"), "timestamp(") {
			if newest := p.newestAt(at); newest > 0 {
				result = fmt.Sprintf(`[{"metric":{},"value":[%f,"%f"]}]`, at, newest)
			}
		} else if strings.HasSuffix(r.Form.Get("query"), "[30m]") {
			values := []string{}
			for i := range 10 {
				values = append(values, fmt.Sprintf(`[%f,"1"]`, at-float64(i)/100+float64(i-9)*p.rhythm))
			}
			if p.rhythm > 0 {
				result = fmt.Sprintf(`[{"metric":{},"values":[%s]},{"metric":{},"values":[%s]}]`, strings.Join(values, ","), strings.Join(values, ","))
			}
		} else if p.ofPods {
			result = `[{"metric":{},"value":[1,"2"]}]`
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":%s}}`, result)
	case "query_range":
		if from, until := number(r.Form.Get("start")), number(r.Form.Get("end")); strings.HasPrefix(r.Form.Get("query"), "count(") {
			values := []string{}
			for at := from; at <= until; at += number(r.Form.Get("step")) {
				if p.newestAt(at) > 0 {
					values = append(values, fmt.Sprintf(`[%f,"1"]`, at))
				}
			}
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`, strings.Join(values, ","))
			return
		}
		p.asked = append(p.asked, r.PostForm)
		from, until, step := number(r.Form.Get("start")), number(r.Form.Get("end")), number(r.Form.Get("step"))
		if most := float64(p.mostPoints); most > 0 && (until-from)/step+1 > most {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`)
			return
		}
		var values []string
		for at := from; at <= until; at += step {
			values = append(values, fmt.Sprintf(`[%.0f,"%.0f"]`, at, at))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:prompt_tokens_total","instance":"a"},"values":[%s]}]}}`, strings.Join(values, ","))
	default:
		http.NotFound(w, r)
	}
}

// newestAt is the time of the sample that an instant's look-back holds; 0: there is none.
func (p *prometheus) newestAt(at float64) float64 {
	switch {
	case p.newest == 0 || at < p.newest:
		return at
	case at > p.newest+300:
		return 0
	}
	return p.newest
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return n
}

var vllm = []string{"vllm:prompt_tokens_total", "vllm:num_requests_running", "vllm:request_prompt_tokens_count", "vllm:request_prompt_tokens_bucket",
	"vllm:time_to_first_token_seconds_bucket", "vllm:time_to_first_token_seconds_count", "vllm:iteration_tokens_total_bucket", "go_goroutines", "DCGM_FI_DEV_POWER_USAGE"}

func instant(text string) time.Time {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return at
}

// settings of a service whose server is p.
func settings(t *testing.T, p *prometheus) Settings {
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return Settings{Service: "chat", URL: server.URL, Selector: `model_name="llama"`, Path: filepath.Join(t.TempDir(), "chat.prometheus.jsonl"),
		Since: instant("2026-11-16 00:07:00"), Until: instant("2026-11-18 00:10:30")}
}

func run(t *testing.T, s Settings) Result {
	t.Helper()
	result, err := Run(t.Context(), s)
	if err != nil {
		t.Fatalf("%v (%s)", err, hint.Of(err))
	}
	return result
}

// instants are those that were asked about, by step.
func (p *prometheus) instants(t *testing.T) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{}
	for _, q := range p.asked {
		from, until, step := number(q.Get("start")), number(q.Get("end")), number(q.Get("step"))
		if (until-from)/step+1 > mostPoints {
			t.Errorf("%v to %v in steps of %v: more than %d points", from, until, step, mostPoints)
		}
		for at := from; at <= until; at += step {
			all[q.Get("step")] = append(all[q.Get("step")], at)
		}
	}
	return all
}

// whole wants each step of a clock once between two instants.
func whole(t *testing.T, got []float64, step float64, from, until time.Time) {
	t.Helper()
	slices.Sort(got)
	if len(got) == 0 || got[0] != float64(from.Unix()) || got[len(got)-1] != float64(until.Unix()) {
		t.Fatalf("steps of %v: got %d instants, want from %v to %v", step, len(got), from, until)
	}
	for i := 1; i < len(got); i++ {
		if got[i] != got[i-1]+step {
			t.Fatalf("steps of %v: got %v after %v", step, got[i], got[i-1])
		}
	}
}

func TestItAsksForWhatIsMissing(t *testing.T) {
	p := &prometheus{names: vllm}
	s := settings(t, p)
	result := run(t, s)
	if !result.IsNew || result.Requests != 9+2*3 || len(p.asked) != 6 {
		t.Errorf("got %+v, %d ranges: want three questions about names, two about pods, one about the newest sample, three about how far samples are apart, and three days of two groups", result, len(p.asked))
	}
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "no GPU figures") {
		t.Errorf("got the notes %q", result.Notes)
	}
	all := p.instants(t)
	whole(t, all["60"], 60, instant("2026-11-16 00:00:00"), instant("2026-11-18 00:10:00"))
	whole(t, all["900"], 900, instant("2026-11-16 00:00:00"), instant("2026-11-18 00:00:00"))
	query := p.asked[0].Get("query")
	if want := `{__name__=~"vllm:num_requests_running|vllm:prompt_tokens_total|vllm:request_prompt_tokens_count",model_name="llama"}`; query != want {
		t.Errorf("got the query %s, want %s", query, want)
	}
	p.asked = nil
	if again := run(t, s); again.IsNew || !again.From.IsZero() || len(p.asked) > 0 {
		t.Errorf("a second time: got %+v and %d ranges, want none", again, len(p.asked))
	}
	s.Since, s.Until = time.Time{}, instant("2026-11-18 00:31:00") // by itself it goes on where it ended
	run(t, s)
	all = p.instants(t)
	whole(t, all["60"], 60, instant("2026-11-18 00:11:00"), instant("2026-11-18 00:31:00"))
	whole(t, all["900"], 900, instant("2026-11-18 00:15:00"), instant("2026-11-18 00:30:00"))
	p.asked = nil
	s.Since = instant("2026-11-15 23:00:00") // what was before
	run(t, s)
	whole(t, p.instants(t)["60"], 60, instant("2026-11-15 23:00:00"), instant("2026-11-15 23:59:00"))
}

// In the first minutes of a scrape its names are not there yet by the end of what is asked for: "has no metrics of an engine".
func TestAServiceThatIsScrapedSinceAMinute(t *testing.T) {
	begun := time.Now().Add(-30 * time.Second)
	p := &prometheus{names: vllm}
	p.refuse = func(w http.ResponseWriter, r *http.Request) bool {
		until := r.Form.Get("end") + r.Form.Get("time")
		if until == "" || number(until) > float64(begun.Unix()) {
			return false
		}
		fmt.Fprint(w, `{"status":"success","data":[]}`)
		return true
	}
	s := settings(t, p)
	s.Until = time.Now().Add(-time.Minute)
	s.Since = s.Until.Add(-time.Hour)
	must.Refuse(Run(t.Context(), s))(t, "has scraped the service only since after ", "five minutes")
}

// Tokens were asked for by the quarter of an hour, so an hour in which a replica came up kept its requests and lost their tokens.
func TestTokensAreAskedForAsOftenAsRequests(t *testing.T) {
	p := &prometheus{names: []string{"vllm:request_prompt_tokens_count", "vllm:request_prompt_tokens_bucket"}}
	s := settings(t, p)
	run(t, s) // a file that lacks them, as one of an earlier version
	p.names, p.asked = append(p.names, "vllm:request_prompt_tokens_sum", "vllm:request_generation_tokens_sum"), nil
	s.Since, s.Until = time.Time{}, instant("2026-11-18 00:31:00")
	run(t, s)
	p.asked = slices.DeleteFunc(p.asked, func(q url.Values) bool {
		return q.Get("query") != `{__name__=~"vllm:request_generation_tokens_sum|vllm:request_prompt_tokens_sum",model_name="llama"}`
	})
	whole(t, p.instants(t)["60"], 60, instant("2026-11-16 00:00:00"), instant("2026-11-18 00:31:00"))
}

// A replica that comes up counts from zero, and when its process began says so.
func TestItAsksWhenProcessesBegan(t *testing.T) {
	p := &prometheus{names: append([]string{"process_start_time_seconds"}, vllm...)}
	run(t, settings(t, p))
	p.asked = slices.DeleteFunc(p.asked, func(q url.Values) bool { return !strings.HasPrefix(q.Get("query"), "process_start") })
	whole(t, p.instants(t)["60"], 60, instant("2026-11-16 00:00:00"), instant("2026-11-18 00:10:00"))
	if got, want := p.asked[0].Get("query"), `process_start_time_seconds{instance!=""} and on (job, instance) {__name__=~"vllm:num_requests_running",model_name="llama",instance!=""}`; got != want {
		t.Errorf("got the query %s, want %s", got, want)
	}
}

// Scraped every two minutes and asked by the minute, three scrapes fell into five minutes, whose rate was 1.2 times too high.
func TestCountersAreAskedForAsTheyAreScraped(t *testing.T) {
	for _, c := range []struct {
		rhythm, step float64
		says         string
	}{
		{15, 60, ""},
		{60, 60, ""},
		{120, 120, "the service is scraped every 2m0s: bursts within that time are not seen, and counters are asked for every 2m0s"},
		{90, 180, "every 3m0s"},
		{70, 300, "off by what comes between two scrapes"},
	} {
		p := &prometheus{names: vllm, rhythm: c.rhythm}
		s := settings(t, p)
		notes := strings.Join(run(t, s).Notes, "\n")
		if got := number(p.asked[0].Get("step")); got != c.step || !strings.Contains(notes, c.says) || c.says == "" && strings.Contains(notes, "scraped") {
			t.Errorf("scraped every %v s: asked every %v s, want %v; notes %s", c.rhythm, got, c.step, notes)
		}
		p.asked, p.rhythm, s.Since, s.Until = nil, 120, time.Time{}, s.Until.Add(time.Hour) // the file has its step
		notes = strings.Join(run(t, s).Notes, "\n")
		if got := number(p.asked[0].Get("step")); got != c.step || (c.step < 120) != strings.Contains(notes, "--fresh begins again by 2m0s") {
			t.Errorf("a file by %v s: asked every %v s; notes %s", c.step, got, notes)
		}
	}
}

// What a server that lags did not have yet was never asked for again.
func TestWhatWasNotThereYetIsAskedForAgain(t *testing.T) {
	p := &prometheus{names: vllm, newest: float64(instant("2026-11-17 23:50:20").Unix())}
	s := settings(t, p)
	if result := run(t, s); len(result.Notes) != 2 || !strings.Contains(result.Notes[0], "the newest sample of the service is of 2026-11-17 23:50 +00:00") {
		t.Errorf("got the notes %q", result.Notes)
	}
	whole(t, p.instants(t)["60"], 60, instant("2026-11-16 00:00:00"), instant("2026-11-17 23:50:00"))
	whole(t, p.instants(t)["900"], 900, instant("2026-11-16 00:00:00"), instant("2026-11-17 23:45:00"))
	p.newest, p.asked, s.Since = 0, nil, time.Time{} // it has caught up
	run(t, s)
	whole(t, p.instants(t)["60"], 60, instant("2026-11-17 23:51:00"), instant("2026-11-18 00:10:00"))
	whole(t, p.instants(t)["900"], 900, instant("2026-11-18 00:00:00"), instant("2026-11-18 00:00:00"))
	p = &prometheus{names: vllm, newest: float64(instant("2026-11-14 00:00:00").Unix())}
	s = settings(t, p)
	if _, err := Run(t.Context(), s); err == nil || len(p.asked) > 0 || !strings.Contains(err.Error(), "has a value between 2026-11-16 00:00 +00:00 and 2026-11-18 00:10 +00:00") {
		t.Errorf("a service that ended before: got %d questions, %v", len(p.asked), err)
	}
}

func TestItGoesOnAfterAKill(t *testing.T) {
	p := &prometheus{names: vllm}
	s := settings(t, p)
	run(t, s)
	text := must.Get(os.ReadFile(s.Path))(t)
	for _, cut := range []int{10, len(text) - 10} { // in the header, in the last answer
		must.Do(t, os.WriteFile(s.Path, text[:cut], 0o600))
		p.asked = nil
		run(t, s)
		if again, _ := os.ReadFile(s.Path); len(again) != len(text) {
			t.Errorf("cut at %d: got %d bytes, want %d", cut, len(again), len(text))
		}
	}
	if len(p.asked) != 1 {
		t.Errorf("got %d questions, want that of the last line", len(p.asked))
	}
}

// A server with smaller limits than Prometheus' own is asked for less at a time.
func TestQuestionsAreSplitAtLimits(t *testing.T) {
	p := &prometheus{names: vllm, mostPoints: 500}
	s := settings(t, p)
	run(t, s)
	p.asked = slices.DeleteFunc(p.asked, func(q url.Values) bool {
		return (number(q.Get("end"))-number(q.Get("start")))/number(q.Get("step"))+1 > 500
	})
	whole(t, p.instants(t)["60"], 60, instant("2026-11-16 00:00:00"), instant("2026-11-18 00:10:00"))
	p = &prometheus{names: vllm}
	s = settings(t, p)
	s.Steps = Steps{time.Second, 2 * time.Second, 2 * time.Second} // a day has 86,400 of the first
	run(t, s)
	whole(t, p.instants(t)["1"], 1, instant("2026-11-16 00:07:00"), instant("2026-11-18 00:10:30"))
}

// An answer of 2.7 MB that unpacks to gigabytes took 3.1 GB.
func TestAnAnswerThatUnpacksToMuchIsRefused(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(`{"status":"success","data":[`))
	w.Write(bytes.Repeat([]byte(" "), 80<<20))
	w.Write([]byte(`]}`))
	w.Close()
	s := settings(t, &prometheus{refuse: func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
		return true
	}})
	must.Refuse(Run(t.Context(), s))(t, "is larger than 64 MB", "metrics_selector")
}

func TestGPUsOfTheServicesPods(t *testing.T) {
	p := &prometheus{names: vllm, ofPods: true}
	run(t, settings(t, p))
	query := p.asked[len(p.asked)-1].Get("query")
	if want := `{__name__=~"DCGM_FI_DEV_POWER_USAGE",pod!=""} and on (namespace, pod) group by (namespace, pod) ({__name__=~"vllm:num_requests_running",model_name="llama",pod!=""})`; query != want {
		t.Errorf("got %s\nwant %s", query, want)
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	answer := func(code int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	ranges := func(code int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "query_range") && answer(code, body)(w, r)
		}
	}
	for _, c := range []struct {
		why        string
		p          prometheus
		change     func(*Settings)
		says, todo string
		isMisuse   bool
	}{
		{why: "nothing listens", change: func(s *Settings) { s.URL = "http://127.0.0.1:1" }, says: "http://127.0.0.1:1 cannot be reached", todo: "port-forward"},
		{why: "no address", change: func(s *Settings) { s.URL = "prometheus:9090" }, says: "not the address of a server", todo: "metrics: http://", isMisuse: true},
		{why: "a password in the address", change: func(s *Settings) { s.URL = "http://me:hunter22@h:9090" }, says: "holds a user or a password", todo: "TIDEMARK_PROMETHEUS_TOKEN", isMisuse: true},
		{why: "a token in the address", change: func(s *Settings) { s.URL = "http://h:9090/p?token=hunter22" }, says: "the address of http://h:9090/p has a query", todo: "TIDEMARK_PROMETHEUS_TOKEN", isMisuse: true},
		{why: "an echo in hex", p: prometheus{names: vllm, refuse: ranges(500, `{"status":"error","errorType":"internal","error":"sent 74307035656372657421"}`)}, change: func(s *Settings) { s.Auth.Token = "t0p5ecret!" }, says: "answers 500: sent [redacted]", todo: "ask again"},
		{why: "401", p: prometheus{refuse: answer(401, "no")}, says: "refuses the request without a token or password (401)", todo: "TIDEMARK_PROMETHEUS_TOKEN"},
		{why: "403 with a token", p: prometheus{refuse: answer(403, "no")}, change: func(s *Settings) { s.Auth.Token = "t0p5ecret" }, says: "with what it was shown (403)", todo: "--prometheus-auth-file"},
		{why: "404", p: prometheus{refuse: answer(404, "page not found")}, says: "no HTTP API of Prometheus (404)", todo: "path before /api/v1"},
		{why: "a page", p: prometheus{refuse: answer(200, "<html>sign in</html>")}, says: "no JSON of Prometheus", todo: "login"},
		{why: "422", p: prometheus{names: vllm, refuse: ranges(422, `{"status":"error","errorType":"execution","error":"too many samples"}`)}, says: "too much for the server even for one instant (422): too many samples", todo: "--query.max-samples"},
		{why: "an echo", p: prometheus{names: vllm, refuse: ranges(500, `{"status":"error","errorType":"internal","error":"sent t0p5ecret"}`)}, change: func(s *Settings) { s.Auth.Token = "t0p5ecret" }, says: "answers 500: sent ", todo: "ask again"},
		{why: "bad data", p: prometheus{names: vllm, refuse: ranges(400, `{"status":"error","errorType":"bad_data","error":"parse error"}`)}, says: "does not understand the question: parse error", todo: "metrics_selector"},
		{why: "an answer that was cut", p: prometheus{names: vllm, refuse: ranges(200, `{"status":"success","data":{"result":[`)}, says: "was cut", todo: "ask again"},
		{why: "no such metric", p: prometheus{names: []string{"go_goroutines"}}, says: "no metrics of an engine", todo: "/targets"},
		{why: "a wrong selector", p: prometheus{names: vllm}, change: func(s *Settings) { s.Selector = `{model_name="lama"}` }, says: `none of them matches {model_name="lama"}`, todo: "model_name is llama, qwen there"},
		{why: "a selector that is none", change: func(s *Settings) { s.Selector = `up{job="x"}` }, says: "not a list of label matchers", todo: "metrics_selector: '", isMisuse: true},
	} {
		s := settings(t, &c.p)
		if c.change != nil {
			c.change(&s)
		}
		_, err := Run(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(hint.Of(err), c.todo) || hint.IsMisuse(err) != c.isMisuse {
			t.Errorf("%s: got %v, hint %q", c.why, err, hint.Of(err))
		} else if text := err.Error() + hint.Of(err); strings.Contains(text, "t0p5ecret") || strings.Contains(text, "hunter22") {
			t.Errorf("%s: got %s: a secret is in it", c.why, text)
		}
		if _, err := os.Stat(s.Path); err == nil {
			t.Errorf("%s: an empty file is left", c.why)
		}
	}
}

// A redirect's target got the token, and its answer was kept as that of the first address.
func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	s := settings(t, &prometheus{refuse: func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	}})
	s.Auth.Token = "t0p5ecret"
	_, err := Run(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "redirects (307) to "+other.URL+"/api/v1/label/__name__/values") || !strings.Contains(hint.Of(err), "name the final address") || reached {
		t.Errorf("got %v, the target was reached: %t", err, reached)
	}
}

// A server that accepts and never answers was asked for ever smaller spans.
func TestAServerThatHangsIsGivenUp(t *testing.T) {
	for hangs, most := range map[string]int{"/values": 1, "query_range": 3} {
		asked := 0
		s := settings(t, &prometheus{names: vllm, refuse: func(_ http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, hangs) {
				return false
			}
			asked++
			<-r.Context().Done()
			return true
		}})
		s.Client = &http.Client{Timeout: 500 * time.Millisecond}
		if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), s.URL+" did not answer within 500ms") || hint.IsMisuse(err) || asked != most {
			t.Errorf("%s: got %v after %d requests", hangs, err, asked)
		}
	}
}

// A label in which a proxy gives back the header of a request stayed in the file, in the warehouse and on the page.
func TestALabelThatEchoesTheTokenIsCleaned(t *testing.T) {
	s := settings(t, &prometheus{names: vllm, refuse: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "query_range") {
			return false
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[`+
			`{"metric":{"__name__":"vllm:prompt_tokens_total","instance":"}a"},"values":[[1763251200,"1"]]},`+
			`{"metric":{"__name__":"vllm:prompt_tokens_total","instance":"b","seen":"Bearer t0p5ecret-of-18-c"},"values":[[1763251200,"2"]]},`+
			`{"metric":{"__name__":"vllm:prompt_tokens_total","instance":"c"},"values":[[1763251200,"3"]]}]}}`)
		return true
	}})
	s.Auth.Token = "t0p5ecret-of-18-c"
	run(t, s)
	text, err := os.ReadFile(s.Path)
	if err != nil || strings.Contains(string(text), "t0p5ecret") {
		t.Errorf("the token is in the file, %v", err)
	}
	must.Say(t, string(text), `"instance":"}a"},"values":[[1763251200,"1"]]`, `"instance":"b","seen":"Bearer [redacted]"},"values":[[1763251200,"2"]]`, `"instance":"c"},"values":[[1763251200,"3"]]`)
}

func TestAFileIsOfOneServiceAndSelector(t *testing.T) {
	p := &prometheus{names: vllm}
	s := settings(t, p)
	run(t, s)
	other := s
	other.Selector = ""
	must.Refuse(Run(t.Context(), other))(t, `the selector {model_name="llama"}`, "--fresh")
	other.IsFresh = true
	run(t, other)
	if kept, _ := filepath.Glob(s.Path + ".*.old"); len(kept) != 1 {
		t.Errorf("--fresh kept %v", kept)
	}
	must.Do(t, os.WriteFile(s.Path, []byte("my own notes"), 0o600))
	must.Refuse(Run(t.Context(), s))(t, "not a file of collect")
	if text, _ := os.ReadFile(s.Path); string(text) != "my own notes" {
		t.Errorf("another file is now %q", text)
	}
}

func TestStoppedBetweenQuestions(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := &prometheus{names: vllm}
	s := settings(t, p)
	s.Told = func(done, _ int) {
		if done == 2 {
			stop()
		}
	}
	if _, err := Run(ctx, s); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	s.Told = nil
	p.asked = nil
	if run(t, s); len(p.asked) != 4 {
		t.Errorf("got %d questions, want those that were left", len(p.asked))
	}
}

func TestReadAuth(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "auth")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, c := range []struct {
		path string
		env  map[string]string
		want Auth
		says string
	}{
		{},
		{env: map[string]string{"TIDEMARK_PROMETHEUS_TOKEN": "abc"}, want: Auth{Token: "abc"}},
		{env: map[string]string{"TIDEMARK_PROMETHEUS_USER": "me", "TIDEMARK_PROMETHEUS_PASSWORD": "pw"}, want: Auth{User: "me", Password: "pw"}},
		{env: map[string]string{"TIDEMARK_PROMETHEUS_USER": "me"}, says: "and not both"},
		{env: map[string]string{"TIDEMARK_PROMETHEUS_USER": "me", "TIDEMARK_PROMETHEUS_PASSWORD": "pw", "TIDEMARK_PROMETHEUS_TOKEN": "abc"}, says: "which is it"},
		{path: file("abc\n"), env: map[string]string{"TIDEMARK_PROMETHEUS_TOKEN": "other"}, want: Auth{Token: "abc"}},
		{path: file("user: me\npassword: p:w\n"), want: Auth{User: "me", Password: "p:w"}},
		{path: file("token: abc\n"), want: Auth{Token: "abc"}},
		{path: file("\n"), says: "holds nothing"},
		{path: file("a\nb\n"), says: "neither a token nor lines"},
		{path: file("a b"), says: "has a space"},
		{path: "none", says: "no such file"},
	} {
		got, err := ReadAuth(c.path, func(name string) string { return c.env[name] })
		if c.says == "" && (err != nil || got != c.want) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: got %+v, %v", c, got, err)
		}
	}
}
