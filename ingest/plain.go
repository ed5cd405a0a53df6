package ingest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// Any table of requests: CSV with a header (comma, semicolon, tab or bar), JSON
// lines, or a JSON array of objects. Columns are known by their names, or as the
// user says: --column input_tokens=prompt_len. A nested key is its path, as
// usage.prompt_tokens. A log without a header has columns #1, #2, ...
var _ = register(format{
	name:         "plain",
	sees:         seesPlain,
	read:         readPlain,
	wants:        "columns, or JSON keys, for the arrival, the input tokens and the output tokens, by any usual name or as --column says",
	isGuess:      true,
	takesColumns: true,
})

func seesPlain(h *head) string {
	if len(h.said) > 0 {
		if h.isTable() {
			return "a table, with columns as they were said"
		}
		return ""
	}
	names := h.tableColumns()
	var has [partCount]bool
	for _, name := range names {
		has[meaningOf(name, meanings).part] = true
	}
	if !has[arrivesAt] || !has[inputLength] || !has[outputLength] && !has[totalLength] {
		return ""
	}
	return "a table with " + listed(names)
}

// isTable says whether the head can be a table of any kind.
func (h *head) isTable() bool {
	line := h.line
	return len(line) > 0 && !bytes.HasPrefix(h.data, parquetMagic) && (h.isLines() || h.element != nil || line[0] != '{' && line[0] != '[' && bytes.IndexByte(h.data[:min(len(h.data), 4096)], 0) < 0)
}

// tableColumns are the names of a CSV header's columns, or the paths of the keys
// of the first JSON object.
func (h *head) tableColumns() (names []string) {
	switch {
	case h.isLines():
		eachValue(h.line, nil, 0, func(path, _ []byte) { names = append(names, string(path)) })
	case h.element != nil:
		var first json.RawMessage
		_, inside, _ := bytes.Cut(h.data, []byte("["))
		if json.NewDecoder(bytes.NewReader(inside)).Decode(&first) == nil {
			eachValue(first, nil, 0, func(path, _ []byte) { names = append(names, string(path)) })
		}
	case len(h.line) > 0 && h.line[0] != '{' && h.line[0] != '[':
		if fields, reason := splitFields(h.line, separatorOf(h.line), nil); reason == "" && len(fields) > 1 {
			names = fieldNames(fields)
		}
	}
	return names
}

func readPlain(d *document, out *rows) error {
	return readTable(d, out, dialect{words: meanings})
}

// dialect is what a log of one maker is read by, beside the usual names.
type dialect struct {
	words map[string]meaning
	// isNone tells of records that are no requests to a model.
	isNone func(r *request) bool
}

// readTable reads a table of requests, in any of its dresses.
func readTable(d *document, out *rows, of dialect) error {
	names, err := newColumnNames(d.columns, of.words)
	if err != nil {
		return err
	}
	line := firstLine(d.first.data)
	t := newRequestTable(out)
	t.isNone = of.isNone
	switch {
	case len(line) > 0 && line[0] == '{':
		err = readJSONTable(d, t, names)
	case len(line) > 0 && line[0] == '[' && !commonLog.Match(line):
		err = readJSONArray(d, t, names)
	default:
		err = readCSVTable(d, t, names)
	}
	t.end()
	return err
}

// columnMeanings knows what a column is by its name, or by what the user says.
type columnMeanings struct {
	words map[string]meaning
	said  map[string]meaning // by their names
	taken [partCount]bool    // said
}

func newColumnNames(said map[string]string, words map[string]meaning) (*columnMeanings, error) {
	c := &columnMeanings{words: words, said: map[string]meaning{}}
	for ours, theirs := range said {
		m, ok := oursCalled(ours)
		switch {
		case !ok:
			return nil, hint.Misuse("--column %s=...: no such column of ours", ours).Hint("%s", "known are "+oursListed)
		case c.taken[m.part]:
			return nil, hint.Misuse("--column %s=...: said twice", ours).Hint("say one column for each thing")
		}
		c.said[theirs] = m
		c.taken[m.part] = true
	}
	return c, nil
}

func (c *columnMeanings) of(name string) meaning {
	if m, ok := c.said[name]; ok {
		return m
	}
	if m := meaningOf(name, c.words); !c.taken[m.part] {
		return m
	}
	return meaning{}
}

// unseen names what was said and is not there.
func (c *columnMeanings) unseen(names []string) error {
	var missing []string
	for theirs := range c.said {
		if !slices.Contains(names, theirs) {
			missing = append(missing, theirs)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return hint.Errorf("%s", "no column "+strings.Join(missing, ", ")).Hint("%s", "there are "+listed(names))
}

var commonLog = regexp.MustCompile(`^\S+ \S+ \S+ \[`)

// separatorOf is what stands between the fields of a line: the most frequent of
// the usual ones. A web server's log has blanks.
func separatorOf(line []byte) byte {
	if commonLog.Match(line) {
		return ' '
	}
	best, most := byte(','), 0
	for _, c := range []byte(",;\t|") {
		if count := bytes.Count(line, []byte{c}); count > most {
			best, most = c, count
		}
	}
	if most == 0 && bytes.IndexByte(line, ' ') > 0 {
		return ' '
	}
	return best
}

func fieldNames(fields [][]byte) []string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strings.TrimSpace(strings.ReplaceAll(string(field), `""`, `"`))
	}
	return names
}

// splitFields cuts a line into its fields, without their quotes. Blanks as
// separators may be several, and brackets quote as in a web server's log.
func splitFields(line []byte, separator byte, into [][]byte) (fields [][]byte, reason string) {
	fields = into[:0]
	if separator == ' ' {
		return splitLog(line, fields)
	}
	for at := 0; at <= len(line); {
		field, next, reason := fieldAt(line, at, separator)
		if reason != "" {
			return nil, reason
		}
		fields = append(fields, bytes.TrimSpace(field))
		at = next
	}
	return fields, ""
}

func splitLog(line []byte, fields [][]byte) ([][]byte, string) {
	for line = bytes.TrimLeft(line, " "); len(line) > 0; line = bytes.TrimLeft(line, " ") {
		closing := map[byte]byte{'"': '"', '[': ']'}[line[0]]
		if closing == 0 {
			field, rest, _ := bytes.Cut(line, []byte{' '})
			fields, line = append(fields, field), rest
			continue
		}
		end := bytes.IndexByte(line[1:], closing)
		if end < 0 {
			return nil, openQuote
		}
		fields, line = append(fields, line[1:1+end]), line[2+end:]
	}
	return fields, ""
}
