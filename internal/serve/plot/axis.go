package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Column is one column of an answer. Its values are nil, bool, int64, float64, string, time.Time, or something that has a text.
type Column struct {
	Name   string
	Unit   string
	Values []any
}

type measure int

const (
	texts measure = iota
	numbers
	times
)

// measure is what the column holds, by its first value: an answer has one type in a column.
func (c Column) measure() measure {
	for _, value := range c.Values {
		switch value.(type) {
		case nil:
			continue
		case int64, float64:
			return numbers
		case time.Time:
			return times
		}
		return texts
	}
	return numbers // nothing but nulls
}

// title is the name with its unit.
func (c Column) title() string {
	switch {
	case c.measure() == times:
		return c.Name + ", UTC"
	case c.Unit != "":
		return c.Name + ", " + c.Unit
	}
	return c.Name
}

// number is a value on an axis of numbers, or of times in milliseconds since 1970; false for null and for what has no place there.
func number(value any) (float64, bool) {
	n := math.NaN()
	switch v := value.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	case time.Time:
		n = float64(v.UnixMicro()) / 1e3
	case string: // a whole number beyond 64 bits
		if parsed, err := strconv.ParseFloat(v, 64); err == nil {
			n = parsed
		}
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

// word is a value as the name of a category or of a series.
func word(value any) string {
	switch v := value.(type) {
	case nil:
		return "–"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.999 -07:00") // to the millisecond, else two would be one
	}
	return fmt.Sprint(value)
}

// categories are the distinct values of a column: numbers and times in their order, texts as the rows have them.
func categories(c Column) (words []string, places map[string]int) {
	places = map[string]int{}
	values := c.Values
	if c.measure() != texts {
		values = slices.Clone(values)
		slices.SortStableFunc(values, func(a, b any) int {
			x, _ := number(a)
			y, _ := number(b)
			return cmp.Compare(x, y)
		})
	}
	for _, value := range values {
		name := word(value)
		if _, known := places[name]; value != nil && !known {
			places[name] = len(words)
			words = append(words, name)
		}
	}
	return words, places
}
