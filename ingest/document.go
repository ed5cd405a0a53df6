package ingest

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// document is a file on its way to a reader that does not cut it into blocks for
// many workers: a whole JSON value, a text with a shape of its own, or lines that
// make rows of several tables.
type document struct {
	path        string // as the user named it; "-" for stdin
	first       block  // what was read to recognise it
	rest        *blocks
	refusesText bool
	columns     map[string]string // what the user says which column is, see Options.Columns
}

// base is the file's name without the endings of its packing.
func (d *document) base() string { return unpackedName(d.path) }

func unpackedName(path string) string {
	name := filepath.Base(path)
	for _, ending := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// beside reads a file of the same folder, at most limit bytes; nil where there is
// none.
func (d *document) beside(name string, limit int64) []byte {
	if d.path == "-" {
		return nil
	}
	file, err := userfile.Open(filepath.Join(filepath.Dir(d.path), name))
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil
	}
	return text
}

// reader yields the whole decompressed content, without a byte order mark.
func (d *document) reader() io.Reader {
	head := bytes.TrimPrefix(d.first.data, utf8BOM)
	return io.MultiReader(bytes.NewReader(head), bytes.NewReader(d.rest.rest), d.rest.reader)
}

// maxWholeBytes is the longest document that is held in memory as a whole.
const maxWholeBytes = 256 << 20

// whole is the content of a document that is short enough to be held.
func (d *document) whole() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(d.reader(), maxWholeBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxWholeBytes {
		return nil, hint.Errorf("one document of more than %d MB", maxWholeBytes>>20).Hint("split it")
	}
	return text, nil
}

// lines calls use with every line that is not blank, without its line end. What
// use says of a line is its reject; its error ends the file.
func (d *document) lines(out *rows, use func(number int64, line []byte) (*reject, error)) error {
	for next := d.first; ; {
		next.data = bytes.TrimPrefix(next.data, utf8BOM)
		made := &batch{}
		var failed error
		if next.overlong {
			made.rejects = append(made.rejects, reject{next.line, "", tooLong})
			next.data = nil
		}
		next.rows(made, func(number int64, line []byte) *reject {
			if failed != nil {
				return nil
			}
			var problem *reject
			problem, failed = use(number, line)
			return problem
		})
		if failed != nil {
			return failed
		}
		for _, r := range made.rejects {
			if err := out.reject(r.line, r.column, r.reason); err != nil {
				return err
			}
		}
		d.rest.done(next)
		var err error
		if next, err = d.rest.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// hasKeys says whether all of the wanted are there.
func hasKeys(keys []string, wanted ...string) bool {
	for _, key := range wanted {
		if !slices.Contains(keys, key) {
			return false
		}
	}
	return true
}

// word is a short string that names something and cannot be a text: a model, a
// version, a flag. Anything else is "".
func word(text string) string {
	if len(text) > 128 || strings.ContainsAny(text, "\n\r\t") || strings.Count(text, " ") > 3 {
		return ""
	}
	return text
}
