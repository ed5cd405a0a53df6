package traces

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// Azure reads the Azure LLM inference traces and what others made of them: CSV with a
// header and one request per row. Columns are found by name, in any order:
//
//	Azure 2023      TIMESTAMP,ContextTokens,GeneratedTokens             2023-11-16 18:17:03.9799600
//	Azure 2024      the same                                            2024-05-10 00:00:00.009930+00:00
//	Azure LMM 2025  TIMESTAMP,NumImages,ContextTokens,GeneratedTokens
//	Vidur           arrived_at,num_prefill_tokens,num_decode_tokens     seconds from the first row
//	splitwise-sim   ...,arrival_timestamp,batch_size,prompt_size,token_size   seconds
//
// The path of one row: seesAzure recognises the header; openAzure settles which
// column is what, and the origin of time; Parse reads a block of lines in one of
// several workers, with plainRow for a row that is written as Azure writes it and
// anyRow for every other; the columns go to DuckDB as they are.
var Azure = read.Format{
	Name:  "azure",
	Sees:  seesAzure,
	Open:  openAzure,
	Wants: "a CSV header such as TIMESTAMP,ContextTokens,GeneratedTokens",
}

// role is what a column tells of a request.
type role int

const (
	passedOver   role = iota
	datedColumn       // an instant
	offsetColumn      // seconds since the trace began
	inputColumn
	outputColumn
)

// roles are the known columns, in lower case. All others are passed over, with a note.
var roles = map[string]role{
	"timestamp":          datedColumn,
	"contexttokens":      inputColumn,
	"generatedtokens":    outputColumn,
	"arrived_at":         offsetColumn,
	"num_prefill_tokens": inputColumn,
	"num_decode_tokens":  outputColumn,
	"arrival_timestamp":  offsetColumn,
	"prompt_size":        inputColumn,
	"token_size":         outputColumn,
}

// seesAzure asks for two known columns. Both lengths without an arrival are a
// LengthList.
func seesAzure(h *read.Head) string {
	known := 0
	for _, name := range h.Columns {
		if roles[strings.ToLower(name)] != passedOver {
			known++
		}
	}
	if known < 2 || isLengthList(h.Columns) {
		return ""
	}
	return "its header is " + strings.Join(h.Columns, ",")
}

// azure reads the rows of one file. It is not changed after openAzure, so that
// workers can share it.
type azure struct {
	names  []string
	roles  []role
	origin int64 // Unix nanoseconds of arrival_ns = 0; 0 for relative times
	plain  bool  // instant, input, output and nothing else, as Azure writes it
}

// openAzure reads the header, and finds the origin among the rows of the first block.
func openAzure(first read.Block, _ string) (*read.Arrivals, read.Block, error) {
	first.Data = bytes.TrimPrefix(first.Data, read.ByteOrderMark)
	header, first := read.TakeHeader(first)
	if reason := read.CSVProblem(header); reason != "" {
		return nil, first, fmt.Errorf("line %d: the header: %s", first.Line-1, reason)
	}
	p := &azure{names: read.HeaderNames(header)}
	var extra []string
	for _, name := range p.names {
		r := roles[strings.ToLower(name)]
		if r == passedOver {
			extra = append(extra, name)
		} else if slices.Contains(p.roles, r) {
			return nil, first, fmt.Errorf("line %d: column %s: there twice", first.Line-1, name)
		}
		p.roles = append(p.roles, r)
	}
	if err := p.complete(first.Line - 1); err != nil {
		return nil, first, err
	}
	p.plain = slices.Equal(p.roles, []role{datedColumn, inputColumn, outputColumn})
	t := &read.Arrivals{Parser: p, Columns: "line, arrival_ns, input_tokens, output_tokens", About: read.About{TimeUnit: "s"}}
	if slices.Contains(p.roles, datedColumn) {
		t.About.TimeUnit = "datetime"
		t.About.OriginAt, t.About.Zone = p.findOrigin(first)
	}
	t.Notes = func(read.Counts) []string {
		var notes []string
		if len(extra) > 0 {
			notes = append(notes, "columns passed over: "+read.ListNames(extra))
		}
		return notes
	}
	return t, first, nil
}

// complete checks that no column is missing that every request needs.
func (p *azure) complete(line int64) error {
	has := func(r role) bool { return slices.Contains(p.roles, r) }
	switch {
	case has(datedColumn) && has(offsetColumn):
		return fmt.Errorf("line %d: two columns of arrival times", line)
	case !has(inputColumn):
		return hint.Errorf("line %d: no column of input tokens", line).Hint("it is called ContextTokens, num_prefill_tokens or prompt_size")
	case !has(outputColumn):
		return hint.Errorf("line %d: no column of output tokens", line).
			Hint("it is called GeneratedTokens, num_decode_tokens or token_size")
	}
	return nil
}

// findOrigin takes the instant of the first row that can be read. It is needed
// before any worker starts, because every arrival is counted from it. A file with
// no such row in its first block is refused later, by its rejects.
func (p *azure) findOrigin(first read.Block) (*time.Time, string) {
	var at time.Time
	zone := ""
	var c read.Clock
	first.Rows(&read.Batch{}, func(_ int64, line []byte) *read.Reject {
		if !at.IsZero() {
			return nil
		}
		r, problem := p.row(&c, line)
		if problem == nil {
			at = time.Unix(0, r.arrival).UTC().Truncate(time.Microsecond)
			if !r.zoned {
				zone = "no zone given, read as UTC"
			}
		}
		return nil
	})
	if at.IsZero() {
		at = time.Unix(0, 0).UTC()
	}
	p.origin = at.UnixNano()
	return &at, zone
}

