package take

import (
	"testing"
	"time"

	"tidemark/ingest"
)

// Files that were read at the same time counted their seconds twice, so that a folder took longer than the command.
func TestAFormatTakesFromItsFirstFileToItsLast(t *testing.T) {
	noon := time.Unix(1_800_000_000, 0)
	table := formatTable([]ingest.Result{
		{Format: "azure", RowsRead: 1, Began: noon, Seconds: 3},
		{Format: "mooncake", RowsRead: 2, Began: noon, Seconds: 1},
		{Format: "azure", RowsRead: 4, Began: noon.Add(time.Second), Seconds: 3},
	})
	if len(table.Rows) != 2 || table.Rows[0][5] != 4.0 || table.Rows[0][2] != int64(5) || table.Rows[1][5] != 1.0 {
		t.Errorf("got %v", table.Rows)
	}
}
