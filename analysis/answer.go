package analysis

import "tidemark/analysis/answers"

// Table and Column are the answers to every question here, so that callers need not import answers for them.
type (
	Table  = answers.Table
	Column = answers.Column
)

// Nearly every file here asks the warehouse or reports an unknown name; these are short names for it.
var (
	ask     = answers.Ask
	unknown = answers.Unknown
)
