package answers

import (
	"strings"

	"tidemark/internal/hint"
)

// Faults of DuckDB and its driver that users can avoid, and cannot act on by what these say.

// WindowFault is what DuckDB 1.5 says when a window of all rows, over (), fails by chance on more than one thread (DuckDB issue 25713; mended
// in 2.0). A window with a partition does not fail. No SQL of this program has over () for that reason; internal/proof/floors tests it.
const WindowFault = "Attempted to access index 0 within vector of size 0"

// WindowFaultHint says what helps.
const WindowFaultHint = "a fault of DuckDB 1.5 that comes by chance: write over (partition by true) for over (), and ask again; a shell must be started anew"

// namelessFault is what the driver says of a struct without names, such as those that list_zip and row make.
const namelessFault = "API error: empty name"

// explained puts what to do in place of DuckDB's stack trace or the driver's words. Any other error stays as it is.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), WindowFault):
		return hint.Errorf("DuckDB failed in a window of all rows").Hint(WindowFaultHint)
	case strings.Contains(err.Error(), namelessFault):
		return hint.Misuse("the answer has a struct whose fields have no names").
			Hint("name them, as in {'tokens': 1, 'seconds': 2}, or write the column as a text: COLUMN::varchar")
	}
	return err
}
