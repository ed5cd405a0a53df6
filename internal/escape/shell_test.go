package escape

import (
	"os/exec"
	"testing"
)

func TestAShellReadsTheWordThatWasMeant(t *testing.T) {
	for _, word := range []string{"chat", "runs/20261121-101500-a", "s3://b/p", "", "two words", "a;b", "$(touch x)", "`x`", "it's", "*", "~root", "a\nb", "-", "ü", `\`, "#x", "a&b"} {
		got, err := exec.Command("sh", "-c", "printf %s "+Shell(word)).Output()
		if err != nil || string(got) != word {
			t.Errorf("%q is written %s and read as %q (%v)", word, Shell(word), got, err)
		}
	}
	if Shell("chat-2026") != "chat-2026" {
		t.Error("a plain word is quoted")
	}
}
