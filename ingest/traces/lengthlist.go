package traces

import (
	"strings"

	"tidemark/ingest/read"
)

// A list of lengths without times, as Vidur has one beside its traces: CSV with the
// columns of a trace but for its arrivals. Each row is a cell of its own.
//
//	num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio
var LengthList = read.Format{
	Name:  "length-list",
	Kind:  "lengths",
	Sees:  seesLengthList,
	Read:  readLengthList,
	Wants: "a CSV header such as num_prefill_tokens,num_decode_tokens",
}

func seesLengthList(h *read.Head) string {
	if !isLengthList(h.Columns) {
		return ""
	}
	return "lengths without times: its header is " + strings.Join(h.Columns, ",")
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

func readLengthList(d *read.Document, out *read.Rows) error {
	table := &read.CSVTable{}
	var input, output string
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		isHeader, problem := table.Take(line)
		if isHeader {
			for name := range table.Columns {
				switch roles[strings.ToLower(name)] {
				case inputColumn:
					input = name
				case outputColumn:
					output = name
				}
			}
		}
		if isHeader || problem != nil {
			return problem, nil
		}
		var in, answer int64
		if problem := table.Tokens(input, &in); problem != nil {
			return problem, nil
		}
		if problem := table.Tokens(output, &answer); problem != nil {
			return problem, nil
		}
		return nil, out.Add(read.LengthCell{
			InputAbove: new(in - 1), InputUpTo: &in, OutputAbove: new(answer - 1), OutputUpTo: &answer, Requests: 1,
		})
	})
}
