package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

// A results folder holds what was measured of one server: hardware.md,
// server-flags.md, one row-NAME.json for each row of a workload matrix, and
// interpretation.md. It is one source. Its files are kept to the byte, so that
// "tidemark export" writes them again, and what each row holds becomes points as
// its own format has them.
//
// A row that holds texts (generated answers) is measured but not kept, and a file
// with a server's key in it is not kept. Files of
// other names in the folder are taken in as files of any folder are.
const (
	hardwareFile = "hardware.md"
	flagsFile    = "server-flags.md"
	folderFormat = "folder"
	maxPartBytes = 64 << 20 // of one file of a results folder
	maxParts     = 1000
)

// isResultsFolder says whether a folder has that layout.
func isResultsFolder(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	hasText, hasRow := false, false
	for _, entry := range entries {
		hasText = hasText || entry.Name() == hardwareFile || entry.Name() == flagsFile
		hasRow = hasRow || isRow(entry.Name())
	}
	return hasText && hasRow
}

func isRow(name string) bool {
	return strings.HasPrefix(name, "row-") && strings.HasSuffix(name, ".json")
}

// isPart says whether a file of a results folder belongs to its source.
func isPart(entry fs.DirEntry) bool {
	name := entry.Name()
	return entry.Type().IsRegular() && !strings.HasPrefix(name, ".") && (isRow(name) || strings.HasSuffix(name, ".md"))
}

// folderPart is one file of a results folder.
type folderPart struct {
	name    string
	content []byte
}

// partsOf reads a folder's files by name, with the fingerprint of all of them.
func partsOf(folder string) (parts []folderPart, sum string, size int64, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, "", 0, err
	}
	all := sha256.New()
	for _, entry := range entries { // by name
		if !isPart(entry) {
			continue
		}
		content, err := readPart(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, "", 0, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		one := sha256.Sum256(content)
		fmt.Fprintf(all, "%s %s\n", entry.Name(), hex.EncodeToString(one[:]))
		if size += int64(len(content)); size > read.MaxWholeBytes || len(parts) >= maxParts {
			return nil, "", 0, hint.Errorf("a results folder of more than %d MB or %d files", read.MaxWholeBytes>>20, maxParts).
				Hint("take in its files one by one")
		}
		parts = append(parts, folderPart{entry.Name(), content})
	}
	return parts, hex.EncodeToString(all.Sum(nil)), size, nil
}

func readPart(path string) ([]byte, error) {
	file, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxPartBytes+1))
	if err == nil && len(content) > maxPartBytes {
		err = hint.Errorf("more than %d MB", maxPartBytes>>20).Hint("leave the arrays of its requests out, or take it in by itself")
	}
	return content, err
}

