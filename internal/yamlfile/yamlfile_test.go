package yamlfile_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/yamlfile"
)

func TestAliasesThatStandForTooMuchAreRefused(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		alias := fmt.Sprintf("*a%d", i)
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(alias+", ", 9)+alias)
	}
	for _, test := range []struct{ text, want string }{
		{bomb, "line 1: its aliases stand for more than"},
		{"a: &a [*a]\n", "line 1: its aliases stand for more than"},
		{"a: &a [1, 2]\nb: [*a, *a]\n", ""},
	} {
		_, err := yamlfile.Parse([]byte(test.text))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("got %v, want %q, for %.80q", err, test.want, test.text)
		}
	}
}

func TestAnAliasIsReadAsWhatItStandsFor(t *testing.T) {
	root := must.Get(yamlfile.Parse([]byte("name: &n chat\nother: *n\n")))(t)
	var name, other string
	err := yamlfile.Fields{"name": yamlfile.Text(&name), "other": yamlfile.Text(&other)}.Read("", root)
	if err != nil || name != "chat" || other != "chat" {
		t.Errorf("got %q and %q, %v; want chat twice", name, other, err)
	}
}
