// Transfer codings of HTTP/1.1 (RFC 9112, section 7.1) as a state machine over byte ranges: it may be fed one byte at a
// time. It is strict where leniency would hide a broken proxy, and passes extensions and trailers without reading them.

package wire

import (
	"bytes"
	"errors"
	"fmt"
)

// Limits on what a server may send around its body.
const (
	MaxHead      = 64 << 10
	maxChunkLine = 4 << 10
)

var (
	errFraming  = errors.New("broken chunked coding")
	ErrLongHead = fmt.Errorf("response head over %d bytes", MaxHead)
)

// HeadEnd is the length of a response head in data; 0 while it has not ended.
func HeadEnd(data []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return 0
		}
		at += i + 1
		switch rest := data[at:]; {
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return at + 2
		case len(rest) > 0 && rest[0] == '\n':
			return at + 1
		}
	}
}

// framingState is what the next byte belongs to.
type framingState int

const (
	inData      framingState = iota
	inSizeLine               // of a chunk
	inChunkEnd               // the line end after a chunk's data
	inTrailer                // lines after the last chunk
	untilClosed              // no length: the body ends with the connection
	ended
)

// Framing takes a body out of its transfer coding, byte range by byte range as they come.
type Framing struct {
	state   framingState
	chunked bool
	left    int64 // bytes of data before the state changes
	line    int   // bytes of the line so far
	size    int64
	digits  int
	ext     ext
}

// ext is how far a chunk's line, or a trailer's, has come.
type ext int

const (
	noExt    ext = iota
	isBlank      // past the size, where only blanks, an extension or the line's end may follow
	inExt        // in an extension, which nobody needs
	isReturn     // a carriage return has come: only the line end may follow
)

// NewFraming takes the length from the head: chunked coding comes before Content-Length, and without either the body
// ends with the connection (RFC 9112, section 6.3).
func NewFraming(h Head) Framing {
	switch {
	case h.isChunked:
		return Framing{state: inSizeLine, chunked: true}
	case h.Length < 0:
		return Framing{state: untilClosed}
	case h.Length == 0:
		return Framing{state: ended}
	}
	return Framing{left: h.Length}
}

// IsOver says that the whole body has come.
func (f *Framing) IsOver() bool { return f.state == ended }

// EndsWithConnection says that the body has no length: the connection's end is its end.
func (f *Framing) EndsWithConnection() bool { return f.state == untilClosed }

// Split cuts off the first run of body bytes in p; rest is what comes after it.
func (f *Framing) Split(p []byte) (data, rest []byte, err error) {
	for len(p) > 0 {
		switch f.state {
		case untilClosed:
			return p, nil, nil
		case inData:
			n := min(f.left, int64(len(p)))
			data, rest = p[:n], p[n:]
			if f.left -= n; f.left == 0 {
				f.state = ended
				if f.chunked {
					f.state = inChunkEnd
				}
			}
			return data, rest, nil
		case ended:
			return nil, p, nil
		}
		if err := f.control(p[0]); err != nil {
			return nil, nil, err
		}
		p = p[1:]
	}
	return nil, nil, nil
}

// control takes one byte of the coding itself.
func (f *Framing) control(b byte) error {
	if f.line++; f.line > maxChunkLine {
		return errFraming
	}
	switch f.state {
	case inChunkEnd:
		switch {
		case b == '\n':
			*f = Framing{state: inSizeLine, chunked: true}
		case b == '\r' && f.line == 1:
		default:
			return errFraming
		}
	case inSizeLine:
		return f.sizeByte(b)
	case inTrailer:
		if b == '\n' {
			if f.line <= 1 || f.line == 2 && f.ext == isReturn {
				f.state = ended
			}
			f.line, f.ext = 0, noExt
		} else if f.ext = noExt; b == '\r' && f.line == 1 { // so far the line is empty
			f.ext = isReturn
		}
	}
	return nil
}

// sizeByte takes a byte of a line that says a chunk's size: hexadecimal digits, blanks, an extension behind a semicolon.
func (f *Framing) sizeByte(b byte) error {
	switch {
	case b != '\n' && f.ext == isReturn || f.digits == 0 && hexDigit(b) < 0:
		return errFraming
	case b == '\n':
		*f = Framing{state: inData, chunked: true, left: f.size}
		if f.left == 0 {
			f.state = inTrailer
		}
	case b == '\r':
		f.ext = isReturn
	case f.ext == inExt:
	case b == ';':
		f.ext = inExt
	case b == ' ' || b == '\t':
		f.ext = isBlank
	default:
		digit := hexDigit(b)
		if f.digits++; digit < 0 || f.digits > 15 || f.ext == isBlank {
			return errFraming
		}
		f.size = f.size<<4 | int64(digit)
	}
	return nil
}

// hexDigit is negative for any other byte.
func hexDigit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}
