// Server-sent events (WHATWG HTML, section 9.2) as they come: lines may end in \n, \r\n or \r, events in the middle of a
// read. An event that came in one piece is passed on as a slice of the read buffer; only what outlives its read is copied.

package wire

import (
	"bytes"
	"errors"
)

// SSE takes the bytes of an event stream as they come and calls event for each one that has ended. An event's data is a
// slice of those bytes wherever it came in one piece.
type SSE struct {
	limit int                     // bytes of the longest line and event
	event func(name, data []byte) // valid during the call
	carry []byte                  // a line that has not ended
	kept  []byte                  // data of an event that has not ended and outlives its read, or has several lines
	data  []byte                  // data of the event so far; kept or a slice of the bytes now being fed
	name  []byte
	has   bool // the event has data
	isOld bool // not the first line: a byte order mark is behind us
	skip  bool // the last line ended in \r: a \n next belongs to it
}

// errLongLine protects the memory from a server that never ends a line.
var errLongLine = errors.New("a line of the stream is longer than it may be")

// Reset makes the parser ready for another stream and keeps its buffers.
func (p *SSE) Reset(limit int, event func(name, data []byte)) {
	*p = SSE{limit: limit, event: event, carry: p.carry[:0], kept: p.kept[:0], name: p.name[:0]}
}

// Parse takes the next bytes, which may end anywhere.
func (p *SSE) Parse(in []byte) error {
	for len(in) > 0 {
		if p.skip {
			p.skip = false
			if in[0] == '\n' {
				in = in[1:]
				continue
			}
		}
		end := lineEnd(in)
		if end < 0 {
			if len(p.carry)+len(in) > p.limit {
				return errLongLine
			}
			p.carry = append(p.carry, in...)
			break
		}
		line := in[:end]
		p.skip = in[end] == '\r'
		in = in[end+1:]
		if len(p.carry) > 0 {
			if len(p.carry)+len(line) > p.limit {
				return errLongLine
			}
			p.carry = append(p.carry, line...)
			line = p.carry
		}
		if err := p.line(line); err != nil {
			return err
		}
		if len(p.carry) > 0 {
			p.keep() // the data may lie in carry, which the next line overwrites
			p.carry = p.carry[:0]
		}
	}
	p.keep()
	return nil
}

// lineEnd finds the first \n, \r\n or lone \r; a legal stream may use any of them.
func lineEnd(in []byte) int {
	lf := bytes.IndexByte(in, '\n')
	head := in
	if lf >= 0 {
		head = in[:lf]
	}
	if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// keep copies the data of an unfinished event out of bytes that are about to be reused.
func (p *SSE) keep() {
	if p.has && len(p.kept) == 0 { // else they are there already
		p.kept = append(p.kept, p.data...)
		p.data = p.kept
	}
}

// byteOrderMark may stand at the very beginning of a stream and is no part of it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// line takes one line without its end; an empty one ends the event.
func (p *SSE) line(line []byte) error {
	if !p.isOld {
		p.isOld = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		p.dispatch()
		return nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		return p.addData(value)
	case "event":
		p.name = append(p.name[:0], value...)
	case "error": // llama.cpp: no SSE field at all, but an error
		p.dispatch()
		p.event([]byte("error"), value)
	}
	return nil // a comment or a field that says nothing here
}

// addData joins several data lines by line feeds, as the standard says.
func (p *SSE) addData(value []byte) error {
	if !p.has {
		p.has, p.data, p.kept = true, value, p.kept[:0]
		return nil
	}
	if len(p.data)+len(value) > p.limit {
		return errLongLine
	}
	p.keep()
	p.kept = append(append(p.kept, '\n'), value...)
	p.data = p.kept
	return nil
}

// dispatch gives out the event so far; one without data is none.
func (p *SSE) dispatch() {
	if p.has {
		p.event(p.name, p.data)
	}
	p.has, p.data, p.kept, p.name = false, nil, p.kept[:0], p.name[:0]
}

// End gives out an event whose closing blank line never came; a line that was cut is not part of it.
func (p *SSE) End() { p.dispatch() }
