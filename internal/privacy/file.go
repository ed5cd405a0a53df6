//go:build duckdb_arrow

package privacy

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/lazy"
	"tidemark/internal/userfile"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// CheckFile checks an exported file, and the rates next to it, against the
// rules. It believes nothing but the bytes of these files and of their
// manifest. Whether the file is k-anonymous is a verdict of its own.
func CheckFile(path string, terms Terms) (rules []Verdict, anonymity Verdict, err error) {
	subject, err := readFile(lengthsName(path))
	if err != nil {
		return nil, Verdict{}, err
	}
	subject.findManifest(lengthsName(path))
	return subject.verdicts(terms), subject.anonymity(terms), nil
}

// findManifest reads the manifest and compares its fingerprints with the files.
func (s *subject) findManifest(path string) {
	m, err := manifestOf(path)
	if err != nil {
		s.problem = err.Error()
		return
	}
	if m == nil {
		return
	}
	s.manifest = m
	for _, file := range m.Files {
		sum, _, err := userfile.Sum(filepath.Join(filepath.Dir(path), filepath.Base(file.Name)))
		if err != nil {
			s.problem = fmt.Sprintf("%s, which the manifest lists, cannot be read", filepath.Base(file.Name))
		} else if sum != file.SHA256 {
			s.problem = fmt.Sprintf("%s is not the file that the manifest lists", filepath.Base(file.Name))
		}
	}
	if !slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == filepath.Base(path) }) {
		s.problem = "the manifest lists other files"
	}
}

// readFile reads a trace, or a histogram with the rates next to it.
func readFile(path string) (*subject, error) {
	switch name := strings.TrimSuffix(strings.TrimSuffix(path, ".zst"), ".gz"); {
	case strings.HasSuffix(name, ".jsonl"):
		return readTraceFile(path)
	case strings.HasSuffix(name, ".csv"):
		s := &subject{}
		if err := s.readTable(path, lengthColumns, s.addLengths); err != nil {
			return nil, err
		}
		if _, err := os.Stat(ratesName(path)); err == nil {
			return s, s.readTable(ratesName(path), rateColumns, s.addRates)
		}
		return s, nil
	}
	return nil, hint.Errorf("privacy check %s: neither a source of the warehouse nor an export", path).
		Hint("an export is FILE.jsonl or FILE.csv, or one of these with .zst or .gz")
}

// opened reads a file, decompressed as its extension says. The limit on zstd's
// window keeps a crafted file from taking the memory.
func opened(path string, use func(io.Reader) error) error {
	file, err := userfile.Open(path)
	if err != nil {
		return fmt.Errorf("privacy check %s: %w", path, errors.Unwrap(err))
	}
	defer file.Close()
	var reader io.Reader = file
	switch {
	case strings.HasSuffix(path, ".zst"):
		decoder, err := zstd.NewReader(file, zstd.WithDecoderMaxMemory(128<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer decoder.Close()
		reader = decoder
	case strings.HasSuffix(path, ".gz"):
		if reader, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("privacy check %s: %w", path, err)
		}
	}
	if err := use(reader); err != nil {
		return fmt.Errorf("privacy check %s: %w", path, err)
	}
	return nil
}

const (
	longestLine    = 16 << 20
	longestTrace   = 100 * 365 * 24 * time.Hour
	mostBlankLines = 1000 // a packed file of blank lines has hardly an end
)

// readTraceFile reads JSON lines and keeps, for each text column, what rule 1
// needs.
func readTraceFile(path string) (*subject, error) {
	s := &subject{isTrace: true}
	b := newBuilder()
	texts := map[string]*textColumn{}
	err := opened(path, func(reader io.Reader) error {
		lines := bufio.NewScanner(reader)
		lines.Buffer(make([]byte, 1<<16), longestLine)
		blank := 0
		for number := 1; lines.Scan(); number++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				if blank++; blank > mostBlankLines {
					return fmt.Errorf("line %d: more than %d blank lines, refused", number, mostBlankLines)
				}
				continue
			}
			var object map[string]json.RawMessage
			if json.Unmarshal(lines.Bytes(), &object) != nil || object == nil {
				return fmt.Errorf("line %d: not a JSON object", number)
			}
			if membersOf(lines.Bytes()) != len(object) {
				s.refuse("a line", "has a key twice: readers differ in which of the two they see")
			}
			if err := s.addRow(b, texts, object); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		return lines.Err()
	})
	if err != nil {
		return nil, err
	}
	for _, name := range traceColumns {
		if column := texts[name]; column != nil {
			s.columns = append(s.columns, *column)
		}
	}
	s.trace = b.done()
	if len(s.trace.Rows) == 0 {
		return nil, fmt.Errorf("privacy check %s: no request in it", path)
	}
	return s, nil
}

// membersOf counts the members of a JSON object by its colons, including
// members of the same name. text must be an object. encoding/json would keep
// the last of two equal keys; another reader may keep the first, and see what
// this check did not.
func membersOf(text []byte) (n int) {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ':' && depth == 1:
			n++
		}
	}
	return n
}

