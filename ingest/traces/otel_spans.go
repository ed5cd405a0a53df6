package traces

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
)

// spans are what a file of OpenTelemetry holds. Which of them are requests is known
// only when all are there: a gateway, a client and the server may each have a span
// with the token counts of the same request, and an agent's span may carry the sum
// of all of its requests. The innermost spans count, so that each request counts
// once.
type spans struct {
	out    *read.Rows
	all    []*span
	byID   map[spanKey]*span
	clock  read.Clock
	people read.Numbered
}

type spanKey struct{ trace, span string }

// span is one span, reduced to what a request needs.
type span struct {
	line              int64 // place in the file, from 1
	trace, id, parent string
	start, end        int64  // Unix nanoseconds; end 0 where it is not said
	firstToken        int64  // Unix nanoseconds; 0 where it is not said
	reason            string // why its start cannot be read
	input, output     int64  // tokens; -1 where they are not said
	cached            int64
	bad               string // attribute that cannot be read
	ttft, e2e         float64
	conversation      string
	model, operation  string
	isModel           bool // a call of a model, by its operation or name
	hasFailed         bool

	innerIn, innerO int64 // tokens of the spans inside it
	hasInner        bool
}

// newSpan adds a span of which only its place in the trace is known; -1 is unknown.
func (s *spans) newSpan(trace, id, parent, name string) *span {
	made := &span{line: int64(len(s.all)) + 1, trace: trace, id: id, parent: parent, input: -1, output: -1, cached: -1, ttft: -1, e2e: -1}
	made.isModel = name == "llm_request" || strings.HasPrefix(name, "chat ") || strings.HasPrefix(name, "text_completion ")
	s.all = append(s.all, made)
	if s.byID == nil {
		s.byID = map[spanKey]*span{}
	}
	if id != "" {
		s.byID[spanKey{trace, id}] = made
	}
	return made
}

// modelCalls are the operations that ask a model for tokens.
var modelCalls = []string{"chat", "text_completion", "generate_content", "completion"}

// spanAttributes tell of a request, by the names of the semantic conventions old
// and new, of vLLM, Traceloop and OpenInference. Latencies are seconds.
var spanAttributes = map[string]func(s *span, value []byte) bool{
	"gen_ai.usage.input_tokens":                   func(s *span, v []byte) bool { return tokensInto(&s.input, v) },
	"gen_ai.usage.prompt_tokens":                  func(s *span, v []byte) bool { return tokensInto(&s.input, v) },
	"gen_ai.client.inference.usage.input_tokens":  func(s *span, v []byte) bool { return tokensInto(&s.input, v) },
	"llm.usage.prompt_tokens":                     func(s *span, v []byte) bool { return tokensInto(&s.input, v) },
	"llm.token_count.prompt":                      func(s *span, v []byte) bool { return tokensInto(&s.input, v) },
	"gen_ai.usage.output_tokens":                  func(s *span, v []byte) bool { return tokensInto(&s.output, v) },
	"gen_ai.usage.completion_tokens":              func(s *span, v []byte) bool { return tokensInto(&s.output, v) },
	"gen_ai.client.inference.usage.output_tokens": func(s *span, v []byte) bool { return tokensInto(&s.output, v) },
	"llm.usage.completion_tokens":                 func(s *span, v []byte) bool { return tokensInto(&s.output, v) },
	"llm.token_count.completion":                  func(s *span, v []byte) bool { return tokensInto(&s.output, v) },
	"gen_ai.usage.cache_read.input_tokens":        func(s *span, v []byte) bool { return tokensInto(&s.cached, v) },
	"gen_ai.usage.cache_read_input_tokens":        func(s *span, v []byte) bool { return tokensInto(&s.cached, v) },
	"llm.token_count.prompt_details.cache_read":   func(s *span, v []byte) bool { return tokensInto(&s.cached, v) },
	"gen_ai.latency.time_to_first_token":          func(s *span, v []byte) bool { return secondsInto(&s.ttft, v) },
	"gen_ai.server.time_to_first_token":           func(s *span, v []byte) bool { return secondsInto(&s.ttft, v) },
	"gen_ai.client.operation.time_to_first_chunk": func(s *span, v []byte) bool { return secondsInto(&s.ttft, v) },
	"gen_ai.latency.e2e":                          func(s *span, v []byte) bool { return secondsInto(&s.e2e, v) },
	"gen_ai.request.model":                        func(s *span, v []byte) bool { s.model = read.Word(string(v)); return true },
	"gen_ai.response.model":                       func(s *span, v []byte) bool { s.model = cmp.Or(s.model, read.Word(string(v))); return true },
	"llm.model_name":                              func(s *span, v []byte) bool { s.model = cmp.Or(s.model, read.Word(string(v))); return true },
	"gen_ai.conversation.id":                      func(s *span, v []byte) bool { s.conversation = string(v); return true },
	"gen_ai.operation.name":                       operationOf,
	"error.type":                                  func(s *span, _ []byte) bool { s.hasFailed = true; return true },
	"error":                                       func(s *span, v []byte) bool { s.hasFailed = s.hasFailed || string(v) == "true"; return true },
}