// loadFolder takes in a results folder as one source.
func (m *loader) loadFolder(ctx context.Context, file candidate) (Result, error) {
	if m.opts.Format != "" && m.opts.Format != folderFormat {
		return Result{}, hint.Errorf("--format says %s, but it is a results folder: it has %s or %s, and row-*.json", m.opts.Format, hardwareFile, flagsFile).
			Hint("leave --format out, or name its files")
	}
	parts, sum, size, err := partsOf(file.path)
	if err != nil {
		return Result{}, err
	}
	if known, err := knownSums(ctx, pool{m.w.DB()}, read.Sums{Content: sum, Disk: sum}); err != nil || known != nil {
		return known.result(), err
	}
	result := Result{Name: cmp.Or(m.opts.Name, file.name), Format: folderFormat, FormatWhy: "a results folder, with row-*.json and " + hardwareFile + " or " + flagsFile}
	l := &fileLoad{file: file, names: m.names, opts: m.opts, result: &result,
		doc: &read.Document{Path: file.path, RefusesText: m.opts.RefuseText}}
	err = m.w.Write(ctx, func(tx *warehouse.Tx) error {
		// Another folder that was read meanwhile may have been the same.
		if err := refuseKnown(ctx, tx, read.Sums{Content: sum, Disk: sum}); err != nil {
			return err
		}
		total, err := l.parts(ctx, tx, parts)
		if err != nil {
			return err
		}
		if err := l.accept(total, read.About{}); err != nil {
			return err
		}
		if err := l.name(ctx, tx); err != nil {
			return err
		}
		return insertSource(ctx, tx, file.source, sourceRow{
			Result: &result, kind: folderFormat, path: file.path, sha256: sum, size: size, licence: m.opts.Licence, rejects: total.Rejects,
		})
	})
	var known *knownSource
	if errors.As(err, &known) {
		return known.result(), nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return result, err
}

// parts takes in the files: what was measured as points, and the files themselves.
func (l *fileLoad) parts(ctx context.Context, tx *warehouse.Tx, parts []folderPart) (read.Counts, error) {
	out := read.NewRows(ctx, tx, l.file.source, l.doc)
	defer out.Close()
	for _, p := range parts {
		keep := true
		if isRow(p.name) {
			var err error
			if keep, err = l.row(ctx, out, p); err != nil {
				return read.Counts{}, fmt.Errorf("%s: %w", p.name, err)
			}
		}
		if keep && read.KeepsSecret().Match(p.content) {
			out.Note("%s is not kept: it holds what looks like a server's key; take that out, and take the folder in again", p.name)
			keep = false
		}
		if !keep {
			continue
		}
		if err := out.Add(keptFile{Path: p.name, Content: p.content}); err != nil {
			return read.Counts{}, err
		}
	}
	err := out.End()
	for _, note := range out.Notes {
		if !slices.Contains(l.result.Notes, note) {
			l.result.Notes = append(l.result.Notes, note)
		}
	}
	return out.Sum, err
}

// row takes in what a row-NAME.json measured. keep says whether the file itself may
// be kept: only one whose reader found no text in it. The file is read twice, first
// without a sink, so that a file that breaks in its middle leaves nothing.
func (l *fileLoad) row(ctx context.Context, out *read.Rows, p folderPart) (keep bool, err error) {
	f, err := l.formatOfPart(p)
	if err != nil {
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("%s is left out: %v", p.name, err))
		return false, nil
	}
	trial := read.NewRows(ctx, nil, 0, l.doc)
	defer trial.Close()
	if err := f.ReadInto(l.partDocument(p), trial); err != nil {
		if l.doc.RefusesText && trial.HoldsText {
			return false, err
		}
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("%s is left out: %v", p.name, err))
		return false, nil
	}
	out.Label = strings.TrimSuffix(p.name, ".json")
	defer func() { out.Label = "" }()
	if err := f.ReadInto(l.partDocument(p), out); err != nil {
		return false, err
	}
	if trial.HoldsText {
		out.Note("%s holds text: its numbers are taken in, the file is not kept and cannot be exported", p.name)
	}
	return !trial.HoldsText, nil
}

// formatOfPart recognises a row's format, which must be one of results.
func (l *fileLoad) formatOfPart(p folderPart) (read.Format, error) {
	f, _, err := recognise(read.NewHead(p.content[:min(len(p.content), read.BlockSize)], p.name), "")
	if err == nil && (f.Kind != "results" || f.Read == nil) {
		err = fmt.Errorf("it is %s, no result", f.Name)
	}
	return f, err
}

func (l *fileLoad) partDocument(p folderPart) *read.Document {
	content := bytes.Clone(p.content) // a reader may write over it
	return &read.Document{
		Path: filepath.Join(l.file.path, p.name), First: read.Block{Data: content, Line: 1, Limit: read.LineLimit},
		Rest: read.NewBlocks(strings.NewReader(""), read.BlockSize, read.LineLimit), RefusesText: l.doc.RefusesText,
	}
}

// keptFile is a file of the folder, kept to the byte for export.
type keptFile struct {
	Path    string `sql:"path"`
	Content []byte `sql:"content"`
}

func (keptFile) Table() string { return "documents" }
