package read

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
)

// Columns that parse workers write straight into the memory that DuckDB reads: no
// row struct, no copy. It is memory of the C heap, because DuckDB keeps batches
// after the call that brought them, and Go memory must not be kept by C.

// Memory is allocated outside of Go's garbage collector.
var Memory memory.Allocator = mallocator.NewMallocator()

// Column is a column under construction.
type Column[T int64 | uint64 | int32] struct {
	buffer *memory.Buffer
	values []T
	n      int
	view   func([]byte) []T
	width  int
}

// NewInt64s is a column of 64-bit integers; it grows beyond its capacity.
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

// Append adds a value.
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

// Array ends the column.
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

// blockLists is the column of prefix block ids under construction: a list of 64-bit
// ids per row, null where a row has none.
type blockLists struct {
	offsets *Column[int32]
	values  *Column[uint64]
	absent  []int // rows without ids
}

// NewBlockLists has room for so many rows, and so many ids in all of them.
func NewBlockLists(rows, values int) *blockLists {
	l := &blockLists{
		offsets: newColumn(rows+1, arrow.Int32SizeBytes, arrow.Int32Traits.CastFromBytes),
		values:  newColumn(values, arrow.Uint64SizeBytes, arrow.Uint64Traits.CastFromBytes),
	}
	l.offsets.Append(0)
	return l
}

// Append adds the ids of one row.
func (l *blockLists) Append(ids []uint64) {
	if len(ids) == 0 {
		l.absent = append(l.absent, l.offsets.n-1)
	}
	for _, id := range ids {
		l.values.Append(id)
	}
	l.offsets.Append(int32(l.values.n))
}

// Array ends the column.
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
