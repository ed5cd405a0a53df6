//go:build vllm

package realvllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/vllmsim"
)

// simulatorAnswersAlike sends the same requests to the real server and to the
// simulator and compares the shapes of their answers: status, headers, keys and
// their order, types of values, names and labels of metrics.
func simulatorAnswersAlike(t *testing.T, s *server) {
	if !strings.HasPrefix(s.version, "0.32.") {
		t.Skipf("the simulator writes vLLM 0.32's format, this is %s", s.version)
	}
	simulated := simulator(t, s)
	for _, q := range sameQuestions(s) {
		theirs := ask(t, s.baseURL, q.method, q.path, q.body)
		ours := ask(t, simulated, q.method, q.path, q.body)
		compare(t, q.name+": status", fmt.Sprint(theirs.status), fmt.Sprint(ours.status))
		compare(t, q.name+": headers", headerNames(theirs.header), headerNames(ours.header))
		compare(t, q.name+": content type", theirs.header.Get("Content-Type"), ours.header.Get("Content-Type"))
		compare(t, q.name+": body", bodyShape(theirs), bodyShape(ours))
	}
	metricsAlike(t, scrape(t, s.baseURL), scrape(t, simulated))
}

func simulator(t *testing.T, s *server) (baseURL string) {
	t.Helper()
	simulated, err := vllmsim.New(vllmsim.Config{
		Model: s.model, Version: s.version, Vocab: 8192, MaxModelLen: s.maxModelLen, BlockSize: 128, EnablePrefixCaching: true,
		PerRequestMetrics: true, RequestIDHeaders: true,
		StepTime: func(vllmsim.Step) time.Duration { return 5 * time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- simulated.Serve(listener) }()
	t.Cleanup(func() { simulated.Close(); <-served })
	return "http://" + listener.Addr().String()
}

type question struct {
	name, method, path string
	body               any
}

func sameQuestions(s *server) []question {
	prompt := []int{300, 301, 302, 303}
	with := func(body map[string]any, more ...any) map[string]any {
		body = maps.Clone(body)
		for i := 0; i < len(more); i += 2 {
			if more[i+1] == nil {
				delete(body, more[i].(string))
			} else {
				body[more[i].(string)] = more[i+1]
			}
		}
		return body
	}
	measured := asTidemarkAsks(s.model, prompt, 4)
	chat := with(measured, "prompt", nil, "messages", []any{map[string]any{"role": "user", "content": "hello"}})
	const completions, chats = "/v1/completions", "/v1/chat/completions"
	return []question{
		{"health", http.MethodGet, "/health", nil},
		{"models", http.MethodGet, "/v1/models", nil},
		{"unknown path", http.MethodGet, "/nowhere", nil},
		{"wrong method", http.MethodGet, completions, nil},
		{"tokenize", http.MethodPost, "/tokenize", map[string]any{"model": s.model, "prompt": "hello world"}},
		{"measured", http.MethodPost, completions, measured},
		{"one token", http.MethodPost, completions, asTidemarkAsks(s.model, prompt, 1)},
		{"no token ids", http.MethodPost, completions, with(measured, "return_token_ids", nil)},
		{"no usage", http.MethodPost, completions, with(measured, "stream_options", nil)},
		{"running usage", http.MethodPost, completions,
			with(measured, "stream_options", map[string]any{"include_usage": true, "continuous_usage_stats": true})},
		{"not streamed", http.MethodPost, completions, with(measured, "stream", false, "stream_options", nil)},
		{"chat", http.MethodPost, chats, chat},
		{"chat not streamed", http.MethodPost, chats, with(chat, "stream", false, "stream_options", nil)},
		{"unknown model", http.MethodPost, completions, with(measured, "model", "nobody")},
		{"prompt too long", http.MethodPost, completions, with(measured, "prompt", slices.Repeat(prompt, s.maxModelLen/4+1))},
		{"output cut below min_tokens", http.MethodPost, completions,
			with(measured, "prompt", slices.Repeat(prompt, s.maxModelLen/4)[1:])},
		{"empty prompt", http.MethodPost, completions, with(measured, "prompt", []int{})},
		{"id out of vocabulary", http.MethodPost, completions, with(measured, "prompt", []int{300, 1 << 30})},
		{"min above max", http.MethodPost, completions, with(measured, "min_tokens", 9)},
		{"no output", http.MethodPost, completions, with(measured, "max_tokens", 0, "min_tokens", 0)},
		{"prompt of a wrong type", http.MethodPost, completions, with(measured, "prompt", true)},
		{"not JSON", http.MethodPost, completions, []byte("{")},
	}
}

func compare(t *testing.T, what, theirs, ours string) {
	t.Helper()
	if theirs != ours {
		t.Errorf("%s differs\n  real:      %s\n  simulator: %s", what, theirs, ours)
	}
}

// headerNames leaves out what only says how the body is framed.
func headerNames(header http.Header) string {
	names := slices.Sorted(maps.Keys(header))
	return strings.Join(slices.DeleteFunc(names, func(name string) bool {
		return name == "Content-Length" || name == "Transfer-Encoding"
	}), " ")
}

// bodyShape is the shape of a JSON body, or of each event of a stream. Chunks
// of one shape in a row are one: how many tokens a chunk holds is chance.
func bodyShape(a answer) string {
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		return shape(a.body)
	}
	var events []string
	for line := range bytes.Lines(a.body) {
		line = bytes.TrimRight(line, "\n")
		if len(line) == 0 {
			continue
		}
		event := string(line)
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			event = "data: " + shape(data)
		}
		if len(events) == 0 || events[len(events)-1] != event {
			events = append(events, event)
		}
	}
	return strings.Join(events, "\n    ")
}

