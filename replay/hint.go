package replay

// hinted is an error that also says what to do about it.
type hinted struct {
	error
	hint string
}

// Hint is what the user can do.
func (h hinted) Hint() string { return h.hint }

func (h hinted) Unwrap() error { return h.error }

func withHint(err error, hint string) error { return hinted{err, hint} }
