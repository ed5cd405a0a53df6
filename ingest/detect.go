package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// format is one way to write a trace. A new one is a file that registers it.
type format struct {
	name string
	// sees says what in the head of a file makes it this format, or "".
	sees func(head []byte) string
	// open reads what must be known before the first row, and returns the block
	// without what comes before the rows.
	open func(first block) (*trace, block, error)
	// wants is the least that such a file has, for people.
	wants string
}

var formats []format

func register(f format) bool {
	formats = append(formats, f)
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
	if name == "" || name == "run" || slices.ContainsFunc(formats, func(f format) bool { return f.name == name }) {
		return nil
	}
	var known []string
	for _, f := range formats {
		known = append(known, f.name)
	}
	return misused{hinted{fmt.Sprintf("ingest: no format %q", name),
		"known are " + strings.Join(append(known, "run"), ", ") + "; without --format it is recognised from the content"}}
}

// recognise says which format the file's first block is of. Told a format, it
// holds the file to that.
func recognise(head []byte, told string) (format, string, error) {
	for _, f := range formats {
		why := f.sees(head)
		switch {
		case why == "":
			continue
		case told != "" && told != f.name:
			return format{}, "", hinted{fmt.Sprintf("told %s, but it is %s: %s", told, f.name, why), "leave --format out, or say --format " + f.name}
		default:
			return f, why, nil
		}
	}
	if told == "run" {
		return format{}, "", hinted{"told run, but it is a file; saw " + describe(head), "name the run's folder (it has a run.json)"}
	}
	if told != "" {
		f := formats[slices.IndexFunc(formats, func(f format) bool { return f.name == told })]
		return format{}, "", hinted{fmt.Sprintf("told %s, but saw %s", told, describe(head)), fmt.Sprintf("%s has %s", f.name, f.wants)}
	}
	var wanted []string
	for _, f := range formats {
		wanted = append(wanted, f.name+" has "+f.wants)
	}
	return format{}, "", unknownFormat{hinted{"no format that is known; saw " + describe(head), strings.Join(wanted, "; ")}}
}

// unknownFormat marks what a folder's walk passes over.
type unknownFormat struct{ hinted }

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
