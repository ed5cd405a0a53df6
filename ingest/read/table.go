package read

import (
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ArrowColumn is the Arrow type of a field, or of what its pointer points at, and
// how a value is appended. Text that is not UTF-8 would be refused by DuckDB, with
// the whole file; its bad bytes are replaced.
func ArrowColumn(kind reflect.Type) (arrow.DataType, func(array.Builder, reflect.Value)) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch kind {
	case reflect.TypeFor[int64]():
		return arrow.PrimitiveTypes.Int64, func(b array.Builder, v reflect.Value) { b.(*array.Int64Builder).Append(v.Int()) }
	case reflect.TypeFor[int32]():
		return arrow.PrimitiveTypes.Int32, func(b array.Builder, v reflect.Value) { b.(*array.Int32Builder).Append(int32(v.Int())) }
	case reflect.TypeFor[float64]():
		return arrow.PrimitiveTypes.Float64, func(b array.Builder, v reflect.Value) { b.(*array.Float64Builder).Append(v.Float()) }
	case reflect.TypeFor[bool]():
		return arrow.FixedWidthTypes.Boolean, func(b array.Builder, v reflect.Value) { b.(*array.BooleanBuilder).Append(v.Bool()) }
	case reflect.TypeFor[string]():
		return arrow.BinaryTypes.String, func(b array.Builder, v reflect.Value) {
			b.(*array.StringBuilder).Append(strings.ToValidUTF8(v.String(), "\ufffd"))
		}
	case reflect.TypeFor[time.Time]():
		return arrow.FixedWidthTypes.Timestamp_us, func(b array.Builder, v reflect.Value) {
			b.(*array.TimestampBuilder).Append(arrow.Timestamp(v.Interface().(time.Time).UnixMicro()))
		}
	case reflect.TypeFor[[]byte]():
		return arrow.BinaryTypes.Binary, func(b array.Builder, v reflect.Value) { b.(*array.BinaryBuilder).Append(v.Bytes()) }
	case reflect.TypeFor[[]int32]():
		return arrow.ListOf(arrow.PrimitiveTypes.Int32), func(b array.Builder, v reflect.Value) {
			list := b.(*array.ListBuilder)
			list.Append(true)
			list.ValueBuilder().(*array.Int32Builder).AppendValues(v.Interface().([]int32), nil)
		}
	case reflect.TypeFor[[]uint64]():
		return arrow.ListOf(arrow.PrimitiveTypes.Uint64), func(b array.Builder, v reflect.Value) {
			list := b.(*array.ListBuilder)
			list.Append(true)
			list.ValueBuilder().(*array.Uint64Builder).AppendValues(v.Interface().([]uint64), nil)
		}
	}
	panic("ingest: no column for a " + kind.String())
}

// ColumnNames are the names of a schema's columns, in order.
func ColumnNames(schema *arrow.Schema) []string {
	var names []string
	for _, field := range schema.Fields() {
		names = append(names, field.Name)
	}
	return names
}

// table is the rows of one raw table that are on their way, in column builders made
// from the fields of its row type.
type table struct {
	name    string
	shape   *arrow.Schema
	columns []func(array.Builder, reflect.Value)
	builder *array.RecordBuilder
	rows    int
	bytes   int // of text and lists, roughly
}

func newTable(name string, kind reflect.Type) *table {
	t := &table{name: name}
	var fields []arrow.Field
	for i := range kind.NumField() {
		field := kind.Field(i)
		dataType, appendValue := ArrowColumn(field.Type)
		fields = append(fields, arrow.Field{Name: field.Tag.Get("sql"), Type: dataType, Nullable: true})
		t.columns = append(t.columns, appendValue)
	}
	t.shape = arrow.NewSchema(fields, nil)
	t.builder = array.NewRecordBuilder(Memory, t.shape)
	return t
}

func (t *table) append(row reflect.Value) {
	for i, appendValue := range t.columns {
		value := row.Field(i)
		switch value.Kind() {
		case reflect.Pointer:
			if value.IsNil() {
				t.builder.Field(i).AppendNull()
				continue
			}
			value = value.Elem()
		case reflect.Slice:
			if value.IsNil() {
				t.builder.Field(i).AppendNull()
				continue
			}
		}
		if kind := value.Kind(); kind == reflect.String || kind == reflect.Slice {
			t.bytes += 8 * value.Len()
		}
		appendValue(t.builder.Field(i), value)
	}
	t.rows++
}
