package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// format is one way to write a trace. A new one is a file that registers it.
type format struct {
	name string
	// sees says what in the head of a file makes it this format, or "".
	sees func(h *head) string
	// A format of lines that are requests each is read by many workers: open reads
	// what must be known before the first row, and returns the block without what
	// comes before the rows.
	open func(first block) (*trace, block, error)
	// Every other format is read from its begin to its end: read puts what it finds
	// into out.
	read func(d *document, out *rows) error
	// wants is the least that such a file has, for people.
	wants string
	// isGuess puts a format behind those that are sure of what they see.
	isGuess bool
	// takesColumns is set for tables whose columns the user may say: then, all other
	// formats are out of question.
	takesColumns bool
	// kind of the sources that come of it: arrivals, lengths, metrics, kernels, kernel
	// rules, kernel times, results.
	kind string
}

var formats []format

// register adds a format; those that are sure come first, by name.
func register(f format) bool {
	if f.kind == "" {
		f.kind = "arrivals"
	}
	formats = append(formats, f)
	slices.SortStableFunc(formats, func(a, b format) int {
		if a.isGuess != b.isGuess {
			if a.isGuess {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
	return true
}

// trace is a file that was recognised: how its rows are read, and what holds for
// all of them.
type trace struct {
	parser      parser
	columns     string     // of raw.arrivals that the parser fills, in its order
	originAt    *time.Time // instant of arrival_ns = 0; nil for relative times
	timeUnit    string     // datetime, s, ms
	zone        string     // what was assumed; "" for nothing
	blockTokens int        // 0 without prefix blocks
	notes       func(tally) []string
}

func checkFormat(name string) error {
	if name == "" || name == "run" || name == folderFormat || slices.ContainsFunc(formats, func(f format) bool { return f.name == name }) {
		return nil
	}
	return hint.Misuse("ingest: no format %q", name).
		Hint("%s", "known are "+strings.Join(Formats(), ", ")+"; without --format it is recognised from the content")
}

// Formats are the names that Options.Format takes.
func Formats() []string {
	names := []string{"run", folderFormat}
	for _, f := range formats {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// recognise says which format the file's first block is of. Told a format, it
// holds the file to that.
func recognise(h *head, told string) (format, string, error) {
	for _, f := range formats {
		if len(h.said) > 0 && !f.takesColumns {
			continue
		}
		why := f.sees(h)
		switch {
		case why == "":
			continue
		case told != "" && told != f.name:
			return format{}, "", hint.Errorf("told %s, but it is %s: %s", told, f.name, why).
				Hint("%s", "leave --format out, or say --format "+f.name)
		default:
			return f, why, nil
		}
	}
	if told == "run" {
		return format{}, "", hint.Errorf("%s", "told run, but it is a file; saw "+describe(h.data)).
			Hint("name the run's folder (it has a run.json)")
	}
	if told == folderFormat {
		return format{}, "", hint.Errorf("%s", "told folder, but it is a file; saw "+describe(h.data)).
			Hint("name the folder (it has row-*.json and hardware.md)")
	}
	if told != "" {
		f := formats[slices.IndexFunc(formats, func(f format) bool { return f.name == told })]
		return format{}, "", hint.Errorf("told %s, but saw %s", told, describe(h.data)).Hint("%s has %s", f.name, f.wants)
	}
	return format{}, "", hint.Errorf("%s", "no format that is known; saw "+describe(h.data)).
		Hint("\"tidemark ingest --help\" lists the formats; say which column is what with --column, as in --column input_tokens=prompt_len").Mark(errUnknownFormat)
}

// errUnknownFormat marks what a folder's walk passes over.
var errUnknownFormat = errors.New("no format that is known")

var utf8BOM = []byte("\xef\xbb\xbf")

// describe says what a head looks like, without a word of its data: names of
// columns and keys only where they look like names.
func describe(head []byte) string {
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
	line := firstLine(head)
	switch {
	case bytes.HasPrefix(line, []byte("{")):
		if keys := jsonKeys(line); keys != nil {
			return "JSON lines with " + listed(keys)
		}
		return "text that begins like JSON"
	case bytes.HasPrefix(line, []byte("[")):
		return "a JSON array"
	case bytes.IndexByte(line, ',') >= 0:
		return "a CSV with " + listed(headerNames(line))
	}
	return "text that is neither CSV nor JSON lines"
}

// firstLine is the first line that is not blank, trimmed.
func firstLine(head []byte) []byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, utf8BOM), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.TrimSpace(line)
}

// headerNames are the columns of a CSV header, or what comes nearest to that.
func headerNames(line []byte) []string {
	if names, reason := csvFields(line); reason == "" {
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
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var nameLike = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ .-]{0,40}$`)

func listed(names []string) string {
	if len(names) > 12 || slices.ContainsFunc(names, func(name string) bool { return !nameLike.MatchString(name) }) {
		return fmt.Sprintf("%d columns", len(names))
	}
	return strings.Join(names, ", ")
}
