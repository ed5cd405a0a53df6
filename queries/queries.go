// Package queries holds all SQL of Tidemark as files: the folder is the schema,
// the path is the relation, so queries/marts/tpot_gap.sql is marts.tpot_gap.
//
//	raw      numbered migrations: the only tables that a user's data lives in
//	seeds    <name>.sql (the column list) beside <name>.csv, <name>.jsonl or <name>.csv.gz (the rows)
//	macros   <topic>.sql, each with one or more "create macro macros.name(...)"
//	warehouse bare selects, made into tables: what is worked out of seeds and of GPUs and kernel times that were taken in
//	staging  bare selects, made into views; the first to read raw
//	marts    bare selects, made into views; they read staging, never raw
//	checks   bare selects, made into views: the rows that break a truth
//	examples the questions that an analyst asks first, with their answers in SQL: run by hand, never made into views
//
// The package only holds and lists the text, and reads the header comments that
// document it. It runs nothing: internal/store/warehouse does.
package queries

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Files are the SQL texts and the seeds' rows.
//
//go:embed raw/*.sql seeds/*.sql macros/*.sql warehouse/*.sql staging/*.sql marts/*.sql checks/*.sql examples/*.sql seeds/*.csv seeds/*.jsonl seeds/*.csv.gz
var Files embed.FS

// File is one embedded text.
type File struct {
	Schema string // its folder
	Name   string // its base name without the extension
	Path   string // as errors name it: queries/marts/tpot_gap.sql
	Text   string
}

// Relation is the file's name in SQL.
func (f File) Relation() string { return f.Schema + "." + f.Name }

// IsKept says that the rows of each run are computed once, when it goes in, and
// kept in a table of the view's name.
func (f File) IsKept() bool {
	return strings.Contains(f.Text, "\n-- Kept per run.\n") || f.KeptOf() != ""
}

// KeptOf is what a run must have to have rows in the kept table, so that nothing is computed for others: "steps" of its engine, "objectives"
// of an SLO, or "others" on its server. It is empty where every run may have rows.
func (f File) KeptOf() string {
	for _, what := range []string{"steps", "objectives", "others"} {
		if strings.Contains(f.Text, "\n-- Kept per run with "+what+".\n") {
			return what
		}
	}
	return ""
}

// IsHeld says that several kept views read it, and nobody else: its rows are computed once for all of these, and not kept.
func (f File) IsHeld() bool { return strings.Contains(f.Text, "\n-- Held while runs are computed.\n") }

// IsPublishedPerRun says that the published lake has the view's rows of each run as it has those of kept ones. Its rows are not kept, because
// they follow at once from those that are.
func (f File) IsPublishedPerRun() bool { return strings.Contains(f.Text, "\n-- Published per run.\n") }

// IsPublishedPerSource says that the view's rows of each source are written into the
// published lake.
func (f File) IsPublishedPerSource() bool {
	return strings.Contains(f.Text, "\n-- Published per source.\n")
}

// IsPublishedPerWeek says that the view's rows of each week of a service are written into the
// published lake.
func (f File) IsPublishedPerWeek() bool {
	return strings.Contains(f.Text, "\n-- Published per week of a service.\n")
}

// Views are the schemas whose files are bare selects.
var Views = []string{"staging", "marts", "checks"}

// In lists a schema's files with the extension (".sql", ".csv", ".jsonl"), by name.
func In(schema, extension string) []File {
	var found []File
	for _, file := range all() {
		if file.Schema == schema && path.Ext(file.Path) == extension {
			found = append(found, file)
		}
	}
	return found
}

// Migration is a numbered change of the raw tables.
type Migration struct {
	Number int
	File
}

// Migrations lists them by number. A file of raw/ without a number, or with a
// number that leaves a hole, is an error of the source tree.
func Migrations() ([]Migration, error) {
	var found []Migration
	for _, file := range In("raw", ".sql") {
		digits, _, _ := strings.Cut(file.Name, "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number != len(found)+1 {
			return nil, fmt.Errorf("%s: want migration number %04d in its name", file.Path, len(found)+1)
		}
		found = append(found, Migration{number, file})
	}
	return found, nil
}

// Stamp is a fingerprint of everything that is embedded. A warehouse that
// carries the same stamp has the same seeds, macros, views and comments.
func Stamp() string { return stamp() }

// stamp keeps no text: most verbs ask for it and for nothing else here.
var stamp = sync.OnceValue(func() string {
	sum := sha256.New()
	each(func(name string, text []byte) {
		fmt.Fprintf(sum, "queries/%s\x00%d\x00", name, len(text))
		sum.Write(text)
	})
	return hex.EncodeToString(sum.Sum(nil))
})

// all lists the embedded files by path. They are read once: a walk copies every text, the seeds' megabytes too.
var all = sync.OnceValue(func() []File {
	var found []File
	each(func(name string, text []byte) {
		base := path.Base(name)
		found = append(found, File{
			Schema: path.Dir(name),
			Name:   strings.TrimSuffix(base, path.Ext(base)),
			Path:   "queries/" + name,
			Text:   string(text),
		})
	})
	return found
})

// each reads the embedded files by path.
func each(read func(name string, text []byte)) {
	err := fs.WalkDir(Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := Files.ReadFile(name)
		read(name, text)
		return err
	})
	if err != nil {
		panic(err) // an embedded file system cannot fail to be read
	}
}
