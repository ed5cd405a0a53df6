package replay

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"tidemark/replay/plan"
)

func TestTheFirstCancelStopsSendingAndLetsStreamsFinish(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		openStream(w)
		event(w, tokenChunk(1, ""))
		if bodyOf(r).MaxTokens == 2 {
			cancel() // in the middle of a stream
			<-ctx.Done()
		}
		event(w, tokenChunk(2, "length"))
		event(w, usageChunk(len(bodyOf(r).Prompt), 2))
		event(w, "[DONE]")
	})
	folder := filepath.Join(t.TempDir(), "run")
	plan := planOf(t, plan.Each([]plan.Request{{InputTokens: 9, OutputTokens: 2}, {Due: time.Hour, InputTokens: 9, OutputTokens: 2}}))
	result, err := Run(ctx, plan, settingsFor(fake.URL), folder)
	if err != nil || result.Status != "interrupted" || result.Completed != 1 || result.Unsent != 1 || !result.IsValid {
		t.Fatalf("%+v, %v", result, err)
	}
	if rows := rowsIn(t, folder); len(rows) != 1 || rows[0].Failure != "" || *rows[0].OutReported != 2 {
		t.Errorf("%+v", rows)
	}
	if d := documentIn(t, folder); d.Status != "interrupted" || d.Result.Unsent != 1 {
		t.Errorf("%+v", d)
	}
	if len(linesIn(t, filepath.Join(folder, "plan.jsonl.zst"))) != 3 {
		t.Error("what was not sent is no longer in the plan")
	}
}

func TestTheSecondCancelLeavesAtOnce(t *testing.T) {
	stop, stopNow := context.WithCancel(t.Context())
	abort, abortNow := context.WithCancel(t.Context())
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		openStream(w)
		event(w, tokenChunk(1, ""))
		stopNow()
		abortNow()
		<-r.Context().Done() // the server never ends it
	})
	s := settingsFor(fake.URL)
	s.Abort = abort
	folder := filepath.Join(t.TempDir(), "run")
	plan := planOf(t, plan.Each([]plan.Request{{InputTokens: 9, OutputTokens: 2}, {Due: time.Hour, InputTokens: 9, OutputTokens: 2}}))
	result, err := Run(stop, plan, s, folder)
	if err != nil || result.Status != "interrupted" || result.Failures["cancelled"] != 1 || result.Unsent != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if rows := rowsIn(t, folder); len(rows) != 1 || rows[0].Failure != "cancelled" || rows[0].Sent == nil {
		t.Errorf("%+v", rows)
	}
}

func TestARunCancelledBeforeItBeginsSendsNothing(t *testing.T) {
	fake := newFake(t, well(0))
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	fake.metrics = func() string { // first a look at how busy it is, then the baseline, the last thing before the first request
		if looks++; looks == 2 {
			cancel()
		}
		return ""
	}
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(ctx, planOf(t, every(0, 3, 9, 1)), settingsFor(fake.URL), folder)
	if err != nil || result.Unsent != 3 || result.IsValid || result.InvalidReason != "nothing was sent" || len(rowsIn(t, folder)) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
