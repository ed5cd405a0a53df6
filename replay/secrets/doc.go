// Package secrets takes secrets out of all that others say before it is kept: an error body may echo the key that was sent, a
// server's own description may hold its command line, and a metrics address may carry a token.
//
// A Scrubber is told every secret of a run (New, Add..., Seal) and then cleans texts, JSON and metrics. It finds a secret whole
// in the forms in which servers give it back (scrub.go), and of long ones every run of eight characters in any coat: reversed,
// in base64 or hex (runs.go), behind layers of escapes or with something between the letters (views.go). addresses.go
// decides what in an address looks like a token.
//
// It errs on the side of redacting, except for what may be told: the model's name, the server's host, ordinary words. It never
// looks at numbers in metrics, since a value is no secret. What it cannot find is listed in docs/changes.md.
package secrets
