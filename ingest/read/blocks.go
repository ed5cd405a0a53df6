package read

import (
	"bytes"
	"io"
	"sync"
)

// A parse worker gets as many lines as DuckDB puts into a row group (122,880), so
// that a batch is written as it is and not merged with its neighbours first; or
// fewer, where the lines are long. A line longer than the limit is rejected.
const (
	linesInBlock = 122_880
	BlockSize    = 8 << 20
	LineLimit    = 1 << 20
	RunLineLimit = 4 << 20 // a run's lines hold every chunk of an answer, or a whole exposition
)

// Block is some whole lines of a file. The last line of the file may lack its line end.
type Block struct {
	Data []byte
	Line int64 // number of its first line, from 1
	Ends int   // line ends in it
	// Limit is the longest line that is read, bytes.
	Limit int
	// Overlong says that the block is one line of more than blockSize bytes. It is
	// passed over; of a file's first line the begin is there, for a format whose
	// documents have no lines.
	Overlong bool
}

// Blocks cuts a stream into blocks of whole lines. One goroutine calls Next; parse
// workers give the memory of their blocks back.
type Blocks struct {
	reader io.Reader
	size   int
	limit  int    // longest line that is read, bytes
	rest   []byte // the beginning of a line whose end is not read yet
	line   int64  // of the next block
	Ended  bool
	inLine bool // the rest of an overlong line comes first
	Torn   bool // the file ends in the middle of a line, and that was cut off
	pool   *sync.Pool

	// WholeLines is set for files whose writer ends each line: what has no end
	// was still being written.
	WholeLines bool
}

// NewBlocks cuts into blocks of up to size bytes, and allows lines of up to limit
// bytes.
func NewBlocks(reader io.Reader, size, limit int) *Blocks {
	return &Blocks{reader: reader, size: size, limit: limit, line: 1, pool: &sync.Pool{New: func() any {
		buffer := make([]byte, size)
		return &buffer
	}}}
}

// Next returns io.EOF after the last block.
func (b *Blocks) Next() (Block, error) {
	buffer := *b.pool.Get().(*[]byte)
	if b.inLine {
		b.inLine = false
		if err := b.skipLine(buffer); err != nil {
			return Block{}, err
		}
	}
	n := copy(buffer, b.rest)
	b.rest = b.rest[:0]
	if !b.Ended {
		more, err := io.ReadFull(b.reader, buffer[n:])
		n += more
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			b.Ended = true
		} else if err != nil {
			return Block{}, err
		}
	}
	ends, end := linesOf(buffer[:n])
	switch {
	case n == 0:
		return Block{}, io.EOF
	case ends == 0 && !b.Ended:
		return b.overlong(buffer[:n])
	case ends < linesInBlock && b.Ended && b.WholeLines:
		b.Torn = b.Torn || end < n
		n = end
	case ends < linesInBlock && b.Ended:
		end = n // the last line has no end
	}
	if end == 0 {
		return Block{}, io.EOF
	}
	made := Block{Data: buffer[:end], Line: b.line, Ends: ends, Limit: b.limit}
	b.rest = append(b.rest, buffer[end:n]...)
	b.line += int64(ends)
	return made, nil
}

// linesOf counts the line ends that make a block, and says where the last is.
func linesOf(text []byte) (ends, end int) {
	const piece = 64 << 10
	for end < len(text) {
		next := text[end:min(end+piece, len(text))]
		count := bytes.Count(next, Newline)
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

// Newline ends a line; a carriage return before it belongs to it.
var Newline = []byte{'\n'}

// overlong is a block for a line that does not fit one.
func (b *Blocks) overlong(begin []byte) (Block, error) {
	made := Block{Data: begin, Line: b.line, Overlong: true}
	b.line++
	if made.Line == 1 {
		b.inLine = true
		return made, nil
	}
	made.Data = begin[:0]
	return made, b.skipLine(begin)
}

// skipLine reads on to the end of a line.
func (b *Blocks) skipLine(buffer []byte) error {
	for {
		n, err := b.reader.Read(buffer)
		if end := bytes.IndexByte(buffer[:n], '\n') + 1; end > 0 {
			b.rest = append(b.rest[:0], buffer[end:n]...)
			return nil
		}
		if err == io.EOF {
			b.Ended = true
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// done gives a block's memory back.
func (b *Blocks) done(used Block) {
	buffer := used.Data[:cap(used.Data)]
	if len(buffer) == b.size {
		b.pool.Put(&buffer)
	}
}

// Rows calls use with every line that is not blank, without its line end, and
// counts what use says about it.
func (b Block) Rows(made *Batch, use func(number int64, line []byte) *Reject) {
	data, number := b.Data, b.Line
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
		made.Read++
		problem := &Reject{Reason: TooLong}
		if len(line) <= b.Limit {
			problem = use(number, line)
		}
		if problem != nil {
			problem.Line = number
			made.Rejects = append(made.Rejects, *problem)
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

// TakeHeader cuts the first line off, with the blank lines before it.
func TakeHeader(first Block) (header []byte, rest Block) {
	for len(first.Data) > 0 && len(header) == 0 {
		line, after, _ := bytes.Cut(first.Data, []byte("\n"))
		header = bytes.TrimSpace(line)
		first.Data = after
		first.Line++
	}
	return header, first
}
