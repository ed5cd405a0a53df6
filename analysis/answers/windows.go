package answers

import (
	"strings"

	"tidemark/internal/hint"
)

// WindowFault is what DuckDB 1.5 says when a window of all rows, over (), fails by chance on more than one thread (DuckDB issue 25713; mended
// in 2.0). A window with a partition does not fail. No SQL of this program has over () for that reason; internal/floors tests it.
const WindowFault = "Attempted to access index 0 within vector of size 0"

// WindowFaultHint says what helps.
const WindowFaultHint = "a fault of DuckDB 1.5 that comes by chance: write over (partition by true) for over (), and ask again; a shell must be started anew"

// explained replaces DuckDB's stack trace for a fault that users can avoid. Any other error stays as it is.
func explained(err error) error {
	if err == nil || !strings.Contains(err.Error(), WindowFault) {
		return err
	}
	return hint.Errorf("DuckDB failed in a window of all rows").Hint(WindowFaultHint)
}
