package queries

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const longText = 1 << 16

// parameter is a place for a value: $1, or ? for each in turn.
var parameter = regexp.MustCompile(`^(?:\$[0-9]+|\?)`)

// WithValues writes the values into the places of a question, each with the type that it has as a parameter. DuckDB binds a question that has
// parameters twice: when it is prepared, and again with their values; binding the marts is half of what they cost. is is false, and the
// question to be asked with its parameters, where a value is of no type that is written here or a place has none.
func WithValues(question string, values []any) (text string, is bool) {
	if strings.Contains(question, "$$") { // quotes that scan does not know
		return question, false
	}
	written, used := make([]string, len(values)), 0
	for i, value := range values {
		if written[i], is = literal(value); !is {
			return question, false
		}
	}
	var whole strings.Builder
	from, next := 0, 0 // next: the value of the next ?
	is = true
	scan(question, func(i int, code bool) {
		if !code || !is || question[i] != '$' && question[i] != '?' {
			return
		}
		place, at := parameter.FindString(question[i:]), next
		if strings.HasPrefix(place, "$") {
			at, _ = strconv.Atoi(place[1:])
			at--
		} else {
			next++
		}
		if is = place != "" && at >= 0 && at < len(written); !is {
			return
		}
		used = max(used, at+1)
		whole.WriteString(question[from:i] + written[at])
		from = i + len(place)
	})
	if !is || used < len(values) { // DuckDB says what is wrong
		return question, false
	}
	return whole.String() + question[from:], true
}

// literal is a value as SQL of the type that the driver binds it as.
func literal(value any) (text string, is bool) {
	switch v := value.(type) {
	case nil:
		return "null", true
	case *float64:
		if v == nil {
			return "null", true
		}
		return literal(*v)
	case string:
		// A statement ends at a zero byte, and a long text costs more to parse than to bind twice.
		return "cast('" + strings.ReplaceAll(v, "'", "''") + "' as varchar)", len(v) < longText && !strings.Contains(v, "\x00")
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return fmt.Sprintf("cast('%d' as bigint)", v), true
	case int64:
		return fmt.Sprintf("cast('%d' as bigint)", v), true
	case float64:
		return "cast('" + strconv.FormatFloat(v, 'g', -1, 64) + "' as double)", !math.IsNaN(v) && !math.IsInf(v, 0)
	case []string:
		return list("varchar", v)
	case []int64:
		return list("bigint", v)
	}
	return "", false
}

func list[T any](of string, values []T) (text string, is bool) {
	all := make([]string, len(values))
	for i, value := range values {
		if all[i], is = literal(value); !is {
			return "", false
		}
	}
	return "cast([" + strings.Join(all, ", ") + "] as " + of + "[])", true
}
