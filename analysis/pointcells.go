package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/deployment"
)

// cellReader reads one row of Points. The first cell that cannot be is kept as its error.
type cellReader struct {
	points *Points
	row    []string
	err    error
}

// nothings are how tables write that there is nothing.
var nothings = []string{"", "-", "n/a", "none", "null"}

// cell is the best of the columns that say a thing and are not empty.
func (c *cellReader) cell(thing string) (text string, isGiven bool) {
	for _, place := range c.points.columns[thing] {
		if text = strings.TrimSpace(c.row[place]); !slices.Contains(nothings, strings.ToLower(text)) {
			return text, true
		}
	}
	return "", false
}

func (c *cellReader) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// number says whether there was one.
func (c *cellReader) number(thing string, into *float64) bool {
	text, given := c.cell(thing)
	if !given {
		return false
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) {
		c.fail("%s: %s is not a number", thing, text)
		return false
	}
	*into = number
	return true
}

// positive is a number that cannot be 0.
func (c *cellReader) positive(thing string, into *float64) bool {
	var number float64
	if !c.number(thing, &number) {
		return false
	}
	if number <= 0 {
		c.fail("%s: %v, more than 0 is needed", thing, number)
		return false
	}
	*into = number
	return true
}

func (c *cellReader) deployment(into *deployment.Deployment) {
	for _, f := range deployment.Fields {
		text, given := c.cell(f.Name)
		if !given || !f.IsNumber() && strings.EqualFold(text, "nan") {
			continue
		}
		if err := f.Set(into, text); err != nil {
			c.fail("%s: %w", f.Name, err)
		}
	}
}

// gpus is of tables that count the GPUs and do not say how they share the model: by tensors.
func (c *cellReader) gpus(point *Point) {
	if _, given := c.cell("tensor_parallel_size"); given {
		return
	}
	text, given := c.cell("GPUs")
	if !given {
		return
	}
	var d deployment.Deployment
	if err := deployment.Named("tensor_parallel_size").Set(&d, text); err != nil {
		c.fail("GPUs: %w", err)
		return
	}
	gpus := d.TensorParallelSize
	replicas := max(point.DataParallelSize, 1)
	if gpus%replicas != 0 {
		c.fail("GPUs: %d cannot be shared by %d replicas", gpus, replicas)
		return
	}
	point.TensorParallelSize = gpus / replicas
}

// load is a concurrency or a request rate, or a static batch of as many requests as the concurrency; vllm bench writes an infinite rate where the concurrency rules.
func (c *cellReader) load(point *Point) {
	var clients, rate float64
	isClosed := c.positive("concurrency", &clients)
	isOpen := c.positive("request rate", &rate) && !math.IsInf(rate, 0)
	kind, _ := c.cell("load")
	kind = strings.ToLower(kind)
	point.IsStatic = point.IsStatic || strings.HasPrefix(kind, "static")
	if isClosed && isOpen {
		switch {
		case strings.HasPrefix(kind, "closed"), strings.HasPrefix(kind, "static"):
			isOpen = false
		case strings.HasPrefix(kind, "open"):
			isClosed = false
		default:
			c.fail(`both a concurrency and a request rate: leave one empty, or say "closed-loop", "open-loop" or "static-batch" in a column load`)
			return
		}
	}
	switch {
	case isClosed:
		point.Clients, point.RequestsPerS = clients, 0
	case isOpen:
		point.Clients, point.RequestsPerS = 0, rate
	}
}
