// One line of requests.jsonl.zst, written by hand: hundreds of thousands of numbers a second would cost encoding/json a
// core. Its keys are a format (ingest/runs reads them); what is not known is left out, never 0. Instants are seconds since
// the run's zero, exact to the nanosecond; chunk offsets are microseconds since the request was sent.

package replay

import (
	"math"
	"strconv"
	"time"

	"tidemark/replay/plan"
	"tidemark/replay/wire"
)

// unknown is an instant that was never reached.
const unknown = time.Duration(math.MinInt64)

// row is what became of one request: a line of requests.jsonl.zst. Instants are since the run began.
type row struct {
	req      plan.Request
	isWarmUp bool
	isOther  bool          // asks for another model than the run's own
	sent     time.Duration // on a ready connection, before the first byte is written
	written  time.Duration // after the last byte
	headers  time.Duration
	first    time.Duration // first and last chunk that bears a token
	last     time.Duration
	done     time.Duration // the stream ended, was cut, or failed
	connect  time.Duration // how long making the connection took; unknown when one was reused
	held     time.Duration // waited behind the cap that the user asked for
	endpoint string        // base url where there are several, or the replica that a router names
	usage    wire.Usage
	timing   wire.Timing
	// Only a rehearsal knows these: a request's share of the time of its engine's steps, seconds, below 0 elsewhere,
	// and the tokens computed again after it was preempted.
	engineS    float64
	recomputed int64
	counted    int64 // token ids seen; unknownCount where the server sends none
	status     int   // of HTTP; 0 without an answer
	finish     string
	failure    string // one of the kinds listed in doc.go; empty for a success
	detail     string // short; no prompt, no key
	offsets    []int64
	counts     []int32 // tokens per chunk; 0 where not known
	noCounts   bool    // not one of them is known
	reads      int
}

// newRow is a row in which nothing has happened yet: every instant and count is unknown.
func newRow(req plan.Request) row {
	return row{req: req, sent: unknown, written: unknown, headers: unknown, first: unknown, last: unknown,
		done: unknown, connect: unknown, usage: wire.EmptyChunk().Usage, timing: wire.EmptyChunk().Timing, counted: wire.UnknownCount,
		engineS: -1, recomputed: wire.UnknownCount}
}

// lateness is the client's fault: how long after its due time a request went out, less what a cap held it back.
func (r *row) lateness() time.Duration { return r.sent - r.req.Due - r.held }

// append writes the row as a line of JSON.
func (r *row) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"seq":`...), r.req.Seq, 10)
	if r.req.Session != "" {
		dst = plan.AppendString(append(dst, `,"session":`...), r.req.Session)
	}
	dst = strconv.AppendInt(append(dst, `,"turn":`...), int64(r.req.Turn), 10)
	if r.req.Class != "" {
		dst = plan.AppendString(append(dst, `,"class":`...), r.req.Class)
	}
	dst = appendWord(dst, `,"endpoint":`, r.endpoint)
	dst = strconv.AppendBool(append(dst, `,"is_warm_up":`...), r.isWarmUp)
	dst = strconv.AppendInt(append(dst, `,"input_tokens":`...), int64(r.req.InputTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), int64(r.req.OutputTokens), 10)
	if len(r.req.Blocks) > 0 {
		dst = strconv.AppendInt(append(dst, `,"shared_tokens":`...), int64(r.req.SharedTokens), 10)
	}
	dst = r.instants(dst)
	dst = appendCount(dst, `,"input_tokens_reported":`, r.usage.Prompt)
	dst = appendCount(dst, `,"output_tokens_reported":`, r.usage.Completion)
	dst = appendCount(dst, `,"output_tokens_counted":`, r.counted)
	dst = appendCount(dst, `,"cached_tokens_reported":`, r.usage.Cached)
	dst = appendTiming(dst, r.timing)
	if r.engineS >= 0 {
		dst = strconv.AppendFloat(append(dst, `,"server_engine_s":`...), r.engineS, 'f', 9, 64)
	}
	dst = appendCount(dst, `,"server_recomputed_tokens":`, r.recomputed)
	if r.status != 0 {
		dst = strconv.AppendInt(append(dst, `,"http_status":`...), int64(r.status), 10)
	}
	dst = appendWord(dst, `,"finish_reason":`, r.finish)
	dst = appendWord(dst, `,"failure":`, r.failure)
	dst = appendWord(dst, `,"failure_detail":`, r.detail)
	return append(r.chunks(dst), '}', '\n')
}

func (r *row) instants(dst []byte) []byte {
	for _, at := range [...]struct {
		key   string
		value time.Duration
	}{
		{`,"due_s":`, r.req.Due}, {`,"sent_s":`, r.sent}, {`,"written_s":`, r.written}, {`,"headers_s":`, r.headers},
		{`,"first_token_s":`, r.first}, {`,"last_token_s":`, r.last}, {`,"done_s":`, r.done},
		{`,"held_s":`, r.held}, {`,"connect_s":`, r.connect},
	} {
		if at.value != unknown {
			dst = plan.AppendSeconds(append(dst, at.key...), at.value)
		}
	}
	return dst
}

// chunks writes the offsets of all chunks that bore tokens, and their token counts where any is known.
func (r *row) chunks(dst []byte) []byte {
	if len(r.offsets) == 0 {
		return dst
	}
	dst = appendInts(append(dst, `,"chunk_offsets_us":`...), r.offsets, false)
	if !r.noCounts {
		dst = appendInts(append(dst, `,"chunk_tokens":`...), r.counts, true)
	}
	return strconv.AppendInt(append(dst, `,"reads":`...), int64(r.reads), 10)
}

func appendInts[N int32 | int64](dst []byte, ints []N, zeroIsNull bool) []byte {
	dst = append(dst, '[')
	for i, n := range ints {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n == 0 && zeroIsNull {
			dst = append(dst, "null"...)
			continue
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, ']')
}

func appendCount(dst []byte, key string, n int64) []byte {
	if n == wire.UnknownCount {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), n, 10)
}

func appendWord(dst []byte, key, word string) []byte {
	if word == "" {
		return dst
	}
	return plan.AppendString(append(dst, key...), word)
}

// appendTiming writes what the server says of its own time.
func appendTiming(dst []byte, t wire.Timing) []byte {
	for _, part := range [...]struct {
		key     string
		seconds float64
	}{
		{`,"server_ttft_s":`, t.Ttft}, {`,"server_generation_s":`, t.Generation},
		{`,"server_queue_s":`, t.Queue}, {`,"server_mean_itl_s":`, t.Itl},
	} {
		if part.seconds >= 0 {
			dst = strconv.AppendFloat(append(dst, part.key...), part.seconds, 'f', -1, 64)
		}
	}
	return dst
}
