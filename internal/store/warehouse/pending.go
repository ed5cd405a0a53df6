//go:build duckdb_arrow

package warehouse

import (
	"sync"
	"time"

	"github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"
	"golang.org/x/sys/unix"
)

// While another of DuckDB's threads works and there is no task left for the thread that asks, DuckDB's own loop asks for one again at once, and
// keeps a core busy with that (duckdb/duckdb#22178). A window over one run is computed by one thread, so that this was a quarter of what it costs
// to take a run in. Here the thread sleeps before it asks again.

// Of the sleep: short enough to cost a statement of a millisecond nothing, and doubled so that a minute of waiting costs nothing either.
const (
	firstSleep   = 20 * time.Microsecond
	longestSleep = time.Millisecond
)

// failed holds what statements failed of, by their result. DuckDB does not tell it again to who asks for the result.
var failed sync.Map // *mapping.Result to its message

func init() {
	mapping.ExecutePending = func(pending mapping.PendingResult, result *mapping.Result) mapping.State {
		message := executeTasks(pending)
		state := duckdb_go_bindings.ExecutePending(pending, result)
		if state == mapping.StateError && message != "" {
			failed.Store(result, message)
		}
		return state
	}
	mapping.ResultError = func(result *mapping.Result) string {
		if message, is := failed.LoadAndDelete(result); is {
			return message.(string)
		}
		return duckdb_go_bindings.ResultError(result)
	}
}

// executeTasks returns when the result is ready or the statement has failed, and of what it failed.
func executeTasks(pending mapping.PendingResult) (message string) {
	sleep := firstSleep
	for {
		switch duckdb_go_bindings.PendingExecuteTask(pending) {
		case mapping.PendingStateResultNotReady:
			sleep = firstSleep
		case mapping.PendingStateNoTasksAvailable:
			// Not time.Sleep: that takes a millisecond at least where nothing else runs.
			interval := unix.NsecToTimeval(int64(sleep))
			_, _ = unix.Select(0, nil, nil, nil, &interval)
			sleep = min(2*sleep, longestSleep)
		case mapping.PendingStateError:
			return duckdb_go_bindings.PendingError(pending)
		default:
			return ""
		}
	}
}