// operationOf takes the operation, which says whether a model was called.
func operationOf(s *span, value []byte) bool {
	s.operation = read.Word(string(value))
	s.isModel = s.isModel || slices.Contains(modelCalls, s.operation)
	return true
}

// tokensInto reads a number of tokens; false for anything else.
func tokensInto(target *int64, value []byte) bool {
	tokens, reason := wholeTokens(value)
	if reason == "" {
		*target = tokens
	}
	return reason == ""
}

// secondsInto reads a latency; false for anything else.
func secondsInto(target *float64, value []byte) bool {
	took, reason := duration(value, inSeconds)
	if reason == "" {
		*target = took
	}
	return reason == ""
}

// attribute takes one attribute of a span. Texts are dropped and told of.
func (s *spans) attribute(of *span, key string, value []byte) error {
	if take := spanAttributes[key]; take != nil {
		if !isNull(value) && !take(of, value) {
			of.bad = key
		}
		return nil
	}
	switch {
	case key == "session.id" || strings.HasSuffix(key, ".session.id"):
		of.conversation = cmp.Or(of.conversation, string(value))
	case isText(key, value), isSpanText(key, value):
		return s.out.TextIn(key, "an attribute")
	}
	return nil
}

// isSpanText knows keys that carry text under names of their own, such as
// gen_ai.prompt.0.content and gen_ai.tool.call.arguments.
func isSpanText(key string, value []byte) bool {
	for _, begin := range []string{"gen_ai.prompt", "gen_ai.completion", "gen_ai.input.", "gen_ai.output.", "gen_ai.system_instructions", "gen_ai.tool.call.", "llm.input_messages", "llm.output_messages", "traceloop.entity."} {
		if strings.HasPrefix(key, begin) {
			return len(value) > 0 && !isNumber(value)
		}
	}
	return false
}

// deepestSpan bounds the walk outwards; parents of a hostile file may form a circle.
const deepestSpan = 64

// around yields the spans around one, the nearest first.
func (s *spans) around(of *span) func(func(*span) bool) {
	return func(yield func(*span) bool) {
		for range deepestSpan {
			of = s.byID[spanKey{of.trace, of.parent}]
			if of == nil || !yield(of) {
				return
			}
		}
	}
}

// hasTokens says that the span tells the lengths of a request. Embeddings have no
// output.
func (s *span) hasTokens() bool {
	return s.input >= 0 && (s.output >= 0 || s.operation == "embeddings")
}

// isAgent says that the span is one of an agent, around the requests that it made.
func (s *span) isAgent() bool {
	return s.operation == "invoke_agent" || s.operation == "invoke_workflow"
}

// repeats says that the tokens of a span are those of the spans inside it.
func (s *span) repeats() bool {
	return s.hasInner && (s.isAgent() || s.input <= s.innerIn && s.output <= s.innerO)
}

// end makes requests of the spans.
func (s *spans) end() error {
	for _, inner := range s.all {
		if !inner.hasTokens() {
			continue
		}
		for outer := range s.around(inner) {
			if outer.hasTokens() && outer != inner {
				outer.hasInner = true
				outer.innerIn += inner.input
				outer.innerO += max(inner.output, 0)
				break
			}
		}
	}
	var requests []*span
	repeated, failed, without := 0, 0, 0
	for _, one := range s.all {
		switch {
		case one.hasTokens() && one.repeats():
			repeated++
		case one.hasTokens():
			requests = append(requests, one)
		case one.isModel && one.hasFailed:
			failed++
		case one.isModel:
			without++
		}
	}
	if len(requests) == 0 && without > 0 {
		return s.timesAlone()
	}
	if len(requests) == 0 {
		return hint.Errorf("%d spans, %d of them calls of a model, and none says how many tokens (gen_ai.usage.input_tokens, gen_ai.usage.output_tokens)", len(s.all), without+failed).
			Hint("let the instrumentation record the usage; text is not counted here")
	}
	if repeated > 0 {
		s.out.Note("%d spans repeat the tokens of spans inside them; counted once", repeated)
	}
	if failed > 0 {
		s.out.Note("%d calls of a model failed and say no tokens; passed over", failed)
	}
	s.write(requests)
	return nil
}

