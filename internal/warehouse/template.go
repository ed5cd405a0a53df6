//go:build duckdb_arrow

package warehouse

import (
	"embed"
	"sync"

	"github.com/klauspost/compress/zstd"

	"tidemark/queries"
)

// packed holds the empty warehouse that make has packed (empty/README.md), or nothing.
//
//go:embed empty
var packed embed.FS

// emptyFile is the content of an empty warehouse of this program's SQL; nil where
// the program was built without one.
var emptyFile = sync.OnceValue(func() []byte {
	content, err := packed.ReadFile("empty/" + queries.Stamp() + ".duckdb.zst")
	if err != nil {
		return nil
	}
	unpacker, err := zstd.NewReader(nil)
	if err != nil {
		return nil
	}
	defer unpacker.Close()
	file, err := unpacker.DecodeAll(content, nil)
	if err != nil {
		return nil
	}
	return file
})
