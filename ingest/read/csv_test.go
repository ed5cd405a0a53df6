package read

import (
	"slices"
	"testing"
)

// A doubled quote stayed doubled in the fields of tables, and was one in those of other files.
func TestADoubledQuoteIsOne(t *testing.T) {
	line := []byte(`1,"say ""hi""","a,b", "" ,""""`)
	want := []string{"1", `say "hi"`, "a,b", "", `"`}
	if got, reason := CSVFields(line); reason != "" || !slices.Equal(got, want) {
		t.Errorf("got %q, %s; want %q", got, reason, want)
	}
	if field, next, reason := FieldAt([]byte(`"say ""hi""";2`), 0, ';'); string(field) != `say "hi"` || next != 13 || reason != "" {
		t.Errorf("got %q, the next one at %d, %s", field, next, reason)
	}
	if string(line) != `1,"say ""hi""","a,b", "" ,""""` {
		t.Errorf("the line was changed: %s", line)
	}
}
