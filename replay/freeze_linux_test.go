package replay

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/internal/proof/must"
)

// A process that is stopped in mid-stream and goes on later knows it.
func TestASuspendedClientKnowsIt(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		openStream(w)
		event(w, tokenChunk(1, ""))
		close(begun)
		<-goOn
		event(w, tokenChunk(2, "length"))
		event(w, usageChunk(len(bodyOf(r).Prompt), 2))
		event(w, "[DONE]")
	})
	plan := planOf(t, every(0, 1, 9, 2))
	folder := filepath.Join(t.TempDir(), "run")
	text, _ := json.Marshal(clientOrder{BaseURL: fake.URL, Plan: plan.Path(), Folder: folder})
	cmd, out := startOn(t, 0, "client", "CLIENT_ORDER="+string(text))
	<-begun
	stopped := time.Now()
	cmd.Process.Signal(unix.SIGSTOP)
	time.Sleep(600 * time.Millisecond) // the stall itself
	least := time.Since(stopped)
	cmd.Process.Signal(unix.SIGCONT)
	close(goOn)
	var report clientReport
	must.Do(t, json.NewDecoder(out).Decode(&report))
	// The signal takes a moment, and a beat may have been under way.
	if report.Result.Completed != 1 || report.Result.ClientStallS < (least-100*time.Millisecond).Seconds() {
		t.Errorf("stopped for %v: %+v", least, report.Result)
	}
}
