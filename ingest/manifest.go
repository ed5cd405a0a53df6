package ingest

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"tidemark/ingest/read"
	"tidemark/ingest/runs"
	"tidemark/internal/store/warehouse"
)

const (
	manifestSchema = "tidemark.privacy/1"
	manifestEnding = ".privacy.json"
)

// insertManifest keeps what an export under privacy rules says about how it was
// made, for the reports. The manifest is a file next to the trace; one that names
// other bytes does not belong to this file.
func (l *fileLoad) insertManifest(ctx context.Context, tx *warehouse.Tx, source int64, sha256 string) error {
	name := filepath.Base(l.file.path)
	for _, name := range []string{name, strings.Replace(name, read.RatesEnding, ".csv", 1)} {
		text := l.doc.Beside(name+manifestEnding, runs.MaxDocumentBytes)
		var manifest struct {
			Schema string `json:"schema"`
			Files  []struct {
				SHA256 string `json:"sha256"`
			} `json:"files"`
		}
		if json.Unmarshal(text, &manifest) != nil || manifest.Schema != manifestSchema {
			continue
		}
		for _, file := range manifest.Files {
			if file.SHA256 == sha256 {
				return tx.Exec(ctx, "insert into raw.manifests values (?, ?)", source, string(text))
			}
		}
	}
	return nil
}
