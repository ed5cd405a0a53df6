package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"

	"github.com/apache/arrow-go/v18/arrow"
)

// The Azure LLM inference traces and what others made of them: CSV with a header
// and one request a row. Columns are found by name, wherever they stand:
//
//	Azure 2023      TIMESTAMP,ContextTokens,GeneratedTokens             2023-11-16 18:17:03.9799600
//	Azure 2024      the same                                            2024-05-10 00:00:00.009930+00:00
//	Azure LMM 2025  TIMESTAMP,NumImages,ContextTokens,GeneratedTokens
//	Vidur           arrived_at,num_prefill_tokens,num_decode_tokens     seconds from the first row
//	splitwise-sim   ...,arrival_timestamp,batch_size,prompt_size,token_size   seconds
var _ = register(format{
	name:  "azure",
	sees:  seesAzure,
	open:  openAzure,
	wants: "a CSV header such as TIMESTAMP,ContextTokens,GeneratedTokens",
})

// role is what a column is read as.
type role int

const (
	passedOver role = iota
	dated           // an instant
	offset          // seconds since the trace began
	inputTokens
	outputTokens
)

// roles are the known columns, in lower case.
var roles = map[string]role{
	"timestamp":          dated,
	"contexttokens":      inputTokens,
	"generatedtokens":    outputTokens,
	"arrived_at":         offset,
	"num_prefill_tokens": inputTokens,
	"num_decode_tokens":  outputTokens,
	"arrival_timestamp":  offset,
	"prompt_size":        inputTokens,
	"token_size":         outputTokens,
}

func seesAzure(h *head) string {
	known := 0
	for _, name := range h.columns {
		if roles[strings.ToLower(name)] != passedOver {
			known++
		}
	}
	if known < 2 || isLengthList(h.columns) {
		return ""
	}
	return "its header is " + strings.Join(h.columns, ",")
}

// azure parses rows of one file's shape.
type azure struct {
	names  []string
	roles  []role
	origin int64 // Unix nanoseconds of arrival_ns = 0; 0 for relative times
	plain  bool  // instant, input, output and nothing else, as Azure writes it
}

var azureSchema = arrow.NewSchema([]arrow.Field{
	{Name: "line", Type: arrow.PrimitiveTypes.Int64},
	{Name: "arrival_ns", Type: arrow.PrimitiveTypes.Int64},
	{Name: "input_tokens", Type: arrow.PrimitiveTypes.Int64},
	{Name: "output_tokens", Type: arrow.PrimitiveTypes.Int64},
}, nil)

func openAzure(first block) (*trace, block, error) {
	first.data = bytes.TrimPrefix(first.data, utf8BOM)
	header, first := takeHeader(first)
	if reason := csvProblem(header); reason != "" {
		return nil, first, fmt.Errorf("line %d: the header: %s", first.line-1, reason)
	}
	p := &azure{names: headerNames(header)}
	var extra []string
	for _, name := range p.names {
		r := roles[strings.ToLower(name)]
		if r == passedOver {
			extra = append(extra, name)
		} else if slices.Contains(p.roles, r) {
			return nil, first, fmt.Errorf("line %d: column %s: there twice", first.line-1, name)
		}
		p.roles = append(p.roles, r)
	}
	if err := p.complete(first.line - 1); err != nil {
		return nil, first, err
	}
	p.plain = slices.Equal(p.roles, []role{dated, inputTokens, outputTokens})
	t := &trace{parser: p, columns: "line, arrival_ns, input_tokens, output_tokens", timeUnit: "s"}
	if slices.Contains(p.roles, dated) {
		t.timeUnit = "datetime"
		t.originAt, t.zone = p.findOrigin(first)
	}
	t.notes = func(tally) []string {
		var notes []string
		if len(extra) > 0 {
			notes = append(notes, "columns passed over: "+listed(extra))
		}
		return notes
	}
	return t, first, nil
}

// takeHeader cuts the header off, with the blank lines before it.
func takeHeader(first block) (header []byte, rest block) {
	for len(first.data) > 0 && len(header) == 0 {
		line, after, _ := bytes.Cut(first.data, []byte("\n"))
		header = bytes.TrimSpace(line)
		first.data = after
		first.line++
	}
	return header, first
}

// complete sees that nothing that must be known is missing.
func (p *azure) complete(line int64) error {
	has := func(r role) bool { return slices.Contains(p.roles, r) }
	switch {
	case has(dated) && has(offset):
		return fmt.Errorf("line %d: two columns of arrival times", line)
	case !has(inputTokens):
		return hint.Errorf("line %d: no column of input tokens", line).Hint("it is called ContextTokens, num_prefill_tokens or prompt_size")
	case !has(outputTokens):
		return hint.Errorf("line %d: no column of output tokens", line).
			Hint("it is called GeneratedTokens, num_decode_tokens or token_size")
	}
	return nil
}

