package read

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Reports that are written to one file at the same time leave one of them whole, and no temporary file.
func TestReportsToOneFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.html")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := writeWhole(path, bytes.Repeat([]byte{'a' + byte(i)}, 1<<20+i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(content); n < 1<<20 || n != 1<<20+int(content[0]-'a') || bytes.Count(content, content[:1]) != n {
		t.Errorf("%d bytes that begin with %q are not one report", n, content[0])
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".report-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
