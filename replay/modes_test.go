package replay

import (
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"testing"
	"time"

	"tidemark/internal/proof"
)

// Every mode on a fake clock, through Run and an HTTP server over pipes: each request is sent exactly when the schedule's
// rules say, and twice the same.
func TestEveryModeIsExactForEverySeed(t *testing.T) {
	seeds := uint64(proof.Many(60, 1000))
	if isRace {
		seeds = 60
	}
	t.Cleanup(func(was int) func() { return func() { debug.SetGCPercent(was) } }(debug.SetGCPercent(400)))
	const groups = 8 // most of the time goes into opening and syncing files
	for group := range uint64(groups) {
		t.Run(fmt.Sprint("group ", group), func(t *testing.T) {
			t.Parallel()
			for seed := group; seed < seeds; seed += groups {
				exactFor(t, seed)
			}
		})
	}
}

func exactFor(t *testing.T, seed uint64) {
	m := modesOf[seed%uint64(len(modesOf))]
	where := fmt.Sprintf("seed %d, %s, limit %d", seed, m.mode, m.limit)
	plan := conversations(seed, 4)
	s := settingsFor("http://tiny")
	s.Mode, s.MaxConcurrency, s.MetricsURLs, s.create = m.mode, m.limit, []string{noMetrics}, createHasty
	result, rows := onFakeClockAs(t, plan, &pipeServer{}, s)
	if result.Completed != int64(len(plan)) || result.LatenessS.Max > 1e-8 {
		t.Fatalf("%s: %+v", where, result)
	}
	checkLog(t, where, m.mode, m.limit, plan, logOf(rows))
	if seed%50 < uint64(len(modesOf)) {
		_, again := onFakeClockAs(t, plan, &pipeServer{}, s)
		if got, want := logOf(again), logOf(rows); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: two runs on the same clock differ: %v and %v", where, got, want)
		}
	}
}

// hasty is a file that no disk waits for.
type hasty struct{ file }

func (hasty) Sync() error { return nil }

func createHasty(path string) (file, error) {
	f, err := createFile(path)
	return hasty{f}, err
}

// logOf is what the rows say, to the nanosecond.
func logOf(rows []line) (log []sending) {
	instant := func(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }
	for _, r := range rows {
		log = append(log, sending{r.Seq, instant(r.Due), instant(*r.Held), instant(*r.Sent), instant(*r.Done)})
	}
	return log
}
