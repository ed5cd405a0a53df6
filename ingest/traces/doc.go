// Package traces reads records of the traffic that somebody's servers had: one file per
// format, named for the format.
//
// Three kinds of source come of it:
//
//   - Requests one by one, in raw.arrivals: when each came, how long its prompt and its
//     answer were, and, where the trace says so, its session, prefix blocks and latencies
//     (raw.arrival_details).
//   - Histograms of lengths, in raw.length_cells, and rates per window, in
//     raw.rate_windows, where no single request is published (lengths, ServeGen).
//   - Rates alone, from calls that say no tokens (OpenTelemetry without usage).
//
// Formats with large files (azure.go, mooncake.go) are read by many workers, each
// line straight into Arrow columns (arrivalcolumns.go). All others are read in one
// pass by one reader, because a row may depend on rows before it: the turns of a
// session, the request that started a sub-agent.
//
// Tables that people make themselves, and logs of gateways, are read by the names
// of their columns: requestcolumns.go says which name means what, requestvalues.go
// reads the text of a value, requesttable.go makes rows of them, and plain.go,
// envoy.go, litellm.go and freeinference.go are formats on top of these.
//
// The package refuses what it would have to invent: conversations without token
// counts, a table without arrivals. It never keeps prompts, answers or who asked.
package traces
