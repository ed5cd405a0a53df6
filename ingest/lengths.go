package ingest

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Shapes of traffic without a trace, as this program writes and reads them: CSV
// with a header, its columns in any order, an empty cell saying nothing.
//
//	lengths   window_from_s,window_until_s,class,client,input_above,input_up_to,output_above,output_up_to,requests
//	rates     window_from_s,window_until_s,class,client,requests,gap_cv,gap_family,gap_shape,gap_scale_s
//
// Of lengths a header needs requests and one upper bound; of rates it needs
// requests and the window.
var _ = register(format{
	name:  "lengths",
	kind:  "lengths",
	sees:  seesLengths,
	read:  readLengths,
	wants: "a CSV header with requests and input_up_to, output_up_to or window_from_s and window_until_s",
})

// ratesEnding is that of a table of rates whose lengths stand beside it, in a file
// of the same name without it. The two are played together by that name.
const ratesEnding = ".rates.csv"

// bounds are the columns that make a table of lengths; one of rates has none.
var bounds = []string{"input_above", "input_up_to", "output_above", "output_up_to"}

func seesLengths(h *head) string {
	hasBound := slices.ContainsFunc(bounds, func(name string) bool { return h.columnsHave(name) })
	switch {
	case !h.columnsHave("requests"):
	case h.columnsHave("input_up_to"), h.columnsHave("output_up_to"):
		return "a table of lengths: " + listed(h.columns)
	case !hasBound && h.columnsHave("window_from_s", "window_until_s"):
		return "a table of rates: " + listed(h.columns)
	}
	return ""
}

func readLengths(d *document, out *rows) error {
	table := &csvTable{}
	out.about.timeUnit = "s"
	if base, isRates := strings.CutSuffix(d.base(), ratesEnding); isRates {
		out.about.collection = sourceName(base + ".csv") // the lengths that go with it
	}
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		isHeader, problem := table.take(line)
		if isHeader || problem != nil {
			return problem, nil
		}
		c := cells{table: table}
		row := c.row(out.class(table.text("class")))
		if c.problem != nil {
			return c.problem, nil
		}
		return nil, out.add(row)
	})
}

// cells reads the cells of one line, up to the first that is wrong.
type cells struct {
	table   *csvTable
	problem *reject
}

// row is a lengthCellRow or, without bounds in the header, a rateWindowRow.
func (c *cells) row(class *string) Row {
	from, until := c.number("window_from_s"), c.number("window_until_s")
	requests := c.number("requests")
	c.must("requests", requests != nil)
	c.ordered("window_until_s", from, until)
	client := orNil(word(c.table.text("client")))
	_, ofInput := c.table.columns["input_up_to"]
	_, ofOutput := c.table.columns["output_up_to"]
	if ofInput || ofOutput {
		row := lengthCellRow{
			WindowFromS: from, WindowUntilS: until, Class: class, Client: client,
			InputAbove: c.bound("input_above"), InputUpTo: c.bound("input_up_to"),
			OutputAbove: c.bound("output_above"), OutputUpTo: c.bound("output_up_to"),
		}
		c.between("input_up_to", row.InputAbove, row.InputUpTo)
		c.between("output_up_to", row.OutputAbove, row.OutputUpTo)
		if c.problem == nil {
			row.Requests = *requests
		}
		return row
	}
	c.must("window_from_s", from != nil)
	c.must("window_until_s", until != nil)
	row := rateWindowRow{
		Class: class, Client: client, GapCV: c.number("gap_cv"), GapFamily: c.family(),
		GapShape: c.number("gap_shape"), GapScaleS: c.number("gap_scale_s"),
	}
	if c.problem == nil {
		row.WindowFromS, row.WindowUntilS, row.Requests = *from, *until, *requests
	}
	return row
}

func (c *cells) fail(column, reason string) {
	if c.problem == nil {
		c.problem = &reject{column: column, reason: reason}
	}
}

func (c *cells) must(column string, is bool) {
	if !is {
		c.fail(column, isMissing)
	}
}

// number is a number that is not below 0; nil where the cell is empty.
func (c *cells) number(column string) *float64 {
	text := c.table.text(column)
	if text == "" {
		return nil
	}
	value, reason := plainNumber(text)
	if reason != "" {
		c.fail(column, reason)
		return nil
	}
	return &value
}

// plainNumber reads a finite number that is not below 0.
func plainNumber(text string) (float64, string) {
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(value, 0) || math.IsNaN(value):
		return 0, notFinite
	case err != nil:
		return 0, notANumber
	case value < 0:
		return 0, negative
	}
	return value, ""
}

// bound is a number of tokens; nil where the cell is empty: it is open.
func (c *cells) bound(column string) *int64 {
	text := c.table.text(column)
	if text == "" {
		return nil
	}
	var value int64
	if problem := whole(column, text, &value); problem != nil {
		c.fail(column, problem.reason)
	}
	return &value
}

func (c *cells) ordered(column string, from, until *float64) {
	if from != nil && until != nil && *until <= *from {
		c.fail(column, outOfRange)
	}
}

func (c *cells) between(column string, above, upTo *int64) {
	if above != nil && upTo != nil && *upTo <= *above {
		c.fail(column, outOfRange)
	}
}

func (c *cells) family() *string {
	switch family := strings.ToLower(c.table.text("gap_family")); family {
	case "exponential", "gamma", "weibull":
		return &family
	case "":
	default:
		c.fail("gap_family", notAKnownWord)
	}
	return nil
}