// shape writes a JSON text with types in place of values, keys in their order;
// of an array the first element. What is not JSON stands as it is.
func shape(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var out strings.Builder
	if err := writeShape(&out, decoder); err != nil {
		return string(text)
	}
	return out.String()
}

func writeShape(out *strings.Builder, decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch value := token.(type) {
	case json.Delim:
		return writeInside(out, decoder, value)
	case string:
		out.WriteString("text")
	case float64:
		out.WriteString("number")
	case bool:
		out.WriteString("bool")
	case nil:
		out.WriteString("null")
	}
	return nil
}

func writeInside(out *strings.Builder, decoder *json.Decoder, open json.Delim) error {
	out.WriteString(open.String())
	for n := 0; decoder.More(); n++ {
		into := out
		if open == '[' && n > 0 {
			into = &strings.Builder{} // read and forgotten
		} else if n > 0 {
			out.WriteString(",")
		}
		if open == '{' {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			fmt.Fprintf(into, "%v:", key)
		}
		if err := writeShape(into, decoder); err != nil {
			return err
		}
	}
	closing, err := decoder.Token()
	if err != nil {
		return err
	}
	out.WriteString(closing.(json.Delim).String())
	return nil
}

// metricsAlike: what the simulator exposes has name, type, labels and buckets
// of the real thing. What it lacks is listed.
func metricsAlike(t *testing.T, theirs, ours exposition) {
	t.Helper()
	for _, name := range ours.vllmFamilies() {
		if theirs[name] == nil {
			t.Errorf("/metrics: the simulator exposes %s, vLLM does not", name)
			continue
		}
		compare(t, "/metrics: "+name+": type", theirs[name].GetType().String(), ours[name].GetType().String())
		compare(t, "/metrics: "+name+": series", seriesShape(theirs, name), seriesShape(ours, name))
	}
	var missing []string
	for _, name := range theirs.vllmFamilies() {
		if ours[name] == nil {
			missing = append(missing, name)
		}
	}
	t.Logf("/metrics: the simulator has %d of vLLM's %d families; it lacks %s",
		len(ours.vllmFamilies()), len(theirs.vllmFamilies()), strings.Join(missing, " "))
}

// seriesShape lists the label names of each series, the values of those labels
// that are an enumeration, and the buckets.
func seriesShape(e exposition, name string) string {
	shapes := map[string]bool{}
	for _, metric := range e[name].GetMetric() {
		var labels []string
		for _, pair := range metric.GetLabel() {
			label := pair.GetName()
			if slices.Contains([]string{"finished_reason", "reason", "source", "sleep_state"}, label) {
				label += "=" + pair.GetValue()
			}
			labels = append(labels, label)
		}
		slices.Sort(labels)
		var bounds []string
		for _, bucket := range metric.GetHistogram().GetBucket() {
			bounds = append(bounds, fmt.Sprint(bucket.GetUpperBound()))
		}
		shapes[strings.Join(labels, " ")+" "+strings.Join(bounds, " ")] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(shapes)), "; ")
}
