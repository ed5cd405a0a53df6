//go:build pages

package watch

import (
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/proof/chromium"
	"tidemark/replay"
	"tidemark/replay/plan"
)

// The page brings its figures up to date by itself, stops when told, and says so when the program has ended.
func TestPagesOfARunAsItGoes(t *testing.T) {
	p := listening(t)
	judge := judging(t, analysis.Objective{Metric: "ttft", Percentile: 95, AtMost: 0.2}, analysis.Objective{Metric: "failure_ratio", AtMost: 0.01})
	p.Begin("azure-code to http://gpu1:8000", AskedBy("open", plan.Each(evenly(12000, 20))), judge)
	for i := range 200 {
		judge.Watch()(replay.Watched{IsOver: true, First: time.Duration(50+i) * time.Millisecond, Last: time.Second, Tokens: 40})
	}
	now := replay.Progress{PlanDuration: 10 * time.Minute, Planned: 12000, LateP50: 60 * time.Microsecond, LateP99: 1200 * time.Microsecond, TTFTP50: 62 * time.Millisecond, TTFTP99: 185 * time.Millisecond}
	show := func(second int) {
		now.Elapsed, now.Sent, now.InFlight = time.Duration(second)*time.Second, int64(20*second), int64(10+second%7)
		now.TPOT, now.PredictedTPOT = time.Duration(9000+90*(second%9))*time.Microsecond, time.Duration(8200+60*(second%7))*time.Microsecond
		if second > 60 && second < 80 {
			now.TPOT = 0
		}
		now.Completed, now.OutputTokensPer = now.Sent-now.InFlight, 1230
		p.Show(now)
	}
	for second := 1; second <= 120; second++ {
		show(second)
	}
	b := chromium.Start(t)
	b.Open(p.Address)
	show(130)
	b.Await(`document.body.innerText.includes("2m10s passed of 10m0s: 2,600 of 12,000")`)
	p.Say("run 1: kept")
	b.Await(`document.body.innerText.includes("run 1: kept")`)
	b.CheckLooks(t, "watch")
	b.Evaluate(`goes.click(); ""`)
	show(140)
	if got := b.Evaluate(`new Promise(done => setTimeout(() => done(String(document.body.innerText.includes("2m20s passed"))), 2500))`); got != "false" {
		t.Error("the figures go on although they were stopped")
	}
	for _, complaint := range b.Complaints() {
		t.Errorf("the browser complains: %s", complaint)
	}
	b.Evaluate(`goes.click(); ""`)
	p.Close()
	b.Await(`!gone.hidden && gone.innerText.includes("The program has ended")`)
	b.Screenshot("watch-gone")
	b.CheckAccessibility(t)
}