// findOrigin is the instant of the first row that can be read. A file without
// one in its first block is refused later, by its rejects.
func (p *azure) findOrigin(first block) (*time.Time, string) {
	var at time.Time
	zone := ""
	var c clock
	first.rows(&batch{}, func(_ int64, line []byte) *reject {
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

func (p *azure) schema() *arrow.Schema { return azureSchema }

func (p *azure) parse(b block) *batch {
	capacity := b.ends + 1 // the last line may have no end
	lines, arrivals := newInt64s(capacity), newInt64s(capacity)
	inputs, outputs := newInt64s(capacity), newInt64s(capacity)
	made := &batch{}
	var c clock
	b.rows(made, func(number int64, line []byte) *reject {
		r, problem := p.row(&c, line)
		if problem != nil {
			return problem
		}
		arrival := r.arrival - p.origin
		made.keep(arrival)
		lines.append(number)
		arrivals.append(arrival)
		inputs.append(r.input)
		outputs.append(r.output)
		return nil
	})
	kind := arrow.PrimitiveTypes.Int64
	made.record = record(azureSchema, lines.array(kind), arrivals.array(kind), inputs.array(kind), outputs.array(kind))
	return made
}

// keep counts a row that is taken in.
func (b *batch) keep(arrival int64) {
	if b.kept == 0 {
		b.first = arrival
	} else if arrival < b.last {
		b.backwards++
	} else if arrival == b.last {
		b.ties++
	}
	b.last = arrival
	b.kept++
}

// azureRow is one row. Its arrival is Unix nanoseconds, or nanoseconds since the
// trace began.
type azureRow struct {
	arrival, input, output int64
	zoned                  bool
}

// row reads the columns from left to right in one pass.
func (p *azure) row(c *clock, line []byte) (azureRow, *reject) {
	if p.plain {
		if r, ok := plainRow(c, line); ok {
			return r, nil
		}
	}
	return p.anyRow(c, line)
}

// plainRow reads a row that is written in the usual way, and says false of every
// other, right or wrong.
func plainRow(c *clock, line []byte) (r azureRow, ok bool) {
	at, used, zoned, reason := c.instant(line)
	if reason != "" || used >= len(line) || line[used] != ',' {
		return r, false
	}
	rest := line[used+1:]
	in, used, reason := tokenCount(rest)
	if reason != "" || used >= len(rest) || rest[used] != ',' {
		return r, false
	}
	rest = rest[used+1:]
	out, used, reason := tokenCount(rest)
	return azureRow{at, in, out, zoned}, reason == "" && used == len(rest)
}

func (p *azure) anyRow(c *clock, line []byte) (r azureRow, problem *reject) {
	if bytes.IndexByte(line, '"') >= 0 {
		return p.quotedRow(c, line)
	}
	at := 0
	for i, role := range p.roles {
		if at > len(line) {
			return r, &reject{column: p.names[i], reason: isMissing}
		}
		used, reason := r.read(role, c, line[at:])
		if reason != "" || at+used < len(line) && line[at+used] != ',' {
			used, reason = r.readDressed(role, c, line[at:], reason)
			if reason != "" {
				return r, &reject{column: p.names[i], reason: reason}
			}
		}
		at += used + 1
	}
	if at <= len(line) {
		return r, &reject{reason: tooManyColumns}
	}
	return r, nil
}

// read takes one value from the start of text.
func (r *azureRow) read(as role, c *clock, text []byte) (used int, reason string) {
	switch as {
	case dated:
		r.arrival, used, r.zoned, reason = c.instant(text)
	case offset:
		r.arrival, used, reason = decimal(text, 9)
	case inputTokens:
		r.input, used, reason = tokenCount(text)
	case outputTokens:
		r.output, used, reason = tokenCount(text)
	default:
		if used = bytes.IndexByte(text, ','); used < 0 {
			used = len(text)
		}
	}
	return used, reason
}

// readDressed takes a value that has blanks around it.
func (r *azureRow) readDressed(as role, c *clock, text []byte, before string) (used int, reason string) {
	field, _, _ := bytes.Cut(text, []byte{','})
	return len(field), r.readWhole(as, c, field, before)
}

// readWhole takes a value that is all of a field but for blanks.
func (r *azureRow) readWhole(as role, c *clock, field []byte, before string) (reason string) {
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

// quotedRow reads a row with quotes in it.
func (p *azure) quotedRow(c *clock, line []byte) (r azureRow, problem *reject) {
	at := 0
	for i, role := range p.roles {
		if at > len(line) {
			return r, &reject{column: p.names[i], reason: isMissing}
		}
		field, next, reason := csvField(line, at)
		if reason == "" && role != passedOver {
			reason = r.readWhole(role, c, field, "")
		}
		if reason != "" {
			return r, &reject{column: p.names[i], reason: reason}
		}
		at = next
	}
	if at <= len(line) {
		return r, &reject{reason: tooManyColumns}
	}
	return r, nil
}

// malformed is what is wrong with a value that has something behind it.
var malformed = map[role]string{dated: notATime, offset: notANumber, inputTokens: notAnInteger, outputTokens: notAnInteger}
