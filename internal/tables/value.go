package tables

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/analysis/answers"
	"tidemark/internal/escape"
	"tidemark/internal/show"
)

// Plain is a value in full precision and base units; lists are JSON, null is empty.
func Plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any, map[string]any:
		text, err := json.Marshal(jsonable(v))
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	default:
		return fmt.Sprint(v)
	}
}

func names(columns []answers.Column) []string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return names
}

// Readable is a value with its unit and three significant digits. The unit is
// in the column's name.
func Readable(column string, value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case float64:
		return readableNumber(column, v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05")
	default:
		return escape.Controls(Plain(v), "\n\t")
	}
}

// readableNumber writes a number by the ending of its column's name. The order matters:
// a rate ends in _per_s and so in _s as well.
func readableNumber(column string, v float64) string {
	switch {
	case strings.HasSuffix(column, "_per_s"):
		return show.Figures(v) + "/s"
	case strings.HasSuffix(column, "_s"):
		return show.Duration(v)
	default:
		return show.Number(v)
	}
}
