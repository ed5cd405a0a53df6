//go:build duckdb_arrow

package analysis

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"tidemark/analysis/queueing"
	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// A mix is made in one pass over the requests, because a plan may have millions. Requests with about the same prompt length are added up
// in one part: eight lengths to a factor of two keep a prompt's work within a few percent. What is not linear in the length is added up
// per request (the query-key pairs), so that a part's sums are exact.

// MixChoice says which requests are in a mix, and what of them counts. Every field but the last comes from a flag of what-if, so that a user can ask
// about one class, about long prompts alone, or about a server with a cold cache.
type MixChoice struct {
	Class          string // of this class only; empty: all
	InputAbove     int    // with more prompt tokens only
	InputUpTo      int    // with so many prompt tokens at most; 0: all
	IsCold         bool   // as if nothing were found in a cache
	ByClass        bool   // classes are separate parts
	MaxConcurrency int    // of a closed loop; 0: open
	LengthSteps    int    // length buckets in a factor of two; 0: eight
}

// takes says whether the choice includes a request.
func (m MixChoice) takes(r plan.Request) bool {
	return r.InputTokens > m.InputAbove && (m.InputUpTo == 0 || r.InputTokens <= m.InputUpTo) && (m.Class == "" || m.Class == r.Class)
}

// mostArrivals is how many arrivals are kept, from the first on. A million is enough to tell how bursty a day of
// traffic is, and takes tens of megabytes.
const mostArrivals = 1_000_000

// lengthSteps is the usual number of length buckets in a factor of two. Neighbours differ by 9 %, about as much as predictions are off.
const lengthSteps = 8

// lengthKey names a bucket of lengths.
type lengthKey struct {
	class string
	step  int
}

// Prompts of up to shortPrompt tokens take about the same time, because weights are streamed anyway: they share a bucket.
const shortPrompt = 128

// keyOf is the bucket of a length.
func (m MixChoice) keyOf(class string, tokens int) lengthKey {
	steps := float64(cmp.Or(m.LengthSteps, lengthSteps))
	return lengthKey{class, int(math.Floor(steps * math.Log2(float64(max(1, tokens)))))}
}

// partSums are the sums over the requests of a bucket: their number, prompt tokens to compute, query-key pairs with cached tokens, output
// tokens, and output tokens times the mean context while they are decoded. Means follow from them in settle.
type partSums struct{ requests, uncached, pairs, output, decoding float64 }

// MixOf reads requests in order of their due times. Requests that are not chosen still count for the length of time, so that a class alone has
// the same rate that it has among all. Requests without a prompt or an answer are left out, as in a replay. If no request is left, that is an
// error. The rate is over the n - 1 gaps between n requests.
func MixOf(requests iter.Seq2[plan.Request, error], choice MixChoice) (queueing.Mix, error) {
	var m queueing.Mix
	parts, answers := map[lengthKey]*partSums{}, map[lengthKey]*partSums{}
	var gaps queueing.Moments
	first, last, before := math.Inf(1), math.Inf(-1), math.NaN()
	var input, cachedTokens float64
	all := 0.0
	var dues []float64
	var partOf []lengthKey // of each arrival
	for r, err := range requests {
		if err != nil {
			return m, err
		}
		due := r.Due.Seconds()
		first, last = min(first, due), max(last, due)
		all++
		if !choice.takes(r) || r.InputTokens < 1 || r.OutputTokens < 1 {
			continue
		}
		if !math.IsNaN(before) {
			gaps.Add(due - before)
		}
		before = due
		class := ""
		if choice.ByClass {
			class = r.Class
		}
		cached := r.SharedTokens
		if choice.IsCold {
			cached = 0
		}
		uncached := max(1, r.InputTokens-cached)
		part := choice.keyOf(class, max(shortPrompt, uncached))
		sumsOf(parts, part).add(r.InputTokens, uncached, r.OutputTokens)
		sumsOf(answers, choice.keyOf(class, r.OutputTokens)).add(r.InputTokens, uncached, r.OutputTokens)
		if len(dues) < mostArrivals {
			dues, partOf = append(dues, due), append(partOf, part)
			m.Arrivals = append(m.Arrivals, queueing.Arrival{DueS: due, Gaps: float32(r.OutputTokens - 1)})
		}
		m.Requests++
		m.OutputTokens += float64(r.OutputTokens)
		input += float64(r.InputTokens)
		cachedTokens += float64(r.InputTokens - uncached)
		if r.InputTokens+r.OutputTokens > m.Longest[0]+m.Longest[1] {
			m.Longest = [2]int{r.InputTokens, r.OutputTokens}
		}
	}
	if m.Requests == 0 {
		return m, hint.Errorf("no request with a prompt and an answer is left").Hint("look at the class and the lengths that were chosen")
	}
	m.ArrivalCV = gaps.CV()
	m.Busiest = busiestOf(dues)
	m.CachedRatio = cachedTokens / input
	m.Clients = float64(choice.MaxConcurrency)
	if all > 1 && last > first {
		m.RequestsPerS = m.Requests / all * (all - 1) / (last - first)
	}
	places := settle(&m, parts, answers)
	for i, part := range partOf {
		m.Arrivals[i].Part = places[part]
	}
	return m, nil
}

