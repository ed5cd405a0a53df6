package traces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// Plain reads any table of requests: CSV with a header (comma, semicolon, tab or
// bar), JSON lines, or a JSON array of objects. Columns are recognised by their
// names, or are what the user says: --column input_tokens=prompt_len. A nested key
// is its path, as usage.prompt_tokens. A log without a header has columns #1, #2,
// ...
//
// It is a guess, because many other formats have such columns: it is asked last.
var Plain = read.Format{
	Name:         "plain",
	Sees:         seesPlain,
	Read:         readPlain,
	Wants:        "columns, or JSON keys, for the arrival, the input tokens and the output tokens, by any usual name or as --column says",
	IsGuess:      true,
	TakesColumns: true,
	TakesUnit:    true,
}

// seesPlain asks for an arrival and both lengths. Where the user names the columns,
// any table will do.
func seesPlain(h *read.Head) string {
	if len(h.Said) > 0 {
		return read.If(isTable(h), "a table, with columns as they were said")
	}
	names := tableColumns(h)
	var has [partCount]bool
	for _, name := range names {
		has[meaningOf(name, meanings).part] = true
	}
	if !has[arrivesAt] || !has[inputLength] || !has[outputLength] && !has[totalLength] {
		return ""
	}
	return "a table with " + read.ListNames(names)
}

// isTable says whether the head can be a table of any kind.
func isTable(h *read.Head) bool {
	line := h.Line
	return len(line) > 0 && !bytes.HasPrefix(h.Data, read.ParquetMagic) && (h.IsLines() || h.Element != nil || line[0] != '{' && line[0] != '[' && bytes.IndexByte(h.Data[:min(len(h.Data), 4096)], 0) < 0)
}

// tableColumns are the names of a CSV header's columns, or the paths of the keys of
// the first JSON object.
func tableColumns(h *read.Head) (names []string) {
	switch {
	case h.IsLines():
		eachValue(h.Line, nil, 0, func(path, _ []byte) { names = append(names, string(path)) })
	case h.Element != nil:
		var first json.RawMessage
		_, inside, _ := bytes.Cut(h.Data, []byte("["))
		if json.NewDecoder(bytes.NewReader(inside)).Decode(&first) == nil {
			eachValue(first, nil, 0, func(path, _ []byte) { names = append(names, string(path)) })
		}
	case len(h.Line) > 0 && h.Line[0] != '{' && h.Line[0] != '[':
		if fields, reason := splitFields(h.Line, separatorOf(h.Line), nil); reason == "" && len(fields) > 1 {
			names = fieldNames(fields)
		}
	}
	return names
}

// readPlain reads by the usual names alone.
func readPlain(d *read.Document, out *read.Rows) error {
	return readTable(d, out, dialect{words: meanings})
}

// dialect is what the log of one maker adds to the usual names.
type dialect struct {
	words map[string]meaning
	// isNone tells of records that are not requests to a model.
	isNone func(r *request) bool
}

