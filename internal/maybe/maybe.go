// Package maybe is for values that may not be known: nil stands for not known.
package maybe

// Or is what v points at, or something else where that is not known.
func Or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// Known is nil for a zero value.
func Known[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// Cell is the value as the cell of a table, which has no pointers.
func Cell[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}