func (p *azure) Schema() *arrow.Schema { return arrivalSchema }

// Parse reads the rows of one block, in a worker of its own. The clock remembers
// the last day, so that each worker has one.
func (p *azure) Parse(b read.Block) *read.Batch {
	columns, made := newArrivalColumns(b), &read.Batch{}
	var c read.Clock
	b.Rows(made, func(number int64, line []byte) *read.Reject {
		r, problem := p.row(&c, line)
		if problem != nil {
			return problem
		}
		arrival := r.arrival - p.origin
		made.Keep(arrival)
		columns.add(number, arrival, r.input, r.output)
		return nil
	})
	made.Record = read.NewRecord(arrivalSchema, columns.arrays()...)
	return made
}

// azureRow is one row. Its arrival is in Unix nanoseconds or, of a relative trace,
// in nanoseconds since the trace began.
type azureRow struct {
	arrival, input, output int64
	zoned                  bool
}

// row reads the columns from left to right in one pass.
func (p *azure) row(c *read.Clock, line []byte) (azureRow, *read.Reject) {
	if p.plain {
		if r, ok := plainRow(c, line); ok {
			return r, nil
		}
	}
	return p.anyRow(c, line)
}

// plainRow reads a row that is written exactly as Azure writes it, which nearly
// every row is. It returns false for every other row, right or wrong; anyRow then
// says which.
func plainRow(c *read.Clock, line []byte) (r azureRow, ok bool) {
	at, used, zoned, reason := c.Instant(line)
	if reason != "" || used >= len(line) || line[used] != ',' {
		return r, false
	}
	rest := line[used+1:]
	in, used, reason := read.TokenCount(rest)
	if reason != "" || used >= len(rest) || rest[used] != ',' {
		return r, false
	}
	rest = rest[used+1:]
	out, used, reason := read.TokenCount(rest)
	return azureRow{at, in, out, zoned}, reason == "" && used == len(rest)
}

// anyRow reads a row with other columns, with blanks around its values, or with
// something wrong in it.
func (p *azure) anyRow(c *read.Clock, line []byte) (r azureRow, problem *read.Reject) {
	if bytes.IndexByte(line, '"') >= 0 {
		return p.quotedRow(c, line)
	}
	at := 0
	for i, role := range p.roles {
		if at > len(line) {
			return r, &read.Reject{Column: p.names[i], Reason: read.Missing}
		}
		used, reason := r.read(role, c, line[at:])
		if reason != "" || at+used < len(line) && line[at+used] != ',' {
			used, reason = r.readPadded(role, c, line[at:], reason)
			if reason != "" {
				return r, &read.Reject{Column: p.names[i], Reason: reason}
			}
		}
		at += used + 1
	}
	if at <= len(line) {
		return r, &read.Reject{Reason: read.TooManyColumns}
	}
	return r, nil
}

// read takes one value from the start of text.
func (r *azureRow) read(as role, c *read.Clock, text []byte) (used int, reason string) {
	switch as {
	case datedColumn:
		r.arrival, used, r.zoned, reason = c.Instant(text)
	case offsetColumn:
		r.arrival, used, reason = read.Decimal(text, 9)
	case inputColumn:
		r.input, used, reason = read.TokenCount(text)
	case outputColumn:
		r.output, used, reason = read.TokenCount(text)
	default:
		if used = bytes.IndexByte(text, ','); used < 0 {
			used = len(text)
		}
	}
	return used, reason
}

// readPadded reads a value with blanks around it.
func (r *azureRow) readPadded(as role, c *read.Clock, text []byte, before string) (used int, reason string) {
	field, _, _ := bytes.Cut(text, []byte{','})
	return len(field), r.readWhole(as, c, field, before)
}

// readWhole reads a value that is a whole field, except for blanks.
func (r *azureRow) readWhole(as role, c *read.Clock, field []byte, before string) (reason string) {
	bare := bytes.Trim(field, " \t")
	read, reason := r.read(as, c, bare)
	switch {
	case reason != "" || read == len(bare):
		return reason
	case before != "":
		return before
	}
	return malformed[as]
}

// quotedRow reads a row that has quotes in it.
func (p *azure) quotedRow(c *read.Clock, line []byte) (r azureRow, problem *read.Reject) {
	at := 0
	for i, role := range p.roles {
		if at > len(line) {
			return r, &read.Reject{Column: p.names[i], Reason: read.Missing}
		}
		field, next, reason := read.FieldAt(line, at, ',')
		if reason == "" && role != passedOver {
			reason = r.readWhole(role, c, field, "")
		}
		if reason != "" {
			return r, &read.Reject{Column: p.names[i], Reason: reason}
		}
		at = next
	}
	if at <= len(line) {
		return r, &read.Reject{Reason: read.TooManyColumns}
	}
	return r, nil
}

// malformed says what is wrong with a value that has something after it.
var malformed = map[role]string{datedColumn: read.NotATime, offsetColumn: read.NotANumber, inputColumn: read.NotAnInteger, outputColumn: read.NotAnInteger}
