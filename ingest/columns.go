package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
)

// outside is memory that the garbage collector does not own: DuckDB holds on to
// batches after the call that brought them.
var outside memory.Allocator = mallocator.NewMallocator()

// numbers is a column under construction, written straight into the memory that
// DuckDB will read.
type numbers[T int64 | uint64 | int32] struct {
	buffer *memory.Buffer
	values []T
	n      int
	view   func([]byte) []T
	width  int
}

func newInt64s(capacity int) *numbers[int64] {
	return newNumbers(capacity, arrow.Int64SizeBytes, arrow.Int64Traits.CastFromBytes)
}

func newNumbers[T int64 | uint64 | int32](capacity, width int, view func([]byte) []T) *numbers[T] {
	c := &numbers[T]{buffer: memory.NewResizableBuffer(outside), view: view, width: width}
	c.grow(capacity)
	return c
}

func (c *numbers[T]) grow(capacity int) {
	c.buffer.Resize(max(capacity, 1) * c.width)
	c.values = c.view(c.buffer.Bytes())
}

func (c *numbers[T]) append(value T) {
	if c.n == len(c.values) {
		c.grow(2 * c.n)
	}
	c.values[c.n] = value
	c.n++
}

// data ends the column and gives its memory away.
func (c *numbers[T]) data(kind arrow.DataType) arrow.ArrayData {
	defer c.buffer.Release()
	return array.NewData(kind, c.n, []*memory.Buffer{nil, c.buffer}, nil, 0, 0)
}

func (c *numbers[T]) array(kind arrow.DataType) arrow.Array {
	data := c.data(kind)
	defer data.Release()
	return array.MakeFromData(data)
}

// record makes a batch of columns and gives their memory away.
func record(schema *arrow.Schema, columns ...arrow.Array) arrow.RecordBatch {
	batch := array.NewRecordBatch(schema, columns, int64(columns[0].Len()))
	for _, column := range columns {
		column.Release()
	}
	return batch
}

// blockLists is the column of block ids under construction.
type blockLists struct {
	offsets *numbers[int32]
	values  *numbers[uint64]
	absent  []int // rows without ids
}

func newBlockLists(rows, values int) *blockLists {
	l := &blockLists{
		offsets: newNumbers(rows+1, arrow.Int32SizeBytes, arrow.Int32Traits.CastFromBytes),
		values:  newNumbers(values, arrow.Uint64SizeBytes, arrow.Uint64Traits.CastFromBytes),
	}
	l.offsets.append(0)
	return l
}

func (l *blockLists) append(ids []uint64) {
	if len(ids) == 0 {
		l.absent = append(l.absent, l.offsets.n-1)
	}
	for _, id := range ids {
		l.values.append(id)
	}
	l.offsets.append(int32(l.values.n))
}

func (l *blockLists) array() arrow.Array {
	rows := l.offsets.n - 1
	values := l.values.data(arrow.PrimitiveTypes.Uint64)
	defer values.Release()
	defer l.offsets.buffer.Release()
	data := array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Uint64), rows,
		[]*memory.Buffer{l.validity(rows), l.offsets.buffer}, []arrow.ArrayData{values}, len(l.absent), 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// validity is the bitmap of rows with ids; nil where all have them.
func (l *blockLists) validity(rows int) *memory.Buffer {
	if len(l.absent) == 0 {
		return nil
	}
	bitmap := memory.NewResizableBuffer(outside)
	bitmap.Resize((rows + 7) / 8)
	bits := bitmap.Bytes()
	for i := range bits {
		bits[i] = 0xff
	}
	for _, row := range l.absent {
		bits[row/8] &^= 1 << (row % 8)
	}
	return bitmap
}
