package read

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tidemark/internal/lazy"
)

// Head is the start of a file, by which its format is recognised. What several
// formats ask about it is computed once: sixty formats look at every file.
type Head struct {
	Data []byte // up to blockSize bytes, without a byte order mark
	name string // of the file, without its folder and the endings of its packing; "-" for stdin

	Said map[string]string // which column is which, as the user says; see Options.Columns

	Line    []byte
	Columns []string
	Keys    []string
	Element []string
}

// NewHead looks at up to one block of a file.
func NewHead(data []byte, name string) *Head {
	h := &Head{Data: WithoutColours(bytes.TrimPrefix(data, ByteOrderMark)), name: name}
	h.Line = FirstLine(h.Data)
	switch {
	case bytes.HasPrefix(h.Line, []byte("{")):
		h.Keys = TopKeys(h.Data)
	case bytes.HasPrefix(h.Line, []byte("[")):
		_, inside, _ := bytes.Cut(h.Data, []byte("["))
		h.Element = TopKeys(inside)
	case bytes.IndexByte(h.Line, ',') >= 0:
		h.Columns = HeaderNames(h.Line)
	}
	return h
}

// If is the answer of a format's Sees: why the head is of that format, where it is.
func If(isSeen bool, why string) string {
	if isSeen {
		return why
	}
	return ""
}

// Has says whether the first JSON object has all of these keys. It may be the whole
// file or its first line.
func (h *Head) Has(keys ...string) bool { return HasAll(h.Keys, keys...) }

// ElementHas says the same of the first object of a JSON array.
func (h *Head) ElementHas(keys ...string) bool { return HasAll(h.Element, keys...) }

// ColumnsHave says whether the first line is a CSV header with all of these.
func (h *Head) ColumnsHave(names ...string) bool { return HasAll(h.Columns, names...) }

// IsLines says that the first line is a whole JSON object.
func (h *Head) IsLines() bool {
	return bytes.HasPrefix(h.Line, []byte("{")) && json.Valid(h.Line)
}

// IsLinesOfText says that the file is neither JSON, whose end can be seen, nor binary.
func (h *Head) IsLinesOfText() bool {
	text := bytes.TrimSpace(h.Data)
	return len(text) > 0 && text[0] != '{' && text[0] != '[' && bytes.IndexByte(h.Line, 0) < 0 && utf8.Valid(h.Line)
}

// terminalColours are what a program writes that thinks it has a terminal.
var terminalColours = lazy.Regexp("\x1b\\[[0-9;]*m")

// WithoutColours leaves out the codes that colour a log in a terminal.
func WithoutColours(text []byte) []byte {
	if bytes.IndexByte(text, 0x1b) < 0 {
		return text
	}
	return terminalColours().ReplaceAll(text, nil)
}

// TopKeys are the keys of the JSON object that a text starts with, in their order,
// as far as the text goes; nil where it starts with something else.
func TopKeys(text []byte) []string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	keys := []string{}
	for decoder.More() {
		token, err := decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return keys
		}
		keys = append(keys, key)
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return keys
		}
	}
	return keys
}

// ByteOrderMark is what Windows programs put before UTF-8.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// DescribeHead says what a head looks like without a word of its data: names of
// columns and keys only where they look like names.
func DescribeHead(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return "a Parquet file"
	case bytes.HasPrefix(head, gzipMagic), bytes.HasPrefix(head, zstdMagic):
		return "a file that was compressed twice"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16 text"
	case bytes.IndexByte(head[:min(len(head), 4096)], 0) >= 0:
		return "binary data"
	}
	line := FirstLine(head)
	switch {
	case bytes.HasPrefix(line, []byte("{")):
		if keys := jsonKeys(line); keys != nil {
			return "JSON lines with " + ListNames(keys)
		}
		return "text that begins like JSON"
	case bytes.HasPrefix(line, []byte("[")):
		return "a JSON array"
	case CSVProblem(line) == OpenQuote:
		return "a CSV whose first line ends inside quotes: write each name of a column on one line"
	case bytes.IndexByte(line, ',') >= 0:
		return "a CSV with " + ListNames(HeaderNames(line))
	case bytes.IndexByte(line, ';') >= 0:
		return "a table whose columns are separated by semicolons: export it with commas, and with points in numbers"
	}
	return "text that is neither CSV nor JSON lines"
}

// FirstLine is the first line that is not blank, trimmed.
func FirstLine(head []byte) []byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, ByteOrderMark), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.TrimSpace(line)
}

// HeaderNames are the columns of a CSV header, or what comes nearest to that.
func HeaderNames(line []byte) []string {
	if names, reason := CSVFields(line); reason == "" {
		return names
	}
	names := strings.Split(string(line), ",")
	for i, name := range names {
		names[i] = strings.Trim(strings.TrimSpace(name), `"`)
	}
	return names
}

// jsonKeys are the keys of one JSON object, sorted; nil where it is none.
func jsonKeys(line []byte) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(line, &object) != nil {
		return nil
	}
	return SortedKeys(object)
}

// NameLike matches what can be shown to the user as the name of a column or key.
// Anything else might be data.
var NameLike = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_ .-]{0,40}$`)

// ListNames lists names for a message, or only counts them where one might be data.
func ListNames(names []string) string {
	if len(names) > 12 || slices.ContainsFunc(names, func(name string) bool { return !NameLike().MatchString(name) }) {
		return fmt.Sprintf("%d columns", len(names))
	}
	return strings.Join(names, ", ")
}

// HasAll says whether all of the wanted are there.
func HasAll(keys []string, wanted ...string) bool {
	return !slices.ContainsFunc(wanted, func(key string) bool { return !slices.Contains(keys, key) })
}

var yamlKey = lazy.Regexp(`(?m)^['"]?([A-Za-z_][A-Za-z0-9_]*)['"]?:`)

// YAMLKeys are the names at the start of lines, as far as the text goes.
func YAMLKeys(text []byte) []string {
	var keys []string
	for _, found := range yamlKey().FindAllSubmatch(text, 200) {
		keys = append(keys, string(found[1]))
	}
	return keys
}

// ParquetMagic are the first bytes of every Parquet file.
var ParquetMagic = []byte("PAR1")
