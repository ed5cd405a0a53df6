package replay

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

func TestRunSendsThePlanAndKeepsEveryInstant(t *testing.T) {
	fake := newFake(t, well(2*time.Millisecond))
	var last Progress
	s := settingsFor(fake.URL)
	s.WarmUp = 20 * time.Millisecond
	s.Progress = func(p Progress) { last = p }
	folder := filepath.Join(t.TempDir(), "runs", "r1")
	plan := planOf(t, every(10*time.Millisecond, 20, 50, 5))
	result := must.Get(Run(t.Context(), plan, s, folder))(t)
	if result.Status != "done" || result.Completed != 20 || result.Sent != 20 || result.Unsent != 0 || !result.IsValid ||
		result.InputTokensReported != 1000 || result.OutputTokensReported != 100 {
		t.Errorf("result: %+v", result)
	}
	if last.Sent != 20 || last.Completed != 20 || last.InFlight != 0 {
		t.Errorf("last progress: %+v", last)
	}
	rows := rowsIn(t, folder)
	if len(rows) != 20 {
		t.Fatalf("%d rows, want 20", len(rows))
	}
	for _, r := range rows {
		checkRow(t, r)
	}
	for _, b := range fake.bodies {
		if len(b.Prompt) != 50 || b.MaxTokens != 5 || b.MinTokens != 5 || !b.IgnoreEOS || !b.Stream || !b.ReturnIDs ||
			b.Seed != nil || b.Stop != nil || !b.StreamField.IncludeUsage || b.Model != "tiny" {
			t.Errorf("body: %+v", b)
		}
	}
	checkDocument(t, folder, plan)
}

func checkRow(t *testing.T, r line) {
	t.Helper()
	if r.Failure != "" || r.Status != 200 || r.Finish != "length" || *r.OutReported != 5 || *r.OutCounted != 5 ||
		*r.InReported != 50 || *r.Cached != 0 || len(r.Offsets) != 5 || len(r.Tokens) != 5 || r.Reads < 1 || r.Reads > 5 {
		t.Errorf("row %d: %+v", r.Seq, r)
	}
	if r.IsWarmUp != (r.Due < 0.02) {
		t.Errorf("row %d: warm-up %v, due %v", r.Seq, r.IsWarmUp, r.Due)
	}
	instants := []float64{r.Due, *r.Sent, *r.Written, *r.Headers, *r.First, *r.Last, *r.Done}
	for i := 1; i < len(instants); i++ {
		if instants[i] < instants[i-1] {
			t.Errorf("row %d: instants go back: %v", r.Seq, instants)
		}
	}
	// From when it was sent: a busy machine may read the first token late, and the others are in time then.
	if *r.Last-*r.Sent < 4*0.002 {
		t.Errorf("row %d: four gaps of 2 ms took %v s", r.Seq, *r.Last-*r.Sent)
	}
}

func checkDocument(t *testing.T, folder string, plan *plan.Plan) {
	t.Helper()
	d := documentIn(t, folder)
	if d.Status != "done" || d.Result == nil || d.Result.Sent != 20 || d.Plan.Fingerprint != plan.Fingerprint() ||
		d.Plan.Requests != 20 || d.Server.Version != "0.32.0" || d.Settings.VocabHigh != 8192 || d.Environment != nil {
		t.Errorf("run.json: %+v", d)
	}
	samples := linesIn(t, filepath.Join(folder, "samples.jsonl.zst"))
	if len(samples) < 3 || !strings.HasPrefix(samples[0], `{"at_s":0,"origin":"server"`) {
		t.Errorf("samples: %q", samples)
	}
	for _, s := range samples {
		if !json.Valid([]byte(s)) {
			t.Errorf("not JSON: %s", s)
		}
	}
}
