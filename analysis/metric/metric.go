// Package metric names what an SLO can bound. It computes none: queries/staging/requests.sql defines them, and the tests
// here compare the names with those that SQL and the documents know.
package metric

import "slices"

// The metrics. Those from due contain the wait of a request that was held back.
const (
	TTFT         = "ttft"
	TTFTFromDue  = "ttft_from_due"
	TPOT         = "tpot"
	E2E          = "e2e"
	E2EFromDue   = "e2e_from_due"
	ITL          = "itl"           // of the gaps between chunks
	FailureRatio = "failure_ratio" // a share of requests; all others are times
)

// All are the words that an SLO file takes.
var All = []string{TTFT, TTFTFromDue, TPOT, E2E, E2EFromDue, ITL, FailureRatio}

// Column of staging.requests that holds a request's own; empty: a request has none, or several.
func Column(metric string) string {
	if metric == ITL || metric == FailureRatio || !slices.Contains(All, metric) {
		return ""
	}
	return metric + "_s"
}