var columnLike = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]{0,40}$`)

// refuse records a column that is not allowed, once. It repeats the column's
// name only if that looks like one: the message may be published, and a name
// can be a secret as well.
func (s *subject) refuse(column, why string) {
	if !columnLike().MatchString(column) && column != "a line" {
		column = "a column without a proper name"
	}
	if said := column + ": " + why; !slices.Contains(s.foreign, said) {
		s.foreign = append(s.foreign, said)
	}
}

const notOnTheList = "not on the list of what may leave"

// addRow reads one line of a trace. Keys that are not on the list are refused
// one by one, so that the report names them all.
func (s *subject) addRow(b *builder, texts map[string]*textColumn, object map[string]json.RawMessage) error {
	row := Row{Turn: -1, ParentTurn: -1, Failed: -1, ThinkS: math.NaN()}
	at, isRelative := 0.0, false
	var turn, parentTurn, blockTokens int64 = -1, -1, 0
	var isFailed *bool
	text := func(name string, raw json.RawMessage, numbers *names, into *int32) error {
		var value string
		if err := json.Unmarshal(raw, &value); err != nil {
			return err
		}
		if texts[name] == nil {
			texts[name] = &textColumn{name: name}
		}
		texts[name].add(value)
		*into = numbers.place(value)
		return nil
	}
	for key, raw := range object {
		var err error
		switch key {
		case "arrival_s":
			isRelative = true
			err = json.Unmarshal(raw, &at)
		case "arrival_at":
			err = readInstant(raw, &row.At)
		case "input_tokens":
			err = json.Unmarshal(raw, &row.Input)
		case "output_tokens":
			err = json.Unmarshal(raw, &row.Output)
		case "turn":
			err = json.Unmarshal(raw, &turn)
		case "parent_turn":
			err = json.Unmarshal(raw, &parentTurn)
		case "block_tokens":
			err = json.Unmarshal(raw, &blockTokens)
		case "think_s":
			err = json.Unmarshal(raw, &row.ThinkS)
		case "is_failed":
			err = json.Unmarshal(raw, &isFailed)
		case "blocks":
			err = json.Unmarshal(raw, &row.Blocks)
		case "session_id":
			err = text(key, raw, b.sessions, &row.Session)
		case "parent_session_id":
			err = text(key, raw, b.sessions, &row.Parent)
		case "tenant":
			err = text(key, raw, b.tenants, &row.Tenant)
		case "class":
			err = text(key, raw, b.classes, &row.Class)
		default:
			s.refuse(key, notOnTheList)
		}
		if err != nil {
			s.refuse(key, "not of the type that it must be")
		}
	}
	for _, key := range []string{"input_tokens", "output_tokens"} {
		if object[key] == nil {
			return fmt.Errorf("no %s", key)
		}
	}
	if row.Input < 0 || row.Output < 0 {
		return errors.New("a negative number of tokens")
	}
	if isRelative {
		if math.Abs(at) > longestTrace.Seconds() {
			return errors.New("arrival_s: beyond a hundred years")
		}
		row.At = int64(math.Round(at * 1e9))
	}
	b.trace.IsDated = b.trace.IsDated || !isRelative
	if isFailed != nil {
		row.Failed = map[bool]int8{true: 1, false: 0}[*isFailed]
	}
	row.Turn, row.ParentTurn = int32(turn), int32(parentTurn)
	b.trace.BlockTokens = max(b.trace.BlockTokens, blockTokens)
	b.trace.Rows = append(b.trace.Rows, row)
	return nil
}

// readInstant reads an instant in RFC 3339.
func readInstant(raw json.RawMessage, into *int64) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	*into = instant.UnixNano()
	return err
}

// readTable reads a CSV line by line. Columns are found by name, not by
// position.
func (s *subject) readTable(path string, known []string, add func(cell func(string) string)) error {
	return opened(path, func(reader io.Reader) error {
		lines := csv.NewReader(reader)
		header, err := lines.Read()
		if err != nil {
			return errors.New("no header")
		}
		places := map[string]int{}
		for i, name := range header {
			if !slices.Contains(known, name) {
				s.refuse(name, notOnTheList)
			}
			if _, twice := places[name]; twice {
				s.refuse(name, "twice in the header")
			}
			places[name] = i
		}
		if _, has := places["requests"]; !has {
			return hint.Errorf("its header has no column requests: it is not a histogram that tidemark wrote").Hint("take it in, and check the source")
		}
		first := len(s.columns)
		for _, name := range []string{"class", "client"} {
			s.columns = append(s.columns, textColumn{name: name})
		}
		for {
			line, err := lines.Read()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			cell := func(name string) string {
				if at, has := places[name]; has {
					return line[at]
				}
				return ""
			}
			for i := range s.columns[first:] {
				if column := &s.columns[first+i]; cell(column.name) != "" {
					column.add(cell(column.name))
				}
			}
			s.refuseText(known, cell)
			add(cell)
		}
	})
}

// refuseText checks that counts, bounds and seconds are whole numbers that are
// not negative. A fraction could carry a message, or an exact length.
func (s *subject) refuseText(known []string, cell func(string) string) {
	for _, name := range known {
		if name == "class" || name == "client" || cell(name) == "" && name != "requests" {
			continue
		}
		value, err := strconv.ParseFloat(cell(name), 64)
		switch {
		case err != nil:
			s.refuse(name, "not a number")
		case !(value >= 0) || value > float64(mostTokens) || value != math.Trunc(value) || !digitsOnly().MatchString(cell(name)):
			s.refuse(name, "not a whole number from 0 on")
		}
	}
}

var digitsOnly = lazy.Regexp(`^[0-9]+$`)

func decimal(text string) float64 {
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

func bound(text string) int64 {
	if text == "" {
		return -1
	}
	return int64(decimal(text))
}

func (s *subject) addLengths(cell func(string) string) {
	s.lengths = append(s.lengths, lengthCell{decimal(cell("window_from_s")), decimal(cell("window_until_s")), cell("class"), cell("client"),
		[4]int64{bound(cell("input_above")), bound(cell("input_up_to")), bound(cell("output_above")), bound(cell("output_up_to"))}, decimal(cell("requests"))})
}

func (s *subject) addRates(cell func(string) string) {
	s.rates = append(s.rates, rateCell{decimal(cell("window_from_s")), decimal(cell("window_until_s")), cell("class"), decimal(cell("requests"))})
}
