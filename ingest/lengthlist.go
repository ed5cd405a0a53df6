package ingest

import "strings"

// A list of lengths without times, as Vidur has one beside its traces: CSV with the
// columns of a trace but for its arrivals. Each row is a cell of its own.
//
//	num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio
var _ = register(format{
	name:  "length-list",
	kind:  "lengths",
	sees:  seesLengthList,
	read:  readLengthList,
	wants: "a CSV header such as num_prefill_tokens,num_decode_tokens",
})

func seesLengthList(h *head) string {
	if !isLengthList(h.columns) {
		return ""
	}
	return "lengths without times: its header is " + strings.Join(h.columns, ",")
}

// isLengthList says whether a header has both lengths of a request and not the
// time that it came.
func isLengthList(names []string) bool {
	seen := map[role]bool{}
	for _, name := range names {
		seen[roles[strings.ToLower(name)]] = true
	}
	return seen[inputTokens] && seen[outputTokens] && !seen[dated] && !seen[offset]
}

func readLengthList(d *document, out *rows) error {
	table := &csvTable{}
	var input, output string
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		isHeader, problem := table.take(line)
		if isHeader {
			for name := range table.columns {
				switch roles[strings.ToLower(name)] {
				case inputTokens:
					input = name
				case outputTokens:
					output = name
				}
			}
		}
		if isHeader || problem != nil {
			return problem, nil
		}
		var in, answer int64
		if problem := table.tokens(input, &in); problem != nil {
			return problem, nil
		}
		if problem := table.tokens(output, &answer); problem != nil {
			return problem, nil
		}
		return nil, out.add(lengthCellRow{
			InputAbove: new(in - 1), InputUpTo: &in, OutputAbove: new(answer - 1), OutputUpTo: &answer, Requests: 1,
		})
	})
}
