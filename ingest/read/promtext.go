package read

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Prometheus text, a line at a time. This parser serves the metrics that users hand
// over and the scrapes of our own runs alike. It is used in place of Prometheus'
// own (common/expfmt) for two reasons: expfmt holds a whole exposition and refuses
// all of it for one bad line, where here a line is a reject of its own; and a file
// repeats the labels of a few hundred series in every scrape, which are parsed once
// and remembered.

// Label is one pair of a sample's labels.
type Label struct{ Key, Value string }

// Labels reads samples and writes their labels the same way whoever exposed them:
// k="v" sorted by key, with the bounds of buckets as numbers (1, not 1.0), so that one
// series has one text. Values that name people or hold texts are replaced by numbers.
// It is not for use by several goroutines.
type Labels struct {
	// IsVerbatim keeps every value as it is, for expositions of the user's own server.
	IsVerbatim bool

	people map[string]int    // whom a label names, in the order of first sight
	texts  map[string]string // labels as a file wrote them -> as we do
}

// NewLabels starts a file: numbers of people count from 1 in each.
func NewLabels() *Labels {
	return &Labels{people: map[string]int{}, texts: map[string]string{}}
}

// ofPeople are labels of gateways that say whose request it was, or by which key.
var ofPeople = []string{"user", "user_id", "user_email", "end_user", "end_user_id", "api_key", "api_key_alias", "api_key_name", "hashed_api_key",
	"team", "team_id", "team_alias", "email", "username", "user_name", "customer", "customer_id", "session", "session_id", "conversation_id", "client_ip", "requester_ip_address", "org_id", "organization"}

// ofTexts are labels that nobody should write, and whose values are what people or
// models wrote: which were alike is all that is kept.
var ofTexts = []string{"prompt", "text", "message", "messages", "content", "query", "question", "answer", "response", "completion",
	"system_prompt", "user_prompt", "user_message", "error_message", "exception_message"}

// maxLabelBytes is far more than any path of a model has.
const maxLabelBytes = 1024

// Write refuses a value that is longer than a label can be.
func (b *Labels) Write(pairs []Label) (text, reason string) {
	slices.SortStableFunc(pairs, func(x, y Label) int { return strings.Compare(x.Key, y.Key) })
	var out []byte
	for _, pair := range pairs {
		value := pair.Value
		switch {
		case value == "" || pair.Key == "__name__":
			continue // a label without a value is no label
		case !b.IsVerbatim && (len(value) > maxLabelBytes || len(pair.Key) > maxLabelBytes):
			return "", TooLong
		case pair.Key == "le" || pair.Key == "quantile":
			if bound, err := strconv.ParseFloat(value, 64); err == nil {
				value = PlainBound(bound)
			}
		case !b.IsVerbatim && (slices.Contains(ofPeople, strings.ToLower(pair.Key)) || slices.Contains(ofTexts, strings.ToLower(pair.Key))):
			value = b.person(value)
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(append(out, pair.Key...), '=')
		out = strconv.AppendQuote(out, value)
	}
	return string(out), ""
}

// maxPeople bounds what is remembered of a file; all others are one.
const maxPeople = 100_000

// person is the number of a person, or of a text.
func (b *Labels) person(name string) string {
	number, known := b.people[name]
	if !known && len(b.people) < maxPeople {
		number = len(b.people) + 1
		b.people[name] = number
	}
	return strconv.Itoa(number)
}

// PromSample is one line of an exposition.
type PromSample struct {
	Name, Labels string
	Value        float64
	Stamp        []byte // as the line has it; nil without
}

// Sample takes a line such as name{k="v"} 1.68e+010 1700000000000 # {...} apart.
// The name may stand in the braces, quoted or as __name__.
func (b *Labels) Sample(line []byte) (s PromSample, reason string) {
	end := bytes.IndexAny(line, "{ \t")
	if end < 0 {
		return s, NotASample
	}
	s.Name = string(line[:end])
	rest := line[end:]
	if rest[0] == '{' {
		close := closingBrace(rest)
		if close < 0 {
			return s, NotASample
		}
		name, labels, reason := b.known(rest[:close+1])
		if reason != "" {
			return s, reason
		}
		s.Name = cmp.Or(s.Name, name)
		s.Labels, rest = labels, rest[close+1:]
	}
	if !IsMetricName(s.Name) {
		return s, NotASample
	}
	value, rest := FirstWord(rest)
	s.Value, reason = MetricValue(value)
	if reason != "" {
		return s, reason
	}
	if stamp, _ := FirstWord(rest); len(stamp) > 0 && stamp[0] != '#' {
		s.Stamp = stamp
	}
	return s, ""
}

// MaxKnownLabels bounds the memory of labels that were seen.
const MaxKnownLabels = 50_000

// known reads labels in braces; the same text is read once.
func (b *Labels) known(braces []byte) (name, labels, reason string) {
	if text, ok := b.texts[string(braces)]; ok {
		name, labels, _ = strings.Cut(text, "\x00")
		return name, labels, ""
	}
	pairs, name, ok := LabelPairs(braces[1 : len(braces)-1])
	if !ok {
		return "", "", NotASample
	}
	labels, reason = b.Write(pairs)
	if reason == "" && len(b.texts) < MaxKnownLabels {
		b.texts[string(braces)] = name + "\x00" + labels
	}
	return name, labels, reason
}

// closingBrace finds the end of labels; braces in quotes do not count.
func closingBrace(text []byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == '}':
			return i
		}
	}
	return -1
}

