package results

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// The arrays of a run that was saved in detail: one array per quantity, one element
// per request. A run of a million requests has hundreds of millions of gaps, so
// each element is converted as it is read (gaps to 32-bit microseconds) and the
// memory of all arrays is bounded.

// arrayKeys are the arrays of a run that was saved in detail, with one element for
// each request, in the order of the requests.
var arrayKeys = []string{
	"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "generated_texts", "errors",
	"cached_tokens", "cached_tokens_details",
}

// requestArrays are the requests of a run. A slice is empty where the file has no
// such array; NaN stands for null.
type requestArrays struct {
	inputs, outputs, ttfts, latencies, starts, queues, cached []float64
	gaps                                                      []int32   // of all requests, whole microseconds
	gapsOf                                                    []gapsOf  // of each request
	failures                                                  []*string // kinds; nil: succeeded
	hasTexts, hasErrors                                       bool
	bad                                                       string         // an array that cannot be read
	held                                                      int            // bytes of all of the above
	negatives                                                 map[string]int // by array: elements that cannot be
}

// gapsOf is where the gaps of a request end among those of all requests, and their
// sum in seconds before rounding: rounding each gap first would add up to an error
// of half a microsecond per token.
type gapsOf struct {
	end   int
	sum   float64
	areIn bool
}

// maxHeldBytes bounds what the arrays of one result may take: some 12 million gaps,
// or six million other numbers. While the slices grow, it is about three times as
// much.
const maxHeldBytes = 48 << 20

// hold counts the bytes of one more element, so that an array cannot fill the memory.
func (r *requestArrays) hold(bytes int) error {
	if r.held += bytes; r.held > maxHeldBytes {
		return hint.Errorf("the arrays of one result hold more than %d MB of numbers", maxHeldBytes>>20).
			Hint("save it without --save-detailed, or split the run")
	}
	return nil
}

// array reads the value of a key that is one of arrayKeys. Of generated_texts only
// whether one is not empty is of interest; the texts are skipped byte by byte.
func (r *requestArrays) array(j *read.JSONStream, key string) (isArray bool, err error) {
	if !slices.Contains(arrayKeys, key) {
		return false, nil
	}
	if c, err := j.Next(); err != nil || c != '[' { // null
		return true, cmp.Or(err, j.Skip())
	}
	into := map[string]*[]float64{
		"input_lens": &r.inputs, "output_lens": &r.outputs, "ttfts": &r.ttfts, "latencies": &r.latencies,
		"start_times": &r.starts, "queue_times": &r.queues, "cached_tokens": &r.cached,
	}[key]
	return true, j.Elements(func() error {
		c, err := j.Next()
		switch {
		case err != nil:
			return err
		case into != nil:
			value, err := r.number(j, key)
			*into = append(*into, value)
			return cmp.Or(err, r.hold(8))
		case key == "itls":
			return r.gapsOfOne(j, c)
		case key == "errors":
			return r.failure(j, c)
		case key == "generated_texts" && c == '"':
			isEmpty, err := j.SkipsEmpty()
			r.hasTexts = r.hasTexts || !isEmpty
			return err
		}
		return j.Skip()
	})
}

// gapsOfOne reads the gaps of one request, in seconds.
func (r *requestArrays) gapsOfOne(j *read.JSONStream, first byte) error {
	one := gapsOf{areIn: first == '['}
	err := r.hold(24)
	switch {
	case err != nil:
	case one.areIn:
		err = j.Elements(func() error {
			value, err := r.number(j, "itls")
			if !math.IsNaN(value) {
				one.sum += value
			}
			r.gaps = append(r.gaps, microseconds(value))
			return cmp.Or(err, r.hold(4))
		})
	default:
		err = j.Skip()
	}
	one.end = len(r.gaps)
	r.gapsOf = append(r.gapsOf, one)
	return err
}

// number reads an element. Anything but a number or null spoils its array, because
// the elements behind it can no longer be trusted. A negative number is dropped and
// counted, except in start_times, whose clock has a zero of its own.
func (r *requestArrays) number(j *read.JSONStream, key string) (float64, error) {
	c, err := j.Next()
	if err != nil {
		return 0, err
	}
	if c == '"' || c == '[' || c == '{' {
		r.bad = key
		return math.NaN(), j.Skip()
	}
	text, err := j.Bare()
	if err != nil || string(text) == "null" || string(text) == "NaN" {
		return math.NaN(), err
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		r.bad = key
		return math.NaN(), nil
	}
	if value < 0 && key != "start_times" { // of a clock with a zero of its own
		if r.negatives == nil {
			r.negatives = map[string]int{}
		}
		r.negatives[key]++
		return math.NaN(), nil
	}
	return value, nil
}

