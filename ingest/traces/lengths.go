package traces

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
)

// Shapes of traffic without a trace, as this program writes and reads them: CSV
// with a header, its columns in any order, an empty cell saying nothing.
//
//	lengths   window_from_s,window_until_s,class,client,input_above,input_up_to,output_above,output_up_to,requests
//	rates     window_from_s,window_until_s,class,client,requests,gap_cv,gap_family,gap_shape,gap_scale_s
//
// Of lengths a header needs requests and one upper bound; of rates it needs
// requests and the window.
var Lengths = read.Format{
	Name:  "lengths",
	Kind:  "lengths",
	Sees:  seesLengths,
	Read:  readLengths,
	Wants: "a CSV header with requests and input_up_to, output_up_to or window_from_s and window_until_s",
}

// bounds are the columns that make a table of lengths; one of rates has none.
var bounds = []string{"input_above", "input_up_to", "output_above", "output_up_to"}

func seesLengths(h *read.Head) string {
	hasBound := slices.ContainsFunc(bounds, func(name string) bool { return h.ColumnsHave(name) })
	switch {
	case !h.ColumnsHave("requests"):
	case h.ColumnsHave("input_up_to"), h.ColumnsHave("output_up_to"):
		return "a table of lengths: " + read.ListNames(h.Columns)
	case !hasBound && h.ColumnsHave("window_from_s", "window_until_s"):
		return "a table of rates: " + read.ListNames(h.Columns)
	}
	return ""
}

func readLengths(d *read.Document, out *read.Rows) error {
	table := &read.CSVTable{}
	out.About.TimeUnit = "s"
	if base, isRates := strings.CutSuffix(d.Base(), read.RatesEnding); isRates {
		out.About.Collection = read.SourceName(base + ".csv") // the lengths that go with it
	}
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		isHeader, problem := table.Take(line)
		if isHeader || problem != nil {
			return problem, nil
		}
		c := cells{table: table}
		row := c.row(out.Class(table.Text("class")))
		if c.problem != nil {
			return c.problem, nil
		}
		return nil, out.Add(row)
	})
}

// cells reads the cells of one line, up to the first that is wrong.
type cells struct {
	table   *read.CSVTable
	problem *read.Reject
}

// row is a lengthCellRow or, without bounds in the header, a rateWindowRow.
func (c *cells) row(class *string) read.Row {
	from, until := c.number("window_from_s"), c.number("window_until_s")
	requests := c.number("requests")
	c.must("requests", requests != nil)
	c.ordered("window_until_s", from, until)
	client := read.OrNil(read.Word(c.table.Text("client")))
	_, ofInput := c.table.Columns["input_up_to"]
	_, ofOutput := c.table.Columns["output_up_to"]
	if ofInput || ofOutput {
		row := read.LengthCell{
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
	row := read.RateWindow{
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
		c.problem = &read.Reject{Column: column, Reason: reason}
	}
}

func (c *cells) must(column string, is bool) {
	if !is {
		c.fail(column, read.Missing)
	}
}

// number is a number that is not below 0; nil where the cell is empty.
func (c *cells) number(column string) *float64 {
	text := c.table.Text(column)
	if text == "" {
		return nil
	}
	value, reason := read.PlainNumber(text)
	if reason != "" {
		c.fail(column, reason)
		return nil
	}
	return &value
}

// bound is a number of tokens; nil where the cell is empty: it is open.
func (c *cells) bound(column string) *int64 {
	text := c.table.Text(column)
	if text == "" {
		return nil
	}
	var value int64
	if problem := read.WholeTokens(column, text, &value); problem != nil {
		c.fail(column, problem.Reason)
	}
	return &value
}

func (c *cells) ordered(column string, from, until *float64) {
	if from != nil && until != nil && *until <= *from {
		c.fail(column, read.OutOfRange)
	}
}

func (c *cells) between(column string, above, upTo *int64) {
	if above != nil && upTo != nil && *upTo <= *above {
		c.fail(column, read.OutOfRange)
	}
}

func (c *cells) family() *string {
	switch family := strings.ToLower(c.table.Text("gap_family")); family {
	case "exponential", "gamma", "weibull":
		return &family
	case "":
	default:
		c.fail("gap_family", read.NotAKnownWord)
	}
	return nil
}