// LabelPairs reads k="v",k="v" with escapes; a quoted text alone is the name.
func LabelPairs(text []byte) (pairs []Label, name string, ok bool) {
	for {
		text = bytes.TrimLeft(text, " \t,")
		if len(text) == 0 {
			return pairs, name, true
		}
		if text[0] == '"' {
			var key, value string
			key, text, ok = quotedText(text)
			if ok && (len(text) == 0 || text[0] != '=') {
				name = key
				continue
			}
			if !ok || len(text) < 2 {
				return nil, "", false
			}
			if value, text, ok = quotedText(text[1:]); !ok {
				return nil, "", false
			}
			pairs = append(pairs, Label{key, value})
			continue
		}
		key, rest, found := bytes.Cut(text, []byte{'='})
		if !found {
			return nil, "", false
		}
		value, after, ok := quotedText(bytes.TrimLeft(rest, " "))
		if !ok {
			return nil, "", false
		}
		pair := Label{string(bytes.TrimSpace(key)), value}
		if pair.Key == "__name__" {
			name = value
		}
		pairs, text = append(pairs, pair), after
	}
}

// quotedText reads a text in quotes with \\, \" and \n in it.
func quotedText(text []byte) (value string, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return "", nil, false
	}
	end := bytes.IndexAny(text[1:], `"\`)
	if end >= 0 && text[1+end] == '"' {
		return string(text[1 : 1+end]), text[2+end:], true
	}
	var out []byte
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return string(out), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == 'n' {
				out = append(out, '\n')
			} else {
				out = append(out, text[i])
			}
		default:
			out = append(out, c)
		}
	}
	return "", nil, false
}

// IsMetricName says whether a text can name a metric: words of any exporter, but
// nothing that could be a sentence.
func IsMetricName(name string) bool {
	if name == "" || len(name) > 256 || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for _, c := range []byte(name) {
		if !(c == '_' || c == ':' || c == '.' || c == '-' || c == '/' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// FirstWord is the first word of a text, and what follows it.
func FirstWord(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	if end := bytes.IndexAny(text, " \t"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, nil
}

// MetricValue reads what Prometheus writes: 1, 1.68e+010, NaN, +Inf.
func MetricValue(text []byte) (float64, string) {
	value, err := strconv.ParseFloat(string(text), 64)
	switch {
	case len(text) == 0:
		return 0, Missing
	case err != nil && math.IsInf(value, 0):
		return 0, OutOfRange
	case err != nil:
		return 0, NotANumber
	}
	return value, ""
}

// PlainBound writes a bound in one way, whoever exposed it: 1, not 1.0. Infinity is
// +Inf, as Prometheus writes it.
func PlainBound(bound float64) string {
	return strconv.FormatFloat(bound, 'g', -1, 64) // "+Inf" is as Prometheus writes it
}
