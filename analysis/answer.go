package analysis

import "tidemark/analysis/answers"

// Table and Column are what every question here is answered with.
type (
	Table  = answers.Table
	Column = answers.Column
)

// The one layer that asks the warehouse, by the short names that each file here uses.
var (
	ask     = answers.Ask
	unknown = answers.Unknown
)
