package ingest

import (
	"encoding/json"
	"math"
	"strings"
)

// arrayKeys are the arrays of a run that was saved in detail, one element a
// request, in the order of the requests.
var arrayKeys = []string{
	"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "generated_texts", "errors",
	"cached_tokens", "cached_tokens_details",
}

// resultRequests are the requests of a run. A slice is empty where the file has
// no such array.
type resultRequests struct {
	inputs, outputs, ttfts, latencies, starts, queues, cached []float64
	gaps                                                      gapLists
	errors                                                    []string
	n                                                         int
	bad                                                       string // an array that cannot be read
}

// requests takes the arrays out of the object.
func (o resultObject) requests() resultRequests {
	var r resultRequests
	for _, array := range []struct {
		key  string
		into *[]float64
	}{
		{"input_lens", &r.inputs}, {"output_lens", &r.outputs}, {"ttfts", &r.ttfts}, {"latencies", &r.latencies},
		{"start_times", &r.starts}, {"queue_times", &r.queues}, {"cached_tokens", &r.cached},
	} {
		values, ok := o.floats(array.key)
		if !ok {
			r.bad = array.key
		}
		*array.into = values
		r.n = max(r.n, len(values))
	}
	if len(o["itls"]) > 0 && json.Unmarshal(o["itls"], &r.gaps) != nil {
		r.bad = "itls"
	}
	delete(o, "itls")
	if len(o["errors"]) > 0 && json.Unmarshal(o["errors"], &r.errors) != nil {
		r.bad = "errors"
	}
	delete(o, "errors")
	r.n = max(r.n, len(r.gaps), len(r.errors))
	return r
}

// gapLists are the gaps between chunks, in whole microseconds: a fifth of the
// memory that the text took.
type gapLists [][]int32

// UnmarshalJSON turns each list into microseconds as it comes.
func (g *gapLists) UnmarshalJSON(text []byte) error {
	var lists []gapList
	if err := json.Unmarshal(text, &lists); err != nil {
		return err
	}
	for _, list := range lists {
		*g = append(*g, list)
	}
	return nil
}

type gapList []int32

// UnmarshalJSON reads seconds.
func (g *gapList) UnmarshalJSON(text []byte) error {
	var values []float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*g = wholeMicroseconds(values, 1)
	return nil
}

// wholeMicroseconds makes gaps of a unit of so many seconds into microseconds. A
// gap of more than half an hour is cut to that.
func wholeMicroseconds(values []float64, unit float64) []int32 {
	gaps := make([]int32, len(values))
	for i, value := range values {
		gaps[i] = int32(min(max(math.Round(value*unit*1e6), 0), math.MaxInt32))
	}
	return gaps
}

// addRequests adds a row for each request. Latencies alone, which newer clients
// write without being asked for details, make rows too.
func (o resultObject) addRequests(out *rows, number int64, point int32, r resultRequests) error {
	for key, holds := range map[string]bool{"generated_texts": hasText(o["generated_texts"]), "errors": anyText(r.errors)} {
		if holds {
			if err := out.text(key); err != nil {
				return err
			}
		}
	}
	if r.bad != "" {
		return out.reject(number, r.bad, notANumber)
	}
	for i := range r.n {
		row := resultRequestRow{Point: point, Seq: int32(i)}
		if len(r.errors) > i {
			row.Failure = failureOf(r.errors[i])
		}
		row.InputTokens, row.OutputTokens, row.CachedTokens = tokensAt(r.inputs, i), tokensAt(r.outputs, i), tokensAt(r.cached, i)
		row.TTFTS, row.E2ES, row.StartedS = elementAt(r.ttfts, i), elementAt(r.latencies, i), elementAt(r.starts, i)
		if queue := elementAt(r.queues, i); queue != nil && row.StartedS != nil {
			row.DueS = new(*row.StartedS - *queue)
		}
		if len(r.gaps) > i {
			row.ChunkGapsUs = r.gaps[i]
		}
		if err := out.add(row); err != nil {
			return err
		}
	}
	return nil
}

func elementAt(values []float64, i int) *float64 {
	if i >= len(values) {
		return nil
	}
	return &values[i]
}

func tokensAt(values []float64, i int) *int64 {
	value := elementAt(values, i)
	if value == nil || *value < 0 || *value > maxTokens {
		return nil
	}
	return new(int64(*value))
}

func hasText(array json.RawMessage) bool {
	for _, c := range []byte(array) {
		if c > ' ' && !strings.ContainsRune(`[]",`, rune(c)) {
			return string(array) != "null"
		}
	}
	return false
}

func anyText(texts []string) bool {
	for _, text := range texts {
		if text != "" {
			return true
		}
	}
	return false
}

// failureOf makes a kind of what a client wrote of a failure, of which nothing
// else is kept; nil for none.
func failureOf(text string) *string {
	if text == "" {
		return nil
	}
	for _, kind := range []struct{ holds, kind string }{
		{"Too Many Requests", "http_429"}, {"Service Unavailable", "http_503"}, {"Bad Request", "http_400"}, {"Unauthorized", "http_401"},
		{"Not Found", "http_404"}, {"Internal Server Error", "http_500"}, {"Bad Gateway", "http_502"}, {"Gateway Time", "http_504"},
		{"Never received a valid chunk", "no_token"}, {"Timeout", "timeout"}, {"timed out", "timeout"}, {"ServerDisconnected", "cut_stream"},
		{"ClientPayloadError", "cut_stream"}, {"ConnectionReset", "cut_stream"}, {"ClientConnector", "no_connection"}, {"ConnectionRefused", "no_connection"},
	} {
		if strings.Contains(text, kind.holds) {
			return new(kind.kind)
		}
	}
	return new("other")
}
