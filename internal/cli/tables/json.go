package tables

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// jsonRows keeps the order of the columns, which a map would lose.
type jsonRows struct {
	out     *bufio.Writer
	columns []string
	names   []string // as JSON
	count   int
}

// NewJSON is for programs: one array, one object a row and a line. The buffer keeps the
// number of writes small; End and Flush empty it.
func NewJSON(w io.Writer) *jsonRows { return &jsonRows{out: bufio.NewWriterSize(w, 1<<16)} }

func (r *jsonRows) Begin(columns []string) error {
	r.columns = columns
	for _, name := range Distinct(columns) {
		name, err := json.Marshal(name)
		if err != nil {
			return err
		}
		r.names = append(r.names, string(name))
	}
	_, err := r.out.WriteString("[")
	return err
}

func (r *jsonRows) Row(values []any) error {
	line := []byte(map[bool]string{true: "\n  {", false: ",\n  {"}[r.count == 0])
	r.count++
	for i, value := range values {
		if i > 0 {
			line = append(line, ", "...)
		}
		text, err := json.Marshal(jsonable(value))
		if err != nil {
			return fmt.Errorf("column %s: %w", r.columns[i], err)
		}
		line = append(append(append(line, r.names[i]...), ": "...), text...)
	}
	_, err := r.out.Write(append(line, '}'))
	return err
}

// End closes the array. The errors of the first write stick to the bufio.Writer, and
// its Flush returns them.
func (r *jsonRows) End() error {
	r.out.WriteString("\n]\n")
	return r.out.Flush()
}

// Flush leaves the array open: a reader must notice that the answer broke off. Without
// rows nothing is printed.
func (r *jsonRows) Flush() error {
	if r.count == 0 {
		return nil
	}
	return r.out.Flush()
}

// jsonable replaces numbers that JSON does not have (NaN, infinity) by their names, in
// lists and objects too. It changes these in place: nobody reads them afterwards.
func jsonable(value any) any {
	switch v := value.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case []any:
		for i := range v {
			v[i] = jsonable(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = jsonable(v[key])
		}
	}
	return value
}
