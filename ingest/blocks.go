package ingest

import (
	"bytes"
	"io"
	"sync"
)

// blockSize is how much a parse worker gets at once. A line may be a quarter as
// long; a longer one is rejected.
const (
	blockSize    = 4 << 20
	runBlockSize = 16 << 20 // a run's lines hold every chunk of an answer, or a whole exposition
	linesInBlock = 4        // at least
)

// block is some whole lines of a file. The last line of the file may lack its
// line end.
type block struct {
	data []byte
	line int64 // number of its first line, from 1
	// overlong says that the block is one line of more than blockSize bytes,
	// which was passed over.
	overlong bool
}

// blocks cuts a stream into blocks of whole lines.
type blocks struct {
	reader io.Reader
	size   int
	rest   []byte // the beginning of a line whose end is not read yet
	line   int64  // of the next block
	ended  bool
	torn   bool // the file ends in the middle of a line, and that was cut off
	pool   *sync.Pool

	// wholeLines is set for files whose writer ends each line: what has no end
	// was still being written.
	wholeLines bool
}

func newBlocks(reader io.Reader, size int) *blocks {
	return &blocks{reader: reader, size: size, line: 1, pool: &sync.Pool{New: func() any {
		buffer := make([]byte, size)
		return &buffer
	}}}
}

// next returns io.EOF after the last block.
func (b *blocks) next() (block, error) {
	if b.ended {
		return block{}, io.EOF
	}
	buffer := *b.pool.Get().(*[]byte)
	n := copy(buffer, b.rest)
	b.rest = b.rest[:0]
	more, err := io.ReadFull(b.reader, buffer[n:])
	n += more
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		b.ended = true
		if b.wholeLines {
			end := bytes.LastIndexByte(buffer[:n], '\n') + 1
			b.torn, n = b.torn || end < n, end
		}
		if n == 0 {
			return block{}, io.EOF
		}
		return b.cut(buffer[:n], n), nil
	case err != nil:
		return block{}, err
	}
	if end := bytes.LastIndexByte(buffer, '\n') + 1; end > 0 {
		b.rest = append(b.rest, buffer[end:]...)
		return b.cut(buffer, end), nil
	}
	return b.skipLine(buffer)
}

// cut makes a block of the first end bytes.
func (b *blocks) cut(buffer []byte, end int) block {
	made := block{data: buffer[:end], line: b.line}
	b.line += int64(bytes.Count(made.data, []byte{'\n'}))
	return made
}

// skipLine reads on to the end of a line that does not fit a block.
func (b *blocks) skipLine(buffer []byte) (block, error) {
	for {
		n, err := b.reader.Read(buffer)
		if end := bytes.IndexByte(buffer[:n], '\n') + 1; end > 0 {
			b.rest = append(b.rest[:0], buffer[end:n]...)
			break
		}
		if err == io.EOF {
			b.ended = true
			break
		}
		if err != nil {
			return block{}, err
		}
	}
	made := block{data: buffer[:0], line: b.line, overlong: true}
	b.line++
	return made, nil
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
	longest := cap(b.data) / linesInBlock
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
		if len(line) == 0 || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		made.read++
		problem := &reject{reason: tooLong}
		if len(line) <= longest {
			problem = use(number, line)
		}
		if problem != nil {
			problem.line = number
			made.rejects = append(made.rejects, *problem)
		}
	}
}
