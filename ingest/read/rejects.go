package read

// Reject is a line that was not taken in: where and why, never its text. A column
// is a name of the file's header or key.
type Reject struct {
	Line   int64
	Column string
	Reason string
}

// The reasons of rejects. They are few and fixed, so that they can be counted, and
// so that no reason can carry a piece of the file.
const (
	NotAnInteger   = "not an integer"
	NotATime       = "not a time"
	NotANumber     = "not a number"
	NotFinite      = "not a finite number"
	Negative       = "negative"
	OutOfRange     = "out of range"
	TooLarge       = "too large"
	Missing        = "missing"
	TooManyColumns = "more columns than the header"
	OpenQuote      = "a quote is not closed on its line"
	StrayQuote     = "a quote where none can be"
	TooLong        = "line is too long"
	NotJSON        = "not a JSON object"
	KeyTwice       = "the key is there twice"
	TooFewBlocks   = "blocks cover less than the prompt"
	NotASample     = "not a series and its value"
	OtherUnit      = "not in its column's unit"
	NotAPattern    = "not a regular expression"
	NotALink       = "neither nvlink nor pcie"
	NotPositive    = "zero or negative"
	NotInBaseUnits = "too small to be in bytes, bytes/s or FLOP/s"
	NotAKnownWord  = "not a known word"
	NotADictionary = "not a dictionary"
	NotAStep       = "not a whole step"
	NotTheSum      = "not the sum of its parts"
	notItsKind     = "not of the expected type"
)
