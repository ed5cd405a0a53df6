package traces

import (
	"bytes"
	"fmt"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// Tables of requests with separators: CSV and its relatives, and logs with blanks.

// separated reads the rows of a table with separators.
type separated struct {
	*requestTable
	separator byte
	parts     []part
	names     []string
	fields    [][]byte

	// A quoted field may go over several lines, as prompts do. They are put
	// together up to a limit; without an end, each is a reject.
	held     []byte
	heldFrom []int64
}

// heldBytes is the longest row whose quoted field goes over several lines.
const heldBytes = 1 << 20

// readCSVTable reads the header, then a row or a part of one per line.
func readCSVTable(d *read.Document, t *requestTable, names *columnMeanings) error {
	p := &separated{requestTable: t}
	err := d.Lines(t.out, func(number int64, line []byte) (*read.Reject, error) {
		if p.parts == nil {
			return nil, p.header(line, names, d)
		}
		return nil, p.line(number, line)
	})
	if err == nil && len(p.held) > 0 {
		p.giveUp()
	}
	return err
}

// header settles which column is what. A log without a header has numbers for
// names, and its first line is a row like all others.
func (p *separated) header(line []byte, names *columnMeanings, d *read.Document) error {
	p.separator = separatorOf(line)
	fields, reason := splitFields(line, p.separator, nil)
	if reason != "" {
		return fmt.Errorf("the header: %s", reason)
	}
	p.names = fieldNames(fields)
	isNumbered := names.numbered()
	if isNumbered {
		for i := range p.names {
			p.names[i] = fmt.Sprintf("#%d", i+1)
		}
	}
	if err := names.unseen(p.names); err != nil {
		return err
	}
	best := map[part]meaning{}
	p.parts = make([]part, len(p.names))
	place := map[part]int{}
	for i, name := range p.names {
		m := names.of(name)
		before, there := best[m.part]
		switch {
		case m.part == noPart || there && before.rank < m.rank:
			continue
		case there && before.rank == m.rank:
			return hint.Errorf("columns %s and %s are both the same", p.names[place[m.part]], name).
				Hint("say which one: --column OURS=NAME")
		case there:
			p.parts[place[m.part]] = noPart
		}
		best[m.part], place[m.part], p.parts[i] = m, i, m.part
		p.is(m, name)
	}
	if err := p.complete(); err != nil {
		return err
	}
	if isNumbered {
		return p.line(d.First.Line, line)
	}
	p.notePassedOver()
	return nil
}

// numbered says that all columns were said by their places.
func (c *columnMeanings) numbered() bool {
	for theirs := range c.said {
		if !strings.HasPrefix(theirs, "#") {
			return false
		}
	}
	return len(c.said) > 0
}

// notePassedOver lists the columns that were not read.
func (p *separated) notePassedOver() {
	var passed []string
	for i, name := range p.names {
		if p.parts[i] == noPart {
			passed = append(passed, name)
		}
	}
	if len(passed) > 0 {
		p.out.Note("columns passed over: %s", read.ListNames(passed))
	}
}

// line takes one line: a row, the start of a quoted field, or its continuation.
func (p *separated) line(number int64, line []byte) error {
	if len(p.held) > 0 {
		if len(p.held)+len(line) > heldBytes {
			p.giveUp()
			return p.line(number, line)
		}
		p.held = append(append(p.held, '\n'), line...)
		p.heldFrom = append(p.heldFrom, number)
		if bytes.IndexByte(line, '"') < 0 {
			return nil
		}
		fields, reason := splitFields(p.held, p.separator, p.fields)
		if reason == read.OpenQuote {
			return nil
		}
		first := p.heldFrom[0]
		p.heldFrom = p.heldFrom[:0]
		defer func() { p.held = p.held[:0] }()
		return p.row(first, fields, reason)
	}
	fields, reason := splitFields(line, p.separator, p.fields)
	if reason == read.OpenQuote && p.separator != ' ' {
		p.held = append(p.held[:0], line...)
		p.heldFrom = append(p.heldFrom[:0], number)
		return nil
	}
	return p.row(number, fields, reason)
}

// giveUp rejects the lines of a quote that does not end.
func (p *separated) giveUp() {
	for _, number := range p.heldFrom {
		p.out.Reject(number, "", read.OpenQuote)
	}
	p.held, p.heldFrom = p.held[:0], p.heldFrom[:0]
}

// row takes the fields of one record.
func (p *separated) row(number int64, fields [][]byte, reason string) error {
	switch {
	case reason != "":
		return p.out.Reject(number, "", reason)
	case len(fields) > len(p.parts) && p.separator != ' ':
		return p.out.Reject(number, "", read.TooManyColumns)
	}
	p.fields = fields
	var r request
	for i, field := range fields[:min(len(fields), len(p.parts))] {
		if p.parts[i] != noPart {
			r[p.parts[i]] = field
		} else if isText(p.names[i], field) {
			p.out.TextIn(p.names[i], "a column")
		}
	}
	return p.add(number, &r)
}
