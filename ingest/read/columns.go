package read

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
)

// Memory is memory that the garbage collector does not own: DuckDB holds on to
// batches after the call that brought them.
var Memory memory.Allocator = mallocator.NewMallocator()

// Column is a column under construction, written straight into the memory that
// DuckDB will read.
type Column[T int64 | uint64 | int32] struct {
	buffer *memory.Buffer
	values []T
	n      int
	view   func([]byte) []T
	width  int
}

func NewInt64s(capacity int) *Column[int64] {
	return newColumn(capacity, arrow.Int64SizeBytes, arrow.Int64Traits.CastFromBytes)
}

func newColumn[T int64 | uint64 | int32](capacity, width int, view func([]byte) []T) *Column[T] {
	c := &Column[T]{buffer: memory.NewResizableBuffer(Memory), view: view, width: width}
	c.grow(capacity)
	return c
}

func (c *Column[T]) grow(capacity int) {
	c.buffer.Resize(max(capacity, 1) * c.width)
	c.values = c.view(c.buffer.Bytes())
}

func (c *Column[T]) Append(value T) {
	if c.n == len(c.values) {
		c.grow(2 * c.n)
	}
	c.values[c.n] = value
	c.n++
}

// data ends the column and gives its memory away.
func (c *Column[T]) data(kind arrow.DataType) arrow.ArrayData {
	defer c.buffer.Release()
	return array.NewData(kind, c.n, []*memory.Buffer{nil, c.buffer}, nil, 0, 0)
}

func (c *Column[T]) Array(kind arrow.DataType) arrow.Array {
	data := c.data(kind)
	defer data.Release()
	return array.MakeFromData(data)
}

// NewRecord makes a batch of columns and gives their memory away.
func NewRecord(schema *arrow.Schema, columns ...arrow.Array) arrow.RecordBatch {
	batch := array.NewRecordBatch(schema, columns, int64(columns[0].Len()))
	for _, column := range columns {
		column.Release()
	}
	return batch
}

// blockLists is the column of block ids under construction.
type blockLists struct {
	offsets *Column[int32]
	values  *Column[uint64]
	absent  []int // rows without ids
}

func NewBlockLists(rows, values int) *blockLists {
	l := &blockLists{
		offsets: newColumn(rows+1, arrow.Int32SizeBytes, arrow.Int32Traits.CastFromBytes),
		values:  newColumn(values, arrow.Uint64SizeBytes, arrow.Uint64Traits.CastFromBytes),
	}
	l.offsets.Append(0)
	return l
}

func (l *blockLists) Append(ids []uint64) {
	if len(ids) == 0 {
		l.absent = append(l.absent, l.offsets.n-1)
	}
	for _, id := range ids {
		l.values.Append(id)
	}
	l.offsets.Append(int32(l.values.n))
}

func (l *blockLists) Array() arrow.Array {
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
	bitmap := memory.NewResizableBuffer(Memory)
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
