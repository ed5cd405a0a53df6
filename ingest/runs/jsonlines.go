package runs

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// jsonLines parses lines that are objects of one struct. A field of the struct
// is a column of the table: a pointer is null where the key is absent, the tag
// sql names the column where it is not called like the key, and a tag
// must:"be" rejects the line that lacks it. An integer with tokens in its
// key is a number of tokens, and bounded like one.
type jsonLines[T any] struct {
	shape   *arrow.Schema
	columns []jsonColumn
	places  map[string]int // of the columns, by key
}

type jsonColumn struct {
	key      string
	must     bool
	isTokens bool
	kind     columnKind
}

type columnKind int

const (
	wholeColumn columnKind = iota
	realColumn
	textColumn
	boolColumn
	numbersColumn
)

var columnKinds = map[reflect.Type]struct {
	kind columnKind
	data arrow.DataType
}{
	reflect.TypeFor[*int64]():    {wholeColumn, arrow.PrimitiveTypes.Int64},
	reflect.TypeFor[*float64]():  {realColumn, arrow.PrimitiveTypes.Float64},
	reflect.TypeFor[*string]():   {textColumn, arrow.BinaryTypes.String},
	reflect.TypeFor[*bool]():     {boolColumn, arrow.FixedWidthTypes.Boolean},
	reflect.TypeFor[*integers](): {numbersColumn, arrow.ListOf(arrow.PrimitiveTypes.Int64)},
}

// newJSONLines derives columns and checks from the struct's fields and tags.
func newJSONLines[T any]() *jsonLines[T] {
	p := &jsonLines[T]{places: map[string]int{}}
	var fields []arrow.Field
	kind := reflect.TypeFor[T]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		key := field.Tag.Get("json")
		name := key
		if other := field.Tag.Get("sql"); other != "" {
			name = other
		}
		is := columnKinds[field.Type]
		fields = append(fields, arrow.Field{Name: name, Type: is.data, Nullable: true})
		p.columns = append(p.columns, jsonColumn{key, field.Tag.Get("must") != "", countsTokens(key, field.Type), is.kind})
		p.places[key] = i
	}
	p.shape = arrow.NewSchema(fields, nil)
	return p
}

func (p *jsonLines[T]) Schema() *arrow.Schema { return p.shape }

// names lists the columns as SQL does.
func (p *jsonLines[T]) names() string { return strings.Join(read.ColumnNames(p.shape), ", ") }

// Parse reads the lines of one block, in a worker of its own.
func (p *jsonLines[T]) Parse(b read.Block) *read.Batch {
	builder := array.NewRecordBuilder(read.Memory, p.shape)
	defer builder.Release()
	made := &read.Batch{}
	row := make([]value, len(p.columns))
	b.Rows(made, func(_ int64, line []byte) *read.Reject {
		if !scan(line, p.places, p.columns, row) {
			if err := p.decode(line, row); err != nil {
				return read.JSONReject(err)
			}
		}
		for i, column := range p.columns {
			if reason := column.problem(row[i]); reason != "" {
				return &read.Reject{Column: column.key, Reason: reason}
			}
		}
		for i, column := range p.columns {
			column.append(builder.Field(i), row[i])
		}
		made.Kept++
		return nil
	})
	made.Record = builder.NewRecordBatch()
	return made
}

// decode reads any line by encoding/json.
func (p *jsonLines[T]) decode(line []byte, into []value) error {
	var row T
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	fields := reflect.ValueOf(row)
	for i := range into {
		field := fields.Field(i)
		into[i] = value{isSet: !field.IsNil()}
		switch one := field.Interface().(type) {
		case *int64:
			into[i].whole = maybe.Or(one, 0)
		case *float64:
			into[i].real = maybe.Or(one, 0)
		case *string:
			into[i].text = []byte(maybe.Or(one, ""))
		case *bool:
			into[i].is = maybe.Or(one, false)
		case *integers:
			into[i].numbers = maybe.Or(one, nil)
		}
	}
	return nil
}

// append adds the value to the column's builder. Text that is not UTF-8 would be refused by DuckDB, with the whole file.
func (c jsonColumn) append(builder array.Builder, v value) {
	switch {
	case !v.isSet:
		builder.AppendNull()
	case c.kind == wholeColumn:
		builder.(*array.Int64Builder).Append(v.whole)
	case c.kind == realColumn:
		builder.(*array.Float64Builder).Append(v.real)
	case c.kind == textColumn:
		builder.(*array.StringBuilder).BinaryBuilder.Append(bytes.ToValidUTF8(v.text, []byte("\ufffd")))
	case c.kind == boolColumn:
		builder.(*array.BooleanBuilder).Append(v.is)
	default:
		list := builder.(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Int64Builder).AppendValues(v.numbers, nil)
	}
}

// problem is what is wrong with a value; "" for nothing.
func (c jsonColumn) problem(v value) string {
	switch {
	case !v.isSet && c.must:
		return read.Missing
	case v.isSet && c.isTokens && v.whole > read.MaxTokens:
		return read.TooLarge
	case v.isSet && c.isTokens && v.whole < 0:
		return read.Negative
	}
	return ""
}

// countsTokens says that a key counts tokens, by its name: input_tokens,
// output_tokens_reported.
func countsTokens(key string, kind reflect.Type) bool {
	return kind == reflect.TypeFor[*int64]() && strings.Contains(key+"_", "_tokens_")
}
