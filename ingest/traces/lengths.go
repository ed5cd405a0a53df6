package traces

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
)

// Lengths reads traffic by its distributions, as this program writes and reads it:
// CSV with a header, its columns in any order, an empty cell saying nothing.
//
//	lengths   window_from_s,window_until_s,class,client,input_above,input_up_to,output_above,output_up_to,requests
//	rates     window_from_s,window_until_s,class,client,requests,gap_cv,gap_family,gap_shape,gap_scale_s
//
// A header of lengths needs requests and one upper bound; one of rates needs
// requests and the window.
var Lengths = read.Format{
	Name:  "lengths",
	Sees:  seesLengths,
	Read:  readLengths,
	Wants: "a CSV header with requests and input_up_to, output_up_to or window_from_s and window_until_s",
}

// bounds are the columns that make a table of lengths; a table of rates has none.
var bounds = []string{"input_above", "input_up_to", "output_above", "output_up_to"}

// seesLengths tells the two tables apart by whether there is a bound.
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

// readLengths reads either table; the header decides which row is made.
func readLengths(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "s"
	if base, isRates := strings.CutSuffix(d.Base(), read.RatesEnding); isRates {
		out.About.Collection = read.SourceName(base + ".csv") // the lengths that go with it
	}
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		var row read.Row
		if s.Has("input_up_to") || s.Has("output_up_to") {
			row = lengthCell(s, out)
		} else {
			row = rateWindow(s, out)
		}
		if s.Problem() != nil {
			return s.Problem(), nil
		}
		return nil, out.Add(row)
	})
}

// lengthCell is a row of a histogram. An open bound is an empty cell.
func lengthCell(s *read.Sheet, out *read.Rows) read.LengthCell {
	row := read.LengthCell{
		WindowFromS: s.OptionalNumber("window_from_s"), WindowUntilS: s.OptionalNumber("window_until_s"),
		Class: out.Class(s.Text("class")), Client: read.WordOrNil(s.Text("client")),
		InputAbove: s.OptionalTokens("input_above"), InputUpTo: s.OptionalTokens("input_up_to"),
		OutputAbove: s.OptionalTokens("output_above"), OutputUpTo: s.OptionalTokens("output_up_to"),
		Requests: mustNumber(s, "requests"),
	}
	mustRise(s, "window_until_s", row.WindowFromS, row.WindowUntilS)
	mustRise(s, "input_up_to", row.InputAbove, row.InputUpTo)
	mustRise(s, "output_up_to", row.OutputAbove, row.OutputUpTo)
	return row
}

// rateWindow is how many requests came in a window, and how evenly.
func rateWindow(s *read.Sheet, out *read.Rows) read.RateWindow {
	row := read.RateWindow{
		WindowFromS: mustNumber(s, "window_from_s"), WindowUntilS: mustNumber(s, "window_until_s"),
		Class: out.Class(s.Text("class")), Client: read.WordOrNil(s.Text("client")),
		Requests: mustNumber(s, "requests"), GapCV: s.OptionalNumber("gap_cv"), GapFamily: gapFamily(s),
		GapShape: s.OptionalNumber("gap_shape"), GapScaleS: s.OptionalNumber("gap_scale_s"),
	}
	mustRise(s, "window_until_s", &row.WindowFromS, &row.WindowUntilS)
	return row
}

// mustNumber is a cell that must hold a number that is not below zero.
func mustNumber(s *read.Sheet, column string) float64 {
	value := s.OptionalNumber(column)
	if value == nil {
		s.Wrong(column, read.Missing)
		return 0
	}
	return *value
}

// mustRise refuses an interval that ends where it begins, or before.
func mustRise[T int64 | float64](s *read.Sheet, column string, from, until *T) {
	if from != nil && until != nil && *until <= *from {
		s.Wrong(column, read.OutOfRange)
	}
}

// gapFamily is the distribution of the gaps between requests; a plan can draw from
// these three.
func gapFamily(s *read.Sheet) *string {
	switch family := strings.ToLower(s.Text("gap_family")); family {
	case "exponential", "gamma", "weibull":
		return &family
	case "":
	default:
		s.Wrong("gap_family", read.NotAKnownWord)
	}
	return nil
}
