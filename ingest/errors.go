package ingest

// reject is a line that was not taken in: where and why, never its text.
type reject struct {
	line   int64
	column string
	reason string
}

// The reasons of rejects. They are few, so that they can be counted.
const (
	notAnInteger   = "not an integer"
	notATime       = "not a time"
	notANumber     = "not a number"
	notFinite      = "not a finite number"
	negative       = "negative"
	outOfRange     = "out of range"
	tooLarge       = "too large"
	isMissing      = "missing"
	tooManyColumns = "more columns than the header"
	openQuote      = "a quote is not closed on its line"
	strayQuote     = "a quote where none can be"
	tooLong        = "line is too long"
	notJSON        = "not a JSON object"
	tooFewBlocks   = "blocks cover less than the prompt"
	notASample     = "not a series and its value"
	otherUnit      = "not in its column's unit"
	notAPattern    = "not a regular expression"
	notALink       = "neither nvlink nor pcie"
	notPositive    = "zero or negative"
	notInBaseUnits = "too small to be in bytes, bytes/s or FLOP/s"
	notAKnownWord  = "not a known word"
	notADictionary = "not a dictionary"
)
