package replay

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A client that runs out of descriptors sends less than its plan: the run says so and is invalid.
func TestAClientWithoutDescriptorsIsInvalid(t *testing.T) {
	fake := newFake(t, well(50*time.Millisecond)) // a request is in flight for 250 ms
	plan := planOf(t, every(time.Millisecond, 300, 9, 5))
	folder := filepath.Join(t.TempDir(), "run")
	report := clientOn(t, 0, clientOrder{BaseURL: fake.URL, Plan: plan.Path(), Folder: folder, Files: 64})
	r := report.Result
	if r.IsValid || !strings.Contains(r.InvalidReason, "ran out of descriptors") || r.Failures["connect"] == 0 || r.Completed == 0 ||
		r.Completed+r.Failed != 300 {
		t.Errorf("%+v", r)
	}
	if rows := rowsIn(t, folder); len(rows) != 300 {
		t.Errorf("%d rows", len(rows))
	}
}
