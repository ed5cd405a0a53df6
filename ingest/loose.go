package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/hint"

	"go.yaml.in/yaml/v3"
)

// What results of other tools have in common: numbers that may be missing, trees
// of settings, statistics by many names.

// measure is a number that may be null, missing, or no number at all.
type measure struct {
	value float64
	is    bool
}

// UnmarshalJSON takes a number, or a text that is one; anything else, and what is
// not finite, is no number. It never fails: one odd value does not cost the rest.
func (m *measure) UnmarshalJSON(text []byte) error {
	*m = measureOf(strings.Trim(string(text), `"`))
	return nil
}

func measureOf(text string) measure {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return measure{}
	}
	return measure{value, true}
}

// times is the number in another unit; nil for none.
func (m measure) times(factor float64) *float64 {
	if !m.is {
		return nil
	}
	return new(m.value * factor)
}

func (m measure) number() *float64 { return m.times(1) }

// count is the number where it is a whole one that is not negative.
func (m measure) count() *int64 {
	if !m.is || m.value < 0 || m.value > 1<<53 || m.value != math.Trunc(m.value) {
		return nil
	}
	return new(int64(m.value))
}

// term is a text that may be missing or be something else.
type term string

func (t *term) UnmarshalJSON(text []byte) error {
	var value string
	_ = json.Unmarshal(text, &value)
	*t = term(value)
	return nil
}

// presence says whether there is something: a text that is not empty, a list or an
// object with something in it. Its content is not kept.
type presence bool

func (p *presence) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null", `""`, "[]", "{}", "false", "0":
	default:
		*p = true
	}
	return nil
}

var percentileName = regexp.MustCompile(`^p(\d{1,3})(?:[._p](\d+))?(?:th)?$`)

// statistic is how raw.figures calls a statistic; "" for what is none.
func statistic(name string) string {
	switch name {
	case "mean", "avg", "average":
		return "mean"
	case "median":
		return "p50"
	case "std", "stddev", "std_dev":
		return "std"
	case "sum", "total_sum":
		return "sum"
	case "min", "max", "count", "mode", "variance", "value":
		return name
	}
	parts := percentileName.FindStringSubmatch(name)
	if parts == nil {
		return ""
	}
	if parts[2] != "" {
		return "p" + parts[1] + "." + parts[2]
	}
	return "p" + parts[1]
}

// unixInstant is an instant of Unix seconds; nil where it is none of this age.
func unixInstant(m measure) *time.Time {
	if !m.is || m.value < 1e9 || m.value > 1e10 {
		return nil
	}
	whole, fraction := math.Modf(m.value)
	return new(time.Unix(int64(whole), int64(fraction*1e9)).UTC())
}

// isoTime is an instant as ISO 8601 or Python's str() writes it; without a zone it
// is taken for UTC.
func isoTime(text string) *time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return new(at.UTC())
		}
	}
	return nil
}

// shortWord is a word or null.
func shortWord(text string) *string { return orNil(word(text)) }

