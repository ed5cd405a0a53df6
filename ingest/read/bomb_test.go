package read

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tidemark/internal/proof/must"
)

// The samples of a rehearsed day unpack to 159 times their size, and were refused as a bomb.
func TestFilesOfARunMayRepeatThemselves(t *testing.T) {
	var packed bytes.Buffer
	encoder := must.Get(zstd.NewWriter(&packed))(t)
	text, size := strings.Repeat("vllm:num_requests_running 7\n", 100), int64(0)
	for second := range 1000 {
		n, _ := fmt.Fprintf(encoder, "%d %s", second, text)
		size += int64(n)
	}
	must.Do(t, encoder.Close())
	path := filepath.Join(t.TempDir(), "samples.jsonl.zst")
	must.Do(t, os.WriteFile(path, packed.Bytes(), 0o600))
	for _, c := range []struct {
		why       string
		isRun     bool
		limit     bombLimit
		isRefused bool
	}{
		{"a trace", false, bombLimit{1 << 20, ofTraces.ratio}, true},
		{"a file of a run", true, bombLimit{1 << 20, ofRuns.ratio}, false},
		{"a bomb among the files of a run", true, bombLimit{1 << 20, 200}, true},
	} {
		in := must.Get(Open(t.Context(), path, nil))(t)
		if c.isRun {
			in.OfRun()
		}
		in.bomb = c.limit
		n, err := io.Copy(io.Discard, struct{ io.Reader }{in})
		in.Close()
		if isRefused := err != nil && strings.Contains(err.Error(), "times its size"); isRefused != c.isRefused || !isRefused && n != size {
			t.Errorf("%s, %d bytes packed: %d bytes, %v", c.why, packed.Len(), n, err)
		}
	}
}