// failure reads the error of one request; an empty string is success.
func (r *requestArrays) failure(j *read.JSONStream, first byte) error {
	if err := r.hold(8); err != nil {
		return err
	}
	if first != '"' {
		r.failures = append(r.failures, nil)
		return j.Skip()
	}
	text, err := j.Text()
	kind := failureOf(string(text))
	r.hasErrors = r.hasErrors || kind != nil
	r.failures = append(r.failures, kind)
	return err
}

// addTo adds a row for each request. Latencies alone, which newer clients write
// without being asked for details, make rows too. Arrays of different lengths do
// not say which element belongs to which request: then there are no rows, and a
// note.
func (r *requestArrays) addTo(out *read.Rows, number int64) error {
	tellTexts(out, textField{"generated_texts", read.Presence(r.hasTexts)}, textField{"errors", read.Presence(r.hasErrors)})
	if r.bad != "" {
		return out.Reject(number, r.bad, read.NotANumber)
	}
	for _, key := range read.SortedKeys(r.negatives) {
		out.Implausible(key, "negative", r.negatives[key])
	}
	count, areEqual := r.count()
	if !areEqual {
		out.Note("result %d: its arrays are of different lengths, so no request was taken", number)
		return nil
	}
	for i := range count {
		out.Add(r.row(i))
	}
	return out.Err()
}

// count is how many requests the arrays hold, and whether all arrays agree.
func (r *requestArrays) count() (count int, areEqual bool) {
	areEqual = true
	for _, length := range []int{
		len(r.inputs), len(r.outputs), len(r.ttfts), len(r.latencies), len(r.starts), len(r.queues), len(r.cached), len(r.gapsOf), len(r.failures),
	} {
		if length > 0 {
			areEqual = areEqual && (count == 0 || count == length)
			count = length
		}
	}
	return count, areEqual
}

// row is one request. Without latencies, its end is that of its last chunk, TTFT
// plus all gaps.
func (r *requestArrays) row(i int) Request {
	row := Request{
		Seq:         int32(i),
		InputTokens: tokensAt(r.inputs, i), OutputTokens: tokensAt(r.outputs, i), CachedTokens: tokensAt(r.cached, i),
		TTFTS: elementAt(r.ttfts, i), E2ES: elementAt(r.latencies, i), StartedS: elementAt(r.starts, i),
	}
	if queue := elementAt(r.queues, i); queue != nil && row.StartedS != nil {
		row.DueS = new(*row.StartedS - *queue)
	}
	if len(r.failures) > i {
		row.Failure = r.failures[i]
	}
	if len(r.gapsOf) > i && r.gapsOf[i].areIn {
		from := 0
		if i > 0 {
			from = r.gapsOf[i-1].end
		}
		row.ChunkGapsUs = r.gaps[from:r.gapsOf[i].end:r.gapsOf[i].end]
		if row.ChunkGapsUs == nil {
			row.ChunkGapsUs = []int32{}
		}
		if r.e2eFromGaps() && row.TTFTS != nil && *row.TTFTS > 0 {
			row.E2ES = new(*row.TTFTS + r.gapsOf[i].sum)
		}
	}
	return row
}

// e2eFromGaps says that the file has no latencies, so that e2e_s ends with the last
// chunk and not with the end of the stream. A setting of the point records that.
func (r *requestArrays) e2eFromGaps() bool {
	return len(r.latencies) == 0 && len(r.gapsOf) > 0 && len(r.ttfts) > 0
}

// elementAt is an element that is there and not null.
func elementAt(values []float64, i int) *float64 {
	if i >= len(values) || math.IsNaN(values[i]) {
		return nil
	}
	return &values[i]
}

// tokensAt is an element that counts tokens.
func tokensAt(values []float64, i int) *int64 {
	value := elementAt(values, i)
	if value == nil || *value < 0 || *value > read.MaxTokens {
		return nil
	}
	return new(int64(*value))
}