// timesAlone takes calls that say no tokens: how many came in each minute.
func (s *spans) timesAlone() error {
	var starts []int64
	for _, one := range s.all {
		switch {
		case !one.isModel:
		case one.reason != "":
			s.out.Reject(one.line, "start", one.reason)
		default:
			starts = append(starts, one.start)
		}
	}
	if len(starts) == 0 {
		return nil
	}
	first, last := slices.Min(starts), slices.Max(starts)
	if (last-first)/1e9/read.MinuteS >= read.MostLogMinutes {
		return hint.Errorf("calls without token counts over more than five years").Hint("split the file")
	}
	origin := time.Unix(0, first).UTC().Truncate(time.Microsecond)
	s.out.About.Kind, s.out.About.OriginAt, s.out.About.TimeUnit = "lengths", &origin, "datetime"
	minutes := map[int64]int64{}
	for _, start := range starts {
		minutes[(start-first)/1e9/read.MinuteS]++
	}
	s.out.Note("%d of %d spans are calls of a model, and none says how many tokens (gen_ai.usage.input_tokens, gen_ai.usage.output_tokens): a rate per minute was taken in; text is not counted", len(starts), len(s.all))
	return s.out.RatesOf(minutes, float64(last-first)/1e9+1)
}

// write adds the requests, in the order of the file, and rejects the calls that
// cannot be read.
func (s *spans) write(requests []*span) {
	first := requests[0].start
	for _, one := range requests {
		if one.reason == "" {
			first = min(first, one.start)
		}
	}
	origin := time.Unix(0, first).UTC().Truncate(time.Microsecond)
	s.out.About.OriginAt, s.out.About.TimeUnit = &origin, "ns"
	if s.out.About.Zone != "" {
		s.out.About.TimeUnit = "datetime"
	}
	places := s.sessions(requests)
	wanted := map[*span]bool{}
	for _, one := range requests {
		wanted[one] = true
	}
	for _, one := range s.all {
		problem := ""
		switch {
		case wanted[one] && one.reason != "":
			problem = "start"
		case wanted[one] && one.bad != "", one.isModel && one.bad != "":
			problem = one.bad
		case wanted[one]:
			s.request(one, one.start-origin.UnixNano(), places[one])
			continue
		case one.isModel && !one.hasFailed && !one.hasTokens():
			s.out.Reject(one.line, "gen_ai.usage.input_tokens", read.Missing)
			continue
		default:
			continue
		}
		s.out.Reject(one.line, problem, cmp.Or(one.reason, read.NotANumber))
	}
}

// request adds one request with what its span says of its latencies.
func (s *spans) request(of *span, at int64, in spanPlace) {
	row := read.Arrival{Line: of.line, ArrivalNs: at, InputTokens: of.input, OutputTokens: max(of.output, 0),
		SessionID: maybe.Known(in.session), Turn: in.turn, Class: maybe.Known(of.operation)}
	detail := read.ArrivalDetail{ThinkS: in.think, ParentSessionID: maybe.Known(in.parent), ParentTurn: in.parentTurn,
		Model: maybe.Known(of.model), IsFailed: new(of.hasFailed)}
	if of.cached >= 0 {
		detail.CachedTokens = &of.cached
	}
	switch {
	case of.ttft >= 0:
		detail.TTFTS = &of.ttft
	case of.firstToken >= of.start && of.firstToken > 0:
		detail.TTFTS = new(float64(of.firstToken-of.start) / 1e9)
	}
	switch {
	case of.e2e >= 0:
		detail.E2ES = &of.e2e
	case of.end > of.start:
		detail.E2ES = new(float64(of.end-of.start) / 1e9)
	}
	s.out.AddRequest(row, detail)
}
