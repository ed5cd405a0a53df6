//go:build duckdb_arrow

package warehouse

import (
	"embed"
	"sync"

	"github.com/klauspost/compress/s2"

	"tidemark/queries"
)

// packed holds what make has packed (empty/README.md), or nothing.
//
//go:embed empty
var packed embed.FS

// emptyFile is the content of an empty warehouse of this program's SQL, and catalogueFile that without views, which opens in half the time; nil
// where the program was built without them.
var emptyFile, catalogueFile = unpacked(".duckdb.s2"), unpacked(".catalogue.s2")

func unpacked(ending string) func() []byte {
	return sync.OnceValue(func() []byte {
		content, err := packed.ReadFile("empty/" + queries.Stamp() + ending)
		if err != nil {
			return nil
		}
		file, err := s2.Decode(nil, content)
		if err != nil {
			return nil
		}
		return file
	})
}
