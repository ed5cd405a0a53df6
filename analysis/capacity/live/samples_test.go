package live

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark/analysis/capacity"
	"tidemark/internal/proof/must"
)

// Two searches on one server took each other's load for its own slowness, and a server that was started again in mid-run was none the wiser.
func TestWhatSamplesSayOfTheServer(t *testing.T) {
	const s = time.Second
	replies := []capacity.Reply{
		{IsSent: true, Sent: 0, Last: 4 * s}, {IsSent: true, Sent: 0, Last: 2 * s}, {IsSent: true, Sent: 2 * s, Last: 4 * s}, {Sent: 0},
	}
	for _, c := range []struct {
		why        string
		running    [3]int // at 1, 2 and 3 s, of which two are the run's own
		waiting    int
		starts     [3]float64
		isShared   bool
		isReplaced bool
	}{
		{"alone", [3]int{2, 2, 2}, 0, [3]float64{1e9, 1e9, 1e9}, false, false},
		{"others run", [3]int{4, 3, 3}, 0, [3]float64{1e9, 1e9, 1e9}, true, false},
		{"others wait", [3]int{2, 2, 2}, 1, [3]float64{1e9, 1e9, 1e9}, true, false},
		{"started again", [3]int{2, 0, 1}, 0, [3]float64{1e9, 1e9, 1e9 + 40}, false, true},
	} {
		folder := t.TempDir()
		file := must.Get(os.Create(filepath.Join(folder, "samples.jsonl.zst")))(t)
		packed := must.Get(zstd.NewWriter(file))(t)
		fmt.Fprintln(packed, `{"at_s":0.5,"origin":"client","values":{"lag_s":1}}`)
		for i := range 3 {
			exposition := fmt.Sprintf("process_start_time_seconds %v\nvllm:num_requests_running{engine=\"0\"} %d\nvllm:num_requests_waiting{engine=\"0\"} %d\n", c.starts[i], c.running[i], c.waiting)
			fmt.Fprintf(packed, "{\"at_s\":%d,\"origin\":\"server\",\"url\":\"http://x/metrics\",\"exposition\":%q}\n", i+1, exposition)
		}
		must.Do(t, packed.Close())
		file.Close()
		if isShared, isReplaced := observed(folder, replies); isShared != c.isShared || isReplaced != c.isReplaced {
			t.Errorf("%s: shared %t, replaced %t; want %t, %t", c.why, isShared, isReplaced, c.isShared, c.isReplaced)
		}
	}
	if isShared, isReplaced := observed(t.TempDir(), replies); isShared || isReplaced {
		t.Error("a run without samples says something")
	}
}
