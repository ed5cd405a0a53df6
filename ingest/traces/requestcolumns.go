package traces

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Tables of requests that people make themselves, and logs whose columns an operator
// chose, are read by the names of their columns. This file says which name means what;
// requesttable.go says what becomes of the values.
//
// A name is looked up three ways: as it is (prompt_tokens), with the unit at its
// end cut off (latency_ms), and by its last parts where it is a path
// (response.usage.prompt_tokens). Two columns may mean the same; then the surer
// name wins.

// part is what a column tells of a request.
type part int

const (
	noPart part = iota
	arrivesAt
	inputLength
	outputLength
	totalLength // input and output together
	firstTokenAt
	endsAt
	sessionIn
	turnIn
	parentIn
	parentTurnIn
	classIn
	modelIn
	tenantIn
	failedIf
	succeededIf
	statusIn
	errorIn
	answeredIf // from the gateway's own cache
	thinksFor
	ttftFor
	e2eFor
	cachedLength
	blocksIn
	blockLength
	partCount
)

// timeUnit is a unit of time, as the power of ten of nanoseconds that it is.
type timeUnit int

const (
	inNanos   timeUnit = 0
	inMicros  timeUnit = 3
	inMillis  timeUnit = 6
	inSeconds timeUnit = 9
	unsaid    timeUnit = -1 // the column does not say; an instant's first value does
	asWritten timeUnit = -2 // as 2023-11-16 18:17:03.9799600
)

var unitNames = map[timeUnit]string{inNanos: "ns", inMicros: "us", inMillis: "ms", inSeconds: "s", asWritten: "datetime"}

// ourNames are what --column takes on its left side, and what our own exports
// write. A time has its unit at the end: arrival_ms, ttft_us.
var ourNames = map[string]part{
	"arrival": arrivesAt, "arrival_at": arrivesAt, "first_token_at": firstTokenAt, "end_at": endsAt,
	"input_tokens": inputLength, "output_tokens": outputLength, "total_tokens": totalLength, "cached_tokens": cachedLength,
	"session_id": sessionIn, "turn": turnIn, "parent_session_id": parentIn, "parent_turn": parentTurnIn,
	"class": classIn, "model": modelIn, "tenant": tenantIn,
	"is_failed": failedIf, "status": statusIn, "think": thinksFor, "ttft": ttftFor, "e2e": e2eFor,
	"blocks": blocksIn, "block_tokens": blockLength,
}

// otherNames are what others call the same thing, the surest first: of two columns
// that tell one thing, the earlier in this list is read.
var otherNames = map[part]string{
	arrivesAt: `arrival arrival_at arrival_time arrival_timestamp arrived_at arrived request_arrival request_arrival_time start_time request_start
		request_start_time start_timestamp started_at start time_iso8601 time_local timestamp request_timestamp request_time_at ts time event_time
		received_at sent_at send_time created_at created datetime start_unix msec t`,
	inputLength: `input_tokens input_length input_len input_token_count num_input_tokens n_input_tokens prompt_tokens prompt_length prompt_len
		prompt_token_count num_prompt_tokens n_prompt_tokens num_prefill_tokens prefill_tokens context_tokens request_tokens tokens_in
		in_tokens isl llm_input_token llm_input_tokens gen_ai_usage_input_tokens gen_ai_usage_prompt_tokens prompt_size input_seq_len input_sequence_length`,
	outputLength: `output_tokens output_length output_len output_token_count num_output_tokens n_output_tokens completion_tokens completion_length
		completion_len completion_token_count num_completion_tokens generated_tokens num_generated_tokens generation_tokens num_decode_tokens
		decode_tokens response_tokens tokens_out out_tokens osl llm_output_token llm_output_tokens gen_ai_usage_output_tokens
		gen_ai_usage_completion_tokens token_size response_length output_seq_len output_sequence_length`,
	totalLength:  "total_tokens total_token_count gen_ai_usage_total_tokens llm_total_token",
	cachedLength: "cached_tokens cache_read_tokens cache_read_input_tokens cached_input_tokens prompt_cached_tokens gen_ai_usage_cache_read_input_tokens",
	firstTokenAt: "first_token_at first_token_timestamp completion_start_time first_chunk_at",
	endsAt:       "end_at end_time ended_at end_timestamp request_end request_end_time finished_at finish_time completed_at",
	sessionIn:    "session_id session conversation_id conversation chat_id thread_id gen_ai_conversation_id",
	turnIn:       "turn turn_index round_index round_idx",
	parentIn:     "parent_session_id",
	parentTurnIn: "parent_turn",
	classIn:      "class request_type request_class workload slo_class category",
	modelIn:      "model model_name request_model model_group gen_ai_request_model gen_ai_response_model",
	tenantIn:     "tenant",
	failedIf:     "is_failed failed is_error",
	succeededIf:  "success is_success succeeded",
	statusIn:     "status status_code response_code http_status http_status_code response_status",
	errorIn:      "error error_type error_code",
	thinksFor:    "think think_time",
	ttftFor:      "ttft time_to_first_token first_token_latency gen_ai_latency_time_to_first_token",
	e2eFor:       "e2e e2e_latency e2el latency request_latency end_to_end_latency total_latency duration response_time elapsed elapsed_time total_time gen_ai_latency_e2e",
	blocksIn:     "blocks hash_ids block_hashes prefix_blocks",
	blockLength:  "block_tokens block_size hash_block_size",
}

