package traces

import (
	"strings"

	"tidemark/ingest/read"
)

// LengthList reads a list of lengths without times, as Vidur has one next to its
// traces: CSV with the columns of a trace, except for its arrivals. Each row is a
// cell of its own.
//
//	num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio
var LengthList = read.Format{
	Name:  "length-list",
	Kind:  "lengths",
	Sees:  seesLengthList,
	Read:  readLengthList,
	Wants: "a CSV header such as num_prefill_tokens,num_decode_tokens",
}

// seesLengthList tells it from a trace by what is missing: an arrival.
func seesLengthList(h *read.Head) string {
	return read.If(isLengthList(h.Columns), "lengths without times: its header is "+strings.Join(h.Columns, ","))
}

// isLengthList says whether a header has both lengths of a request and not the
// time that it came.
func isLengthList(names []string) bool {
	seen := map[role]bool{}
	for _, name := range names {
		seen[roles[strings.ToLower(name)]] = true
	}
	return seen[inputColumn] && seen[outputColumn] && !seen[datedColumn] && !seen[offsetColumn]
}

// readLengthList makes a cell of each row: exactly so many tokens in and out, once.
func readLengthList(d *read.Document, out *read.Rows) error {
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		var input, output int64
		for _, name := range s.Names() {
			switch roles[strings.ToLower(name)] {
			case inputColumn:
				input = s.Tokens(name)
			case outputColumn:
				output = s.Tokens(name)
			}
		}
		if s.Problem() != nil {
			return s.Problem(), nil
		}
		return nil, out.Add(read.LengthCell{
			InputAbove: new(input - 1), InputUpTo: &input, OutputAbove: new(output - 1), OutputUpTo: &output, Requests: 1,
		})
	})
}
