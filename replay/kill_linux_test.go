package replay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// A process that is killed leaves a folder that can be read: run.json says that it was running, the rows are whole up
// to the last flush, and the plan has the rest.
func TestAKilledRunIsReadable(t *testing.T) {
	fake := newFake(t, well(time.Millisecond))
	planned := planOf(t, every(5*time.Millisecond, 20_000, 20, 3))
	folder := filepath.Join(t.TempDir(), "run")
	text, _ := json.Marshal(clientOrder{BaseURL: fake.URL, Plan: planned.Path(), Folder: folder})
	cmd, _ := startOn(t, 0, "client", "CLIENT_ORDER="+string(text))
	for len(readableRows(folder)) < 50 { // the run itself says when it is far enough
		time.Sleep(20 * time.Millisecond)
	}
	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
	rows := rowsIn(t, folder)
	if len(rows) < 50 {
		t.Errorf("%d rows after the kill, at least 50 before", len(rows))
	}
	for _, r := range rows {
		if r.Failure != "" || *r.OutReported != 3 {
			t.Errorf("row %d: %+v", r.Seq, r)
		}
	}
	if d := documentIn(t, folder); d.Status != "running" || d.Result != nil || d.Plan.Requests != 20_000 {
		t.Errorf("run.json: %+v", d)
	}
	if copied, err := plan.Open(filepath.Join(folder, "plan.jsonl.zst")); err != nil || copied.Fingerprint() != planned.Fingerprint() {
		t.Errorf("the plan's copy: %v", err)
	}
	if len(linesIn(t, filepath.Join(folder, "samples.jsonl.zst"))) < 1 {
		t.Error("no sample is readable")
	}
}

func readableRows(folder string) (rows []string) {
	file, err := os.Open(filepath.Join(folder, "requests.jsonl.zst"))
	if err != nil {
		return nil
	}
	defer file.Close()
	in, err := plan.NewLineReader(file, nil)
	if err != nil {
		return nil
	}
	defer in.Close()
	for {
		text, err := in.Next()
		if err != nil {
			return rows
		}
		rows = append(rows, string(text))
	}
}
