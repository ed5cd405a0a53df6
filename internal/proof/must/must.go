// Package must ends a test at an error that the test is not about, and says in one way what a text or an error lacks.
package must

import (
	"iter"
	"strings"
	"testing"

	"tidemark/internal/hint"
)

// Do ends the test if something that the test needs has failed.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get is a value that the test needs: text := must.Get(os.ReadFile(path))(t).
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// All are the values of a sequence that the test needs.
func All[T any](sequence iter.Seq2[T, error]) func(testing.TB) []T {
	return func(t testing.TB) (all []T) {
		t.Helper()
		for value, err := range sequence {
			Do(t, err)
			all = append(all, value)
		}
		return all
	}
}

// Say wants each of the parts in a text.
func Say(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// NotSay wants none of the parts in a text.
func NotSay(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

// Fail wants an error, and each of the parts in what it says or in its hint.
func Fail(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	Say(t, err.Error()+"\n"+hint.Of(err), parts...)
}

// Refuse is Fail for what returns a value too: must.Refuse(os.ReadFile(path))(t, "no such file").
func Refuse[T any](_ T, err error) func(t testing.TB, parts ...string) {
	return func(t testing.TB, parts ...string) {
		t.Helper()
		Fail(t, err, parts...)
	}
}
