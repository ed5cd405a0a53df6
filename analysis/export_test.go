package analysis

// InPartsOf has tables of points done in parts of so many, until it is undone.
func InPartsOf(n int) (undo func()) {
	before := atOnce
	atOnce = n
	return func() { atOnce = before }
}