// readTable reads a table of requests in any of its forms, by what its first line
// begins with.
func readTable(d *read.Document, out *read.Rows, of dialect) error {
	names, err := newColumnNames(d.Columns, of.words)
	if err == nil {
		err = names.misread(tableColumns(read.NewHead(d.First.Data, d.Base())))
	}
	if err != nil {
		return err
	}
	line := read.FirstLine(d.First.Data)
	t := newRequestTable(out)
	t.isNone, t.saidUnit, t.isSaid = of.isNone, d.TimeUnit, d.TimeUnit != "" || len(d.Columns) > 0
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

// newColumnNames takes what the user says with --column.
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

// of is what a column means; what the user says goes before its name.
func (c *columnMeanings) of(name string) meaning {
	if m, ok := c.said[name]; ok {
		return m
	}
	if m := meaningOf(name, c.words); !c.taken[m.part] {
		return m
	}
	return meaning{}
}

// ofRounds are columns of tables whose other columns do not mean what they usually do: a
// length beside a prefix may be all of a prompt or only what is new, and an arrival beside
// a round may be that of its session.
var ofRounds = map[string]part{
	"prefix_len": inputLength, "prefix_length": inputLength, "prefix_tokens": inputLength, "newly_append_tokens": inputLength,
	"new_tokens": inputLength, "round_idx": arrivesAt, "round_index": arrivesAt, "tool_wait_after_ms": arrivesAt,
}

// misread refuses a table that its column names would misread, unless the user says which
// column is the whole prompt and when a request came.
func (c *columnMeanings) misread(names []string) error {
	for _, name := range names {
		p := ofRounds[snake(lastOf(name))]
		if _, isSaid := c.said[name]; p == noPart || c.taken[p] || isSaid {
			continue
		}
		if p == inputLength {
			return hint.Errorf("column %s: the file does not say whether the prompt's length holds it", name).
				Hint("name the column with all tokens of a prompt: --column input_tokens=NAME")
		}
		return hint.Errorf("column %s: the file does not say whether an arrival is of a request or of its session", name).
			Hint("name the column with the arrival of each request: --column arrival_ms=NAME (or arrival_s)")
	}
	return nil
}

// unseen refuses columns that the user named and the file does not have.
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
	return hint.Errorf("%s", "no column "+strings.Join(missing, ", ")).Hint("%s", "there are "+read.ListNames(names))
}

// commonLog is a line of a web server's log, as Apache's common format has it.
var commonLog = regexp.MustCompile(`^\S+ \S+ \S+ \[`)

// separatorOf is what stands between the fields of a line: the most frequent of the
// usual characters. A web server's log has blanks.
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

// fieldNames are the names of a header.
func fieldNames(fields [][]byte) []string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strings.TrimSpace(string(field))
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
		field, next, reason := read.FieldAt(line, at, separator)
		if reason != "" {
			return nil, reason
		}
		fields = append(fields, bytes.TrimSpace(field))
		at = next
	}
	return fields, ""
}

// splitLog cuts a line of a web server's log.
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
			return nil, read.OpenQuote
		}
		fields, line = append(fields, line[1:1+end]), line[2+end:]
	}
	return fields, ""
}

// unseenIn is unseen for columns that hold structures: a path in a column counts as
// that column.
func (c *columnMeanings) unseenIn(names []string) error {
	there := append([]string{}, names...)
	for theirs := range c.said {
		if column, _, nested := strings.Cut(theirs, "."); nested {
			for _, name := range names {
				if name == column {
					there = append(there, theirs)
				}
			}
		}
	}
	if err := c.unseen(there); err != nil {
		return hint.Wrap(err).Hint("there are %s", read.ListNames(names))
	}
	return nil
}

// ReadColumns reads requests that come as JSON lines with the columns of a table of
// another kind: a Parquet file's, of which names are all columns that there are.
func ReadColumns(d *read.Document, names []string, lines io.Reader, out *read.Rows) error {
	columns, err := newColumnNames(d.Columns, meanings)
	if err == nil {
		err = cmp.Or(columns.unseenIn(names), columns.misread(names))
	}
	if err != nil {
		return err
	}
	t := newRequestTable(out)
	t.saidUnit, t.isSaid = d.TimeUnit, d.TimeUnit != "" || len(d.Columns) > 0
	rows, err := d.WithLines(lines)
	if err == io.EOF { // no row, or no column of use
		for _, name := range names {
			if p := columns.of(name).part; p != noPart {
				t.names[p] = name
			}
		}
		return t.complete()
	}
	if err != nil {
		return err
	}
	err = readJSONTable(rows, t, columns)
	t.end()
	return err
}

// ColumnUse says of a column whether it tells something of a request, and whether it
// holds texts by its name.
func ColumnUse(said map[string]string) (func(name string) (ofRequest, isText bool), error) {
	columns, err := newColumnNames(said, meanings)
	return func(name string) (bool, bool) {
		return columns.of(name).part != noPart, textNames[snake(name)]
	}, err
}
