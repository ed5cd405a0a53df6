package ingest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// jsonLines parses lines that are objects of one struct. A field of the struct
// is a column of the table: a pointer is null where the key is absent, the tag
// sql names the column where it is not called like the key, and a tag
// must:"be" rejects the line that lacks it. An integer with tokens in its
// key is a number of tokens, and bounded like one.
type jsonLines[T any] struct {
	shape   *arrow.Schema
	columns []jsonColumn
}

type jsonColumn struct {
	key      string
	must     bool
	isTokens bool
	append   func(b array.Builder, value reflect.Value)
}

func newJSONLines[T any]() *jsonLines[T] {
	p := &jsonLines[T]{}
	var fields []arrow.Field
	kind := reflect.TypeFor[T]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		key := field.Tag.Get("json")
		name := key
		if other := field.Tag.Get("sql"); other != "" {
			name = other
		}
		dataType, appendValue := arrowColumn(field.Type)
		fields = append(fields, arrow.Field{Name: name, Type: dataType, Nullable: true})
		p.columns = append(p.columns, jsonColumn{key, field.Tag.Get("must") != "", countsTokens(key, field.Type), appendValue})
	}
	p.shape = arrow.NewSchema(fields, nil)
	return p
}

// arrowColumn is how a field's type, or what its pointer points at, is kept.
func arrowColumn(kind reflect.Type) (arrow.DataType, func(array.Builder, reflect.Value)) {
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

func (p *jsonLines[T]) schema() *arrow.Schema { return p.shape }

// names lists the columns as SQL does.
func (p *jsonLines[T]) names() string { return strings.Join(columnNames(p.shape), ", ") }

func (p *jsonLines[T]) parse(b block) *batch {
	builder := array.NewRecordBuilder(outside, p.shape)
	defer builder.Release()
	made := &batch{}
	b.rows(made, func(_ int64, line []byte) *reject {
		var row T
		if err := json.Unmarshal(line, &row); err != nil {
			return jsonReject(err)
		}
		value := reflect.ValueOf(row)
		for i, column := range p.columns {
			if reason := column.problem(value.Field(i)); reason != "" {
				return &reject{column: column.key, reason: reason}
			}
		}
		for i, column := range p.columns {
			if field := value.Field(i); field.IsNil() {
				builder.Field(i).AppendNull()
			} else {
				column.append(builder.Field(i), field.Elem())
			}
		}
		made.kept++
		return nil
	})
	made.record = builder.NewRecordBatch()
	return made
}

func (c jsonColumn) problem(value reflect.Value) string {
	switch {
	case value.IsNil() && c.must:
		return isMissing
	case !value.IsNil() && c.isTokens && value.Elem().Int() > maxTokens:
		return tooLarge
	case !value.IsNil() && c.isTokens && value.Elem().Int() < 0:
		return negative
	}
	return ""
}

func countsTokens(key string, kind reflect.Type) bool {
	return kind == reflect.TypeFor[*int64]() && strings.Contains(key+"_", "_tokens_")
}

func jsonReject(err error) *reject {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return &reject{column: kind.Field, reason: "not of the kind that it has to be"}
	}
	return &reject{reason: notJSON}
}
