package ingest

import (
	"bytes"
	"io"
	"sync"
)

// A parse worker gets as many lines as DuckDB puts into a row group, so that a
// batch is written as it is and not put together with its neighbours first; or
// fewer, where the lines are long. A line longer than the limit is rejected.
const (
	linesInBlock = 122_880
	blockSize    = 8 << 20
	lineLimit    = 1 << 20
	runLineLimit = 4 << 20 // a run's lines hold every chunk of an answer, or a whole exposition
)

// block is some whole lines of a file. The last line of the file may lack its
// line end.
type block struct {
	data []byte
	line int64 // number of its first line, from 1
	ends int   // line ends in it
	// limit is the longest line that is read, bytes.
	limit int
	// overlong says that the block is one line of more than blockSize bytes. It is
	// passed over; of a file's first line the begin is there, for a format whose
	// documents have no lines.
	overlong bool
}

// blocks cuts a stream into blocks of whole lines.
type blocks struct {
	reader io.Reader
	size   int
	limit  int    // longest line that is read, bytes
	rest   []byte // the beginning of a line whose end is not read yet
	line   int64  // of the next block
	ended  bool
	inLine bool // the rest of an overlong line comes first
	torn   bool // the file ends in the middle of a line, and that was cut off
	pool   *sync.Pool

	// wholeLines is set for files whose writer ends each line: what has no end
	// was still being written.
	wholeLines bool
}

func newBlocks(reader io.Reader, size, limit int) *blocks {
	return &blocks{reader: reader, size: size, limit: limit, line: 1, pool: &sync.Pool{New: func() any {
		buffer := make([]byte, size)
		return &buffer
	}}}
}

// next returns io.EOF after the last block.
func (b *blocks) next() (block, error) {
	buffer := *b.pool.Get().(*[]byte)
	if b.inLine {
		b.inLine = false
		if err := b.skipLine(buffer); err != nil {
			return block{}, err
		}
	}
	n := copy(buffer, b.rest)
	b.rest = b.rest[:0]
	if !b.ended {
		more, err := io.ReadFull(b.reader, buffer[n:])
		n += more
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			b.ended = true
		} else if err != nil {
			return block{}, err
		}
	}
	ends, end := linesOf(buffer[:n])
	switch {
	case n == 0:
		return block{}, io.EOF
	case ends == 0 && !b.ended:
		return b.overlong(buffer[:n])
	case ends < linesInBlock && b.ended && b.wholeLines:
		b.torn = b.torn || end < n
		n = end
	case ends < linesInBlock && b.ended:
		end = n // the last line has no end
	}
	if end == 0 {
		return block{}, io.EOF
	}
	made := block{data: buffer[:end], line: b.line, ends: ends, limit: b.limit}
	b.rest = append(b.rest, buffer[end:n]...)
	b.line += int64(ends)
	return made, nil
}

// linesOf counts the line ends that make a block, and says where the last is.
func linesOf(text []byte) (ends, end int) {
	const piece = 64 << 10
	for end < len(text) {
		next := text[end:min(end+piece, len(text))]
		count := bytes.Count(next, newline)
		if ends+count > linesInBlock {
			break
		}
		ends += count
		end += len(next)
	}
	for ends < linesInBlock && end < len(text) {
		end += bytes.IndexByte(text[end:], '\n') + 1 // there is one: the piece has too many
		ends++
	}
	return ends, bytes.LastIndexByte(text[:end], '\n') + 1
}

var newline = []byte{'\n'}

// overlong is a block for a line that does not fit one.
func (b *blocks) overlong(begin []byte) (block, error) {
	made := block{data: begin, line: b.line, overlong: true}
	b.line++
	if made.line == 1 {
		b.inLine = true
		return made, nil
	}
	made.data = begin[:0]
	return made, b.skipLine(begin)
}

// skipLine reads on to the end of a line.
func (b *blocks) skipLine(buffer []byte) error {
	for {
		n, err := b.reader.Read(buffer)
		if end := bytes.IndexByte(buffer[:n], '\n') + 1; end > 0 {
			b.rest = append(b.rest[:0], buffer[end:n]...)
			return nil
		}
		if err == io.EOF {
			b.ended = true
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// done gives a block's memory back.
func (b *blocks) done(used block) {
	buffer := used.data[:cap(used.data)]
	if len(buffer) == b.size {
		b.pool.Put(&buffer)
	}
}

// rows calls use with every line that is not blank, without its line end, and
// counts what use says of it.
func (b block) rows(made *batch, use func(number int64, line []byte) *reject) {
	data, number := b.data, b.line
	for ; len(data) > 0; number++ {
		line := data
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, data = data[:end], data[end+1:]
		} else {
			data = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if isBlank(line) {
			continue
		}
		made.read++
		problem := &reject{reason: tooLong}
		if len(line) <= b.limit {
			problem = use(number, line)
		}
		if problem != nil {
			problem.line = number
			made.rejects = append(made.rejects, *problem)
		}
	}
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c > ' ' {
			return false
		}
	}
	return true
}
