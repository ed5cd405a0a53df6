//go:build duckdb_arrow

package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"tidemark/analysis/answers"
)

// prepare parses and plans a query once. It refuses all but one statement that only reads: DuckDB itself says of which
// kind a statement is, because a list of forbidden words would never be complete.
func (s *session) prepare(query string) (mapping.PreparedStatement, error) {
	query = answers.Meant(query)
	if effect := answers.Effect(query); effect != "" {
		return mapping.PreparedStatement{}, &Failure{Kind: BadQuery, Text: "not a query: only statements that read can be asked, and " + effect + " changes something",
			Hint: "ask with select, from, describe, show, summarize or explain"}
	}
	var statement mapping.PreparedStatement
	var extracted mapping.ExtractedStatements
	defer mapping.DestroyExtracted(&extracted)
	switch count := mapping.ExtractStatements(s.connection, query, &extracted); {
	case count == 0:
		if text := mapping.ExtractStatementsError(extracted); text != "" {
			return statement, failureOf(text)
		}
		return statement, &Failure{Kind: BadQuery, Text: "no query given", Hint: "send SQL as the body: from marts.runs"}
	case count > 1:
		return statement, &Failure{Kind: BadQuery, Text: "more than one statement in a query",
			Hint: "ask one at a time; \"pivot\" counts as several unless it names its values: on x in ('a', 'b')"}
	}
	if mapping.PrepareExtractedStatement(s.connection, extracted, 0, &statement) == mapping.StateError {
		return statement, failureOf(mapping.PrepareError(statement))
	}
	// "explain analyze" runs its statement, whatever that is; in this process it can change nothing.
	switch mapping.PreparedStatementType(statement) {
	case mapping.StatementTypeSelect, mapping.StatementTypeExplain:
		return statement, nil
	}
	return statement, &Failure{Kind: BadQuery, Text: "not a query: only statements that read can be asked",
		Hint: "ask with select, from, describe, show, summarize or explain"}
}

// bind gives the parameters their values. Each value must have a place and each place a value.
func bind(statement mapping.PreparedStatement, errand Errand) error {
	used := map[string]bool{}
	for i := mapping.IdxT(1); i <= mapping.NParams(statement); i++ {
		name := mapping.ParameterName(statement, i)
		value, isThere := errand.Named[name]
		if place := int(i); !isThere && isNumber(name) {
			if _, err := fmt.Sscan(name, &place); err == nil && place >= 1 && place <= len(errand.Listed) {
				value, isThere = errand.Listed[place-1], true
			}
		}
		if !isThere {
			return &Failure{Kind: BadQuery, Text: fmt.Sprintf("parameter $%s has no value", name), Hint: `send {"sql": "...", "parameters": {"` + name + `": ...}}`}
		}
		used[name] = true
		if err := bindValue(statement, i, name, value); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(errand.Named)) {
		if !used[name] {
			return &Failure{Kind: BadQuery, Text: fmt.Sprintf("the query has no parameter $%s", name), Hint: "write it as $" + name + " in the query, or leave it out"}
		}
	}
	if len(errand.Listed) > int(mapping.NParams(statement)) {
		return &Failure{Kind: BadQuery, Text: fmt.Sprintf("%d values for %d parameters", len(errand.Listed), mapping.NParams(statement))}
	}
	return nil
}

func isNumber(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") == ""
}

func bindValue(statement mapping.PreparedStatement, place mapping.IdxT, name string, text json.RawMessage) error {
	value, _, err := valueOf(text)
	if err != nil {
		return &Failure{Kind: BadQuery, Text: fmt.Sprintf("parameter $%s: %v", name, err), Hint: "a parameter is null, true, a number, a text, or a list of these"}
	}
	defer mapping.DestroyValue(&value)
	if mapping.BindValue(statement, place, value) == mapping.StateError {
		return failureOf(mapping.PrepareError(statement))
	}
	return nil
}

// valueOf is a JSON value as DuckDB's: whole numbers that fit are BIGINT, all others DOUBLE.
func valueOf(text json.RawMessage) (mapping.Value, mapping.Type, error) {
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return mapping.Value{}, 0, err
	}
	switch v := value.(type) {
	case nil:
		return mapping.CreateNullValue(), mapping.TypeSQLNull, nil
	case bool:
		return mapping.CreateBool(v), mapping.TypeBoolean, nil
	case string:
		return mapping.CreateVarchar(v), mapping.TypeVarchar, nil
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return mapping.CreateInt64(whole), mapping.TypeBigInt, nil
		}
		number, err := v.Float64()
		if err != nil || math.IsInf(number, 0) {
			return mapping.Value{}, 0, errors.New("a number beyond those of a DOUBLE")
		}
		return mapping.CreateDouble(number), mapping.TypeDouble, nil
	case []any:
		return listOf(text)
	}
	return mapping.Value{}, 0, errors.New("an object cannot be a parameter")
}