// busiestOf divides the time into up to twenty equal parts with at least 30 requests on average, and tests with chi-squared whether
// their counts are those of a steady Poisson rate. The bound is three standard deviations of chi-squared, about 1 in 700 by chance. If the
// rate is not steady, what-if says so, because a prediction for the mean rate does not hold in the busiest part.
func busiestOf(dues []float64) queueing.Busiest {
	const least = 30 // requests per part on average: with fewer, chi-squared is a poor approximation
	parts := min(20, len(dues)/least)
	if parts < 2 {
		return queueing.Busiest{}
	}
	first, length := dues[0], (dues[len(dues)-1]-dues[0])/float64(parts)
	if length <= 0 {
		return queueing.Busiest{}
	}
	counts := make([]float64, parts)
	for _, due := range dues {
		counts[min(parts-1, int((due-first)/length))]++
	}
	mean := float64(len(dues)) / float64(parts)
	var chi2 float64 // for Poisson counts its mean is parts - 1, its variance twice that
	for _, count := range counts {
		chi2 += (count - mean) * (count - mean) / mean
	}
	if free := float64(parts - 1); chi2 < free+3*math.Sqrt(2*free) {
		return queueing.Busiest{}
	}
	return queueing.Busiest{RateRatio: slices.Max(counts) / mean, LengthS: length}
}

// sumsOf is the bucket's sums, made on first use.
func sumsOf(sums map[lengthKey]*partSums, key lengthKey) *partSums {
	if sums[key] == nil {
		sums[key] = &partSums{}
	}
	return sums[key]
}

// add counts one request. Each uncached token is paired with every cached one; pairs among the uncached follow from their number.
func (s *partSums) add(input, uncached, output int) {
	s.requests++
	s.uncached += float64(uncached)
	s.pairs += float64(uncached) * float64(input-uncached)
	s.output += float64(output)
	s.decoding += float64(output) * (float64(input) + float64(output)/2)
}

// settle turns the sums into parts and answers, and says which place each bucket got. The order is fixed, because a map's order would change
// the last digits of a prediction from call to call.
func settle(m *queueing.Mix, parts, answers map[lengthKey]*partSums) (places map[lengthKey]int32) {
	places = map[lengthKey]int32{}
	for _, key := range slices.SortedFunc(maps.Keys(parts), lengthKey.compare) {
		s := parts[key]
		places[key] = int32(len(m.Parts))
		m.Parts = append(m.Parts, queueing.Part{
			Class: key.class, Share: s.requests / m.Requests, Uncached: s.uncached / s.requests, Cached: s.pairs / s.uncached,
			Output: s.output / s.requests, Context: s.decoding / s.output,
		})
	}
	for _, key := range slices.SortedFunc(maps.Keys(answers), lengthKey.compare) {
		s := answers[key]
		m.Answers = append(m.Answers, queueing.Answer{Class: key.class, Share: s.requests / m.Requests, Gaps: s.output/s.requests - 1})
	}
	return places
}

func (k lengthKey) compare(other lengthKey) int {
	return cmp.Or(cmp.Compare(k.class, other.class), cmp.Compare(k.step, other.step))
}
