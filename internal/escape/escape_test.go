package escape

import "testing"

// A name with U+202E reads backwards on a page: "gpj.exe" for "exe.jpg".
func TestDirection(t *testing.T) {
	if got, want := Direction("a\u202egpj.exe \u2066b\u2069 \u200fc – ü"), `a\u202egpj.exe \u2066b\u2069 \u200fc – ü`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