// listOf makes a LIST of the type of its items; whole and other numbers together are DOUBLE.
func listOf(text json.RawMessage) (mapping.Value, mapping.Type, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return mapping.Value{}, 0, err
	}
	of := mapping.Type(mapping.TypeSQLNull)
	values := make([]mapping.Value, 0, len(items))
	defer func() {
		for i := range values {
			mapping.DestroyValue(&values[i])
		}
	}()
	for _, item := range items {
		value, kind, err := valueOf(item)
		if err != nil {
			return mapping.Value{}, 0, err
		}
		values = append(values, value)
		switch {
		case kind == mapping.TypeList:
			return mapping.Value{}, 0, errors.New("a list of lists cannot be a parameter")
		case kind == mapping.TypeSQLNull || kind == of:
		case of == mapping.TypeSQLNull:
			of = kind
		case of == mapping.TypeBigInt && kind == mapping.TypeDouble || of == mapping.TypeDouble && kind == mapping.TypeBigInt:
			of = mapping.TypeDouble
		default:
			return mapping.Value{}, 0, errors.New("a list with items of different types")
		}
	}
	if of == mapping.TypeSQLNull {
		of = mapping.TypeVarchar
	}
	logical := mapping.CreateLogicalType(of)
	defer mapping.DestroyLogicalType(&logical)
	return mapping.CreateListValue(logical, values), mapping.TypeList, nil
}

// rows are the batches of a running query. DuckDB makes them as they are fetched, so memory does not grow with the answer.
type rows struct {
	result  mapping.Result
	options arrowmapping.ArrowOptions
	schema  *arrow.Schema
	isDone  bool // DuckDB takes another look behind the end for a mistake
}

func (s *session) start(statement mapping.PreparedStatement) (*rows, error) {
	var pending mapping.PendingResult
	defer mapping.DestroyPending(&pending)
	if bindings.PendingPreparedStreaming(statement, &pending) == mapping.StateError {
		return nil, failureOf(mapping.PendingError(pending))
	}
	r := &rows{}
	if mapping.ExecutePending(pending, &r.result) == mapping.StateError {
		return nil, failureOf(mapping.ResultError(&r.result))
	}
	r.options = arrowmapping.ResultGetArrowOptions(&r.result)
	count := mapping.ColumnCount(&r.result)
	names, types := make([]string, count), make([]mapping.LogicalType, count)
	for i := range count {
		names[i], types[i] = mapping.ColumnName(&r.result, i), mapping.ColumnLogicalType(&r.result, i)
	}
	schema, data := arrowmapping.NewArrowSchema(r.options, types, names)
	r.schema = schema
	return r, errorOf(data)
}

// next is the next batch; nil after the last.
func (r *rows) next() (arrow.RecordBatch, error) {
	if r.isDone {
		return nil, nil
	}
	chunk := mapping.FetchChunk(r.result)
	if chunk.Ptr == nil {
		r.isDone = true
		if text := mapping.ResultError(&r.result); text != "" {
			return nil, failureOf(text)
		}
		return nil, nil
	}
	defer mapping.DestroyDataChunk(&chunk)
	batch, data := arrowmapping.DataChunkToArrowArray(r.options, r.schema, chunk)
	return batch, errorOf(data)
}

func errorOf(data mapping.ErrorData) error {
	defer mapping.DestroyErrorData(&data)
	if !mapping.ErrorDataHasError(data) {
		return nil
	}
	return failureOf(mapping.ErrorDataMessage(data))
}

// Unexplained is said of a query whose error DuckDB lost.
const Unexplained = "the query failed part-way, and DuckDB did not keep the reason"

// failureOf sorts DuckDB's message by the kind that it begins with.
func failureOf(text string) *Failure {
	kind, _, _ := strings.Cut(text, ":")
	switch {
	case kind == "Out of Memory Error" || strings.Contains(text, "std::bad_alloc"):
		return &Failure{Kind: Memory, Text: "the query needs more memory than it may take",
			Hint: "ask for less at once: fewer columns, a shorter window, no order by"}
	case strings.Contains(text, "disabled by configuration") || kind == "Permission Error":
		return &Failure{Kind: BadQuery, Text: "the query reads or writes a file, or the network, which is not allowed here",
			Hint: "GET /v1/schema lists the relations that can be asked"}
	case kind == "Parser Error", kind == "Binder Error", kind == "Catalog Error", kind == "Syntax Error":
		return &Failure{Kind: BadQuery, Text: answers.WithoutOwnNames(text), Hint: "GET /v1/schema lists the relations and their columns"}
	case kind == "INTERRUPT Error":
		// Nobody interrupts a query here. When one of DuckDB's threads fails it stops the others, and the reader of the
		// stream may see that first.
		return &Failure{Kind: BadQuery, Text: Unexplained, Hint: "ask again: the same mistake mostly comes with its reason"}
	case strings.Contains(text, answers.WindowFault):
		return &Failure{Kind: BadQuery, Text: "DuckDB failed in a window of all rows", Hint: answers.WindowFaultHint}
	case kind == "INTERNAL Error", kind == "FATAL Error":
		return &Failure{Kind: Broken, Text: kind}
	}
	return &Failure{Kind: BadQuery, Text: text}
}
