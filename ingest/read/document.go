package read

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// Document is a file on its way to a reader that does not cut it into blocks for
// many workers: a whole JSON value, a text with a shape of its own, or lines that
// make rows of several tables.
type Document struct {
	Path        string // as the user named it; "-" for stdin
	First       Block  // what was read to recognise it
	Rest        *Blocks
	RefusesText bool
	// TimeUnit of stamps without one: s, ms, us, ns; empty where the user does not say it.
	TimeUnit string
	Columns  map[string]string // what the user says which column is, see Options.Columns
}

// Base is the file's name without the endings of its packing.
func (d *Document) Base() string { return UnpackedName(d.Path) }

// UnpackedName is a file's name without its folder and without .gz, .zst or .xz.
func UnpackedName(path string) string {
	name := filepath.Base(path)
	for _, ending := range []string{".gz", ".zst", ".xz"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// Beside reads a file of the same folder, at most limit bytes; nil where there is none.
func (d *Document) Beside(name string, limit int64) []byte {
	if d.Path == "-" {
		return nil
	}
	file, err := userfile.Open(filepath.Join(filepath.Dir(d.Path), name))
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

// Reader yields the whole decompressed content, without a byte order mark.
func (d *Document) Reader() io.Reader {
	head := bytes.TrimPrefix(d.First.Data, ByteOrderMark)
	return io.MultiReader(bytes.NewReader(head), bytes.NewReader(d.Rest.rest), d.Rest.reader)
}

// MaxWholeBytes is the longest document that is held in memory as a whole.
const MaxWholeBytes = 256 << 20

// Whole is the content of a document that is short enough to be held.
func (d *Document) Whole() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(d.Reader(), MaxWholeBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxWholeBytes {
		return nil, hint.Errorf("one document of more than %d MB", MaxWholeBytes>>20).Hint("split it")
	}
	return text, nil
}

// Lines calls use with every line that is not blank, without its line end. What use
// returns about a line is its reject; an error ends the file.
func (d *Document) Lines(out *Rows, use func(number int64, line []byte) (*Reject, error)) error {
	for next := d.First; ; {
		next.Data = bytes.TrimPrefix(next.Data, ByteOrderMark)
		made := &Batch{}
		var failed error
		if next.Overlong {
			made.Rejects = append(made.Rejects, Reject{next.Line, "", TooLong})
			next.Data = nil
		}
		next.Rows(made, func(number int64, line []byte) *Reject {
			if failed != nil {
				return nil
			}
			problem, err := use(number, WithoutColours(line))
			failed = cmp.Or(out.failed, err)
			return problem
		})
		if failed != nil {
			return failed
		}
		for _, r := range made.Rejects {
			out.Reject(r.Line, r.Column, r.Reason)
		}
		if out.failed != nil {
			return out.failed
		}
		d.Rest.done(next)
		var err error
		if next, err = d.Rest.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// RatesEnding is the ending of a table of rates whose lengths are in the same
// folder, in a file of the same name without it. The two are played together by
// that name.
const RatesEnding = ".rates.csv"

// WithLines is the same file by lines that another process makes of it; io.EOF where it
// makes none.
func (d *Document) WithLines(from io.Reader) (*Document, error) {
	lines := NewBlocks(from, BlockSize, LineLimit)
	first, err := lines.Next()
	return &Document{Path: d.Path, First: first, Rest: lines, RefusesText: d.RefusesText, Columns: d.Columns, TimeUnit: d.TimeUnit}, err
}

// Collection is what the files of one folder are called together: the folder's name.
func (d *Document) Collection() string {
	path, err := filepath.Abs(d.Path)
	if d.Path == "-" || err != nil {
		return ""
	}
	return KebabCase(filepath.Base(filepath.Dir(path)))
}