// modelName is a model as it is called. Of a folder on somebody's disk only the
// last part is kept: what is before it may name a person.
func modelName(text string) *string {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.Contains(text, `\`) {
		text = text[strings.LastIndexAny(strings.TrimRight(text, `/\`), `/\`)+1:]
	}
	return shortWord(strings.TrimRight(text, `/\`))
}

// notSettings are keys of settings that name people, places or secrets, or hold
// texts.
var notSettings = regexp.MustCompile(`(?i)(^|[._-])(api_?key|token|secret|password|authorization|headers?|user(name)?|url|base_url|target|host(name)?|address|description|keywords|labels?|prompt|path|cwd|cmd|command|str|envars|environ|location|email|node|namespace|proxy|logs?|id_?|uid|cid|eid|pid)$`)

// flatten puts what a tree says of how something was measured into settings, under
// dotted keys: numbers, booleans and words. Places on disks and in networks are
// left out.
func flatten(into map[string]any, prefix string, value any) {
	const enough, deep = 400, 8
	if len(into) >= enough || strings.Count(prefix, ".") >= deep {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			if word(key) == "" || strings.Contains(key, "/") || notSettings.MatchString(strings.TrimLeft(key, "-")) {
				continue
			}
			name := key
			if prefix != "" {
				name = prefix + "." + key
			}
			flatten(into, name, value[key])
		}
	case []any:
		for i, element := range value[:min(len(value), 16)] {
			flatten(into, prefix+"."+strconv.Itoa(i), element)
		}
	case string:
		// 0.9.0.1 is a version or an address.
		if isHarmless(value) || strings.HasSuffix(prefix, "version") && word(value) != "" {
			into[prefix] = value
		}
	case float64, bool:
		into[prefix] = value
	}
}

// isHarmless says that a word is no place: no path, no address.
func isHarmless(text string) bool {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = text
	}
	return word(text) != "" && net.ParseIP(host) == nil &&
		!strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~") && !strings.ContainsAny(text, `\@`) &&
		!strings.Contains(text, "://") && !strings.Contains(text, "object at 0x")
}

// maxTreeBytes is the longest report that is held as a tree, which takes many
// times its text.
const maxTreeBytes = 8 << 20

// tree is a report that is small: JSON or YAML as maps, lists, float64, bool and
// string. What is none of these, or no finite number, is left out.
func (d *document) tree() (map[string]any, error) {
	text, err := io.ReadAll(io.LimitReader(d.reader(), maxTreeBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTreeBytes {
		return nil, hint.Errorf("a report of more than %d MB", maxTreeBytes>>20).Hint("what is read here are summaries; split it")
	}
	return treeOf(text)
}

func treeOf(text []byte) (map[string]any, error) {
	var value any
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		decoder := json.NewDecoder(bytes.NewReader(withoutNaN(text)))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			return nil, hint.Errorf("not a whole JSON object").Hint("it is cut or broken; take it from its source again")
		}
	} else if yaml.Unmarshal(text, &value) != nil {
		return nil, hint.Errorf("not YAML").Hint("it is cut or broken; take it from its source again")
	}
	root, ok := plainTree(value, 0).(map[string]any)
	if !ok {
		return nil, hint.Errorf("not an object").Hint("it is cut or broken; take it from its source again")
	}
	return root, nil
}

func plainTree(value any, depth int) any {
	const deepest = 64
	if depth > deepest {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = plainTree(inner, depth+1)
		}
		return value
	case map[any]any:
		plain := make(map[string]any, len(value))
		for key, inner := range value {
			plain[fmt.Sprint(key)] = plainTree(inner, depth+1)
		}
		return plain
	case []any:
		for i, inner := range value {
			value[i] = plainTree(inner, depth+1)
		}
		return value
	case json.Number:
		return finite(measureOf(value.String()))
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case uint64:
		return float64(value)
	case float64:
		return finite(measure{value, !math.IsInf(value, 0) && !math.IsNaN(value)})
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	case string, bool:
		return value
	}
	return nil
}

// finite is "" for what is no finite number: null, which is not said, is nil.
func finite(m measure) any {
	if !m.is {
		return ""
	}
	return m.value
}

// within follows keys down a tree; nil where there is nothing.
func within(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

func textWithin(value any, keys ...string) string {
	text, _ := within(value, keys...).(string)
	return text
}

func numberWithin(value any, keys ...string) measure {
	number, is := within(value, keys...).(float64)
	return measure{number, is}
}

// withoutNaN writes an empty text over each NaN and Infinity outside of texts,
// which Python puts into JSON that no strict reader takes. In place.
func withoutNaN(text []byte) []byte {
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == 'N' && bytes.HasPrefix(text[i:], []byte("NaN")):
			copy(text[i:], `"" `)
			i += len("NaN") - 1
		case c == 'I' && bytes.HasPrefix(text[i:], []byte("Infinity")):
			from := i
			if i > 0 && text[i-1] == '-' {
				from--
			}
			copy(text[from:], []byte(`""         `)[:i+8-from])
			i += len("Infinity") - 1
		}
	}
	return text
}

// eachOfArray reads a JSON array one element at a time, numbered from 1, so that
// it may be longer than memory.
func eachOfArray(r io.Reader, use func(number int64, element json.RawMessage) error) error {
	held := &boundedElement{from: r}
	decoder := json.NewDecoder(held)
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') {
		return hint.Errorf("not a JSON array").Hint("it is cut or broken; take it from its source again")
	}
	for number := int64(1); decoder.More(); number++ {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return broken(number, err)
		}
		held.read = 0
		if err := use(number, element); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return broken(0, err)
	}
	return nil
}

// boundedElement ends a text in which one element takes too much.
type boundedElement struct {
	from io.Reader
	read int
}

const maxElementBytes = 256 << 20

func (b *boundedElement) Read(into []byte) (int, error) {
	if b.read > maxElementBytes {
		return 0, hint.Errorf("one element of more than %d MB", maxElementBytes>>20).Hint("check where the file came from")
	}
	n, err := b.from.Read(into)
	b.read += n
	return n, err
}

// broken says where a JSON array ends too early; a reader's own error is kept.
func broken(number int64, err error) error {
	if _, isSyntax := err.(*json.SyntaxError); !isSyntax && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if number == 0 {
		return hint.Errorf("the JSON array is not closed").Hint("it is cut or broken; take it from its source again")
	}
	return hint.Errorf("element %d is not JSON, or cut", number).Hint("take the file from its source again")
}

// figure is one number of a tool, where there is one.
func (r *rows) figure(point int32, name, statistic, unit string, value measure) error {
	if !value.is || word(name) == "" {
		return nil
	}
	return r.add(figureRow{Point: point, Name: name, Statistic: statistic, Unit: orNil(unit), Value: value.value})
}

// treeOfRaw is a tree of a small part of a document; nil where there is none.
func treeOfRaw(raw json.RawMessage) any {
	if len(raw) == 0 || len(raw) > maxTreeBytes {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return plainTree(value, 0)
}

// sortedKeys are a map's keys in order, so that the same file makes the same rows.
func sortedKeys[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
