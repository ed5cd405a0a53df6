package worker

import (
	"fmt"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Cell reduces a value to the few Go types that package tables prints, as package answers does for "tidemark sql":
// integers beyond 64 bits become their digits, decimals numbers, bytes hex, and anything unknown its text.
func Cell(column arrow.Array, row int) any {
	if column.IsNull(row) {
		return nil
	}
	switch c := column.(type) {
	case *array.Null:
		return nil
	case *array.Boolean:
		return c.Value(row)
	case *array.Int8:
		return int64(c.Value(row))
	case *array.Int16:
		return int64(c.Value(row))
	case *array.Int32:
		return int64(c.Value(row))
	case *array.Int64:
		return c.Value(row)
	case *array.Uint8:
		return int64(c.Value(row))
	case *array.Uint16:
		return int64(c.Value(row))
	case *array.Uint32:
		return int64(c.Value(row))
	case *array.Uint64:
		return whole(new(big.Int).SetUint64(c.Value(row)))
	case *array.Float32:
		return float64(c.Value(row))
	case *array.Float64:
		return c.Value(row)
	case *array.String:
		return c.Value(row)
	case *array.LargeString:
		return c.Value(row)
	case *array.StringView:
		return c.Value(row)
	case *array.Binary:
		return fmt.Sprintf("%x", c.Value(row))
	case *array.Decimal128:
		if scale := c.DataType().(*arrow.Decimal128Type).Scale; scale > 0 {
			return c.Value(row).ToFloat64(scale)
		}
		return whole(c.Value(row).BigInt())
	case *array.Date32:
		return c.Value(row).ToTime()
	case *array.Timestamp:
		return c.Value(row).ToTime(c.DataType().(*arrow.TimestampType).Unit)
	case *array.Time64:
		return c.Value(row).ToTime(c.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.999999999")
	case *array.MonthDayNanoInterval:
		return interval(c.Value(row))
	case *array.Dictionary:
		return Cell(c.Dictionary(), c.GetValueIndex(row))
	case *array.Map:
		return mapped(c, row)
	case array.ListLike:
		return listed(c, row)
	case *array.Struct:
		named := make(map[string]any, c.NumField())
		for i, field := range c.DataType().(*arrow.StructType).Fields() {
			named[field.Name] = Cell(c.Field(i), row)
		}
		return named
	}
	return column.ValueStr(row)
}

func whole(number *big.Int) any {
	if number.IsInt64() {
		return number.Int64()
	}
	return number.String()
}

func listed(list array.ListLike, row int) []any {
	from, to := list.ValueOffsets(row)
	items := make([]any, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, Cell(list.ListValues(), int(i)))
	}
	return items
}

// mapped is a DuckDB MAP with its keys as text.
func mapped(m *array.Map, row int) map[string]any {
	from, to := m.ValueOffsets(row)
	named := make(map[string]any, to-from)
	for i := from; i < to; i++ {
		named[fmt.Sprint(Cell(m.Keys(), int(i)))] = Cell(m.Items(), int(i))
	}
	return named
}

// interval is in words: 1 months 2 days 3s.
func interval(v arrow.MonthDayNanoInterval) string {
	text := time.Duration(v.Nanoseconds).String()
	if v.Days != 0 {
		text = fmt.Sprintf("%d days %s", v.Days, text)
	}
	if v.Months != 0 {
		text = fmt.Sprintf("%d months %s", v.Months, text)
	}
	return text
}