// meaning is a column's part, the unit of its times, and how sure its name is:
// lower is surer.
type meaning struct {
	part part
	unit timeUnit
	rank int
}

// meanings looks otherNames up by name.
var meanings = func() map[string]meaning {
	all := map[string]meaning{}
	for p, names := range otherNames {
		for rank, name := range strings.Fields(names) {
			all[name] = meaning{p, unsaid, rank}
		}
	}
	return all
}()

// unitEndings are how names end in a unit, the longer before those that they end with.
var unitEndings = []struct {
	ending string
	unit   timeUnit
}{
	{"_unix_nano", inNanos}, {"_unix_nanos", inNanos}, {"_unix_ns", inNanos}, {"_unix_ms", inMillis}, {"_unix_s", inSeconds}, {"_unix", unsaid},
	{"_nanoseconds", inNanos}, {"_nanos", inNanos}, {"_ns", inNanos},
	{"_microseconds", inMicros}, {"_micros", inMicros}, {"_us", inMicros},
	{"_milliseconds", inMillis}, {"_millis", inMillis}, {"_msecs", inMillis}, {"_msec", inMillis}, {"_ms", inMillis},
	{"_seconds", inSeconds}, {"_secs", inSeconds}, {"_sec", inSeconds}, {"_s", inSeconds},
}

// isTime are the parts that have a unit of time.
var isTime = []part{arrivesAt, firstTokenAt, endsAt, thinksFor, ttftFor, e2eFor}

// meaningOf tells what a column is by its name: Request Start (ms), promptTokens
// and response.usage.prompt_tokens are all known. The zero meaning is none. Each
// part of a path that had to be dropped makes a name less sure.
func meaningOf(name string, of map[string]meaning) meaning {
	words := snake(name)
	for dropped := 0; ; dropped += 100 {
		if found, ok := withUnit(words, of); ok {
			found.rank += dropped
			return found
		}
		_, rest, more := strings.Cut(name, ".")
		if !more {
			return meaning{}
		}
		name, words = rest, snake(rest)
	}
}

// withUnit looks a name up, with or without a unit at its end.
func withUnit(words string, of map[string]meaning) (meaning, bool) {
	if found, ok := of[words]; ok {
		return found, true
	}
	for _, u := range unitEndings {
		base, ok := strings.CutSuffix(words, u.ending)
		if found := of[base]; ok && slices.Contains(isTime, found.part) {
			found.unit = u.unit
			return found, true
		}
	}
	return meaning{}, false
}

// oursCalled tells what a name on the left side of --column is.
func oursCalled(name string) (meaning, bool) {
	if p, ok := ourNames[name]; ok {
		return meaning{part: p, unit: unsaid}, true
	}
	for _, unit := range []timeUnit{inNanos, inMicros, inMillis, inSeconds} {
		base, ok := strings.CutSuffix(name, "_"+unitNames[unit])
		if p := ourNames[base]; ok && slices.Contains(isTime, p) {
			return meaning{part: p, unit: unit}, true
		}
	}
	return meaning{}, false
}

// oursListed names what --column takes, for people.
const oursListed = "arrival (or arrival_s, _ms, _us, _ns), input_tokens, output_tokens, total_tokens, cached_tokens, session_id, turn, " +
	"parent_session_id, parent_turn, class, model, tenant, is_failed, status, ttft_s, e2e_s, think_s, first_token_at, end_at, blocks, block_tokens"

// snake writes a name as snake_case; any other sign becomes one underscore.
func snake(name string) string {
	var words strings.Builder
	before := '_'
	for _, c := range name {
		switch {
		case unicode.IsUpper(c):
			if unicode.IsLower(before) || unicode.IsDigit(before) {
				words.WriteByte('_')
			}
			words.WriteRune(unicode.ToLower(c))
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			words.WriteRune(c)
		default:
			c = '_'
			if before != '_' {
				words.WriteByte('_')
			}
		}
		before = c
	}
	return strings.Trim(words.String(), "_")
}

// textNames are the usual names of columns that hold what people or models wrote.
var textNames = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`prompt prompts prompt_text input input_text text_input text message messages conversation conversations
		content contents response response_text completion completions output output_text answer question query instruction instructions
		request_body response_body body value generated_text chat user_input system_prompt tools arguments reasoning input_messages
		output_messages error_message proxy_server_request`) {
		all[name] = true
	}
	return all
}()

// lastOf is the last key of a path.
func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// isText says whether a value in a column that is not read is text: by the column's
// name or, from 120 bytes on, by having a blank for at least every twenty bytes. It
// only decides whether the user is told; the value is dropped either way.
func isText[N string | []byte](name N, value []byte) bool {
	if len(value) == 0 || isNull(value) {
		return false
	}
	if len(value) < 120 && isNumber(value) {
		return false
	}
	if textNames[snake(lastOf(string(name)))] {
		return !isNumber(value)
	}
	if len(value) < 120 {
		return false
	}
	blanks := 0
	for _, c := range value {
		if c == ' ' {
			blanks++
		}
	}
	return blanks*20 > len(value)
}

// with adds a log's own names to the usual ones.
func with(more map[string]meaning) map[string]meaning {
	words := maps.Clone(meanings)
	maps.Copy(words, more)
	return words
}
