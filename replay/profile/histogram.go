package profile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Histograms reads buckets of lengths from CSV. Columns: count; the bucket's
// upper bound as until, or as le where counts are cumulative as in Prometheus;
// from, if given; and of (input, output or cached; without it all are input).
// What lies above the last bound, le="+Inf", is placed at that bound, as
// histogram_quantile does.
func Histograms(in io.Reader) (map[string]Shape, error) {
	rows := csv.NewReader(in)
	rows.TrimLeadingSpace = true
	header, err := rows.Read()
	if err != nil {
		return nil, errors.New("histogram: no first line with the names of the columns")
	}
	h := histogramReader{shapes: map[string]Shape{}, columns: map[string]int{}}
	for i, name := range header {
		h.columns[strings.ToLower(strings.TrimSpace(name))] = i
	}
	_, isCumulative := h.columns["le"]
	_, isPlain := h.columns["until"]
	if _, counts := h.columns["count"]; !counts || isCumulative == isPlain {
		return nil, errors.New("histogram: columns must be count and one of until and le; from and of may be there")
	}
	for {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = h.add(row, isCumulative)
		}
		if err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("histogram: line %d: %w", line, err)
		}
	}
	for of, shape := range h.shapes {
		if shape = withoutEmpty(shape); len(shape.Buckets) == 0 {
			return nil, fmt.Errorf("histogram: %s has no counts", of)
		}
		h.shapes[of] = shape
	}
	if len(h.shapes) == 0 {
		return nil, errors.New("histogram: no buckets")
	}
	return h.shapes, nil
}

type histogramReader struct {
	columns map[string]int
	shapes  map[string]Shape
	reached map[string]float64 // cumulative counts
}

// add reads one row. Without from, a bucket starts where the one before ends.
func (h *histogramReader) add(row []string, isCumulative bool) error {
	of := "input"
	if column, given := h.columns["of"]; given {
		of = row[column]
	}
	if of != "input" && of != "output" && of != "cached" {
		return fmt.Errorf("of: %q: must be input, output or cached", of)
	}
	shape := h.shapes[of]
	b := Bucket{}
	if n := len(shape.Buckets); n > 0 {
		b.From = shape.Buckets[n-1].Until
	}
	bound := "until"
	if isCumulative {
		bound = "le"
	}
	for name, into := range map[string]*float64{"from": &b.From, bound: &b.Until, "count": &b.Count} {
		column, given := h.columns[name]
		if !given {
			continue
		}
		value, err := strconv.ParseFloat(row[column], 64)
		if err != nil || math.IsNaN(value) || value < 0 || math.IsInf(value, 0) && name != bound {
			return fmt.Errorf("%s: %q: must be a number from 0", name, row[column])
		}
		*into = value
	}
	if isCumulative {
		if h.reached == nil {
			h.reached = map[string]float64{}
		}
		reached := b.Count
		if b.Count -= h.reached[of]; b.Count < 0 {
			return errors.New("count: falls, and counts up to a bound cannot")
		}
		h.reached[of] = reached
	}
	if math.IsInf(b.Until, 1) {
		if b.Count > 0 && b.From == 0 {
			return errors.New("all is above the last bound")
		}
		h.shapes[of] = shape.atLastBound(b.Count)
		return nil
	}
	if b.Until <= b.From {
		return errors.New("bounds must ascend")
	}
	shape.Buckets = append(shape.Buckets, b)
	h.shapes[of] = shape
	return nil
}

// atLastBound puts what is above the last bound into a bucket of that one
// length.
func (s Shape) atLastBound(count float64) Shape {
	if count == 0 || len(s.Buckets) == 0 {
		return s
	}
	last := &s.Buckets[len(s.Buckets)-1]
	bound := last.Until
	last.Until = max(bound-1, (last.From+bound)/2)
	s.Buckets = append(s.Buckets, Bucket{last.Until, bound, count})
	return s
}

func withoutEmpty(s Shape) Shape {
	s.Buckets = slices.DeleteFunc(s.Buckets, func(b Bucket) bool { return b.Count == 0 })
	return s
}
