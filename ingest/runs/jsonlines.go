package runs

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
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

// newJSONLines derives columns and checks from the struct's fields and tags.
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
		dataType, appendValue := read.ArrowColumn(field.Type)
		fields = append(fields, arrow.Field{Name: name, Type: dataType, Nullable: true})
		p.columns = append(p.columns, jsonColumn{key, field.Tag.Get("must") != "", countsTokens(key, field.Type), appendValue})
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
	b.Rows(made, func(_ int64, line []byte) *read.Reject {
		var row T
		if err := json.Unmarshal(line, &row); err != nil {
			return read.JSONReject(err)
		}
		value := reflect.ValueOf(row)
		for i, column := range p.columns {
			if reason := column.problem(value.Field(i)); reason != "" {
				return &read.Reject{Column: column.key, Reason: reason}
			}
		}
		for i, column := range p.columns {
			if field := value.Field(i); field.IsNil() {
				builder.Field(i).AppendNull()
			} else {
				column.append(builder.Field(i), field.Elem())
			}
		}
		made.Kept++
		return nil
	})
	made.Record = builder.NewRecordBatch()
	return made
}

// problem is what is wrong with a value; "" for nothing.
func (c jsonColumn) problem(value reflect.Value) string {
	switch {
	case value.IsNil() && c.must:
		return read.Missing
	case !value.IsNil() && c.isTokens && value.Elem().Int() > read.MaxTokens:
		return read.TooLarge
	case !value.IsNil() && c.isTokens && value.Elem().Int() < 0:
		return read.Negative
	}
	return ""
}

// countsTokens says that a key counts tokens, by its name: input_tokens,
// output_tokens_reported.
func countsTokens(key string, kind reflect.Type) bool {
	return kind == reflect.TypeFor[*int64]() && strings.Contains(key+"_", "_tokens_")
}
