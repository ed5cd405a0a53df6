//go:build duckdb_arrow

package privacy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

var usual = Terms{K: 10, UserCap: 0.01}

// broken are the rules that are not met.
func broken(verdicts []Verdict) string {
	var rules []string
	for _, v := range verdicts {
		if v.Verdict == Fails {
			rules = append(rules, fmt.Sprint(v.Rule))
		}
	}
	return strings.Join(rules, " ")
}

// An export, and what is wrong with it once a line of it is changed. Rule 8 is
// broken by every change: the manifest tells of another file.
func TestEachRuleCanBeBroken(t *testing.T) {
	dated := holding(t, azureFile(t, 1500))
	blocks := holding(t, mooncakeFile(t, 1500, hashOf))
	_, plain := exported(t, dated, "plain.jsonl", optionsOf(1))
	_, prefixes := exported(t, blocks, "prefixes.jsonl", optionsOf(1))
	o := optionsOf(1)
	o.Form = "histogram"
	_, cells := exported(t, dated, "cells.csv", o)

	replace := func(pattern, with string) func([]byte) []byte {
		return func(text []byte) []byte {
			found := false
			return regexp.MustCompile(pattern).ReplaceAllFunc(text, func(old []byte) []byte {
				if found {
					return old
				}
				found = true
				return regexp.MustCompile(pattern).ReplaceAll(old, []byte(with))
			})
		}
	}
	every := func(pattern, with string) func([]byte) []byte {
		return func(text []byte) []byte { return regexp.MustCompile(pattern).ReplaceAll(text, []byte(with)) }
	}
	for _, c := range []struct {
		sentence string
		path     string
		change   func([]byte) []byte
		want     string
	}{
		{"nothing changed", plain, func(text []byte) []byte { return text }, ""},
		{"nothing changed in blocks", prefixes, func(text []byte) []byte { return text }, ""},
		{"nothing changed in cells", cells, func(text []byte) []byte { return text }, ""},
		{"a key that is not on the list", plain, replace(`\{`, `{"prompt":"hello",`), "1 8"},
		{"text where a number must be", plain, replace(`"output_tokens":\d+`, `"output_tokens":1,"turn":"first of all"`), "1 8"},
		{"a class that is a sentence", plain, every(`\}`, `,"class":"tell me of my disease"}`), "1 8"},
		{"a class of hundreds of letters", plain, every(`\}`, `,"class":"`+strings.Repeat("a", 300)+`"}`), "1 8"},
		{"a tenant by name", plain, every(`\}`, `,"tenant":"acme"}`), "2 6 8"},
		{"one id as a hash", prefixes, replace(`"blocks":\[\d+`, `"blocks":[9223372036854775807`), "2 8"},
		{"a class of one", plain, replace(`\}`, `,"class":"lonely"}`), "3 4 8"},
		{"an exact length", plain, replace(`"input_tokens":\d+`, `"input_tokens":1001`), "4 8"},
		{"one prompt longer than all", plain, replace(`"input_tokens":\d+`, `"input_tokens":102`), "4 8"},
		{"a time to the microsecond", plain, replace(`(\d)\.(\d{3}),`, `$1.${2}001,`), "5 8"},
		{"times of whole seconds", plain, every(`\.\d{3},`, `.000,`), "5 8"},
		{"a date", plain, every(`"arrival_s":\d+(\.\d{3})`, `"arrival_at":"2023-11-16T18:17:03${1}Z"`), "5 8"},
		{"a session of too many", plain, every(`\}`, `,"session_id":"0123456789abcdef"}`), "6 8"},
		{"a key twice, text in the first", plain, replace(`"output_tokens":`, `"output_tokens":"tell me of my disease","output_tokens":`), "1 8"},
		{"a class that is an address, once", plain, every(`\}`, `,"class":"john@acme.com"}`), "1 8"},
		{"a class that is a key", plain, every(`\}`, `,"class":"api-key=sk-abcdef123456"}`), "1 8"},
		{"think times to the millisecond", plain, every(`"input_tokens":(\d+)`, `"think_s":0.$1,"input_tokens":$1`), "5 8"},
		{"seconds since 1970", plain, every(`"arrival_s":(\d+)`, `"arrival_s":170000$1`), "5 8"},
		{"a column twice", cells, replace(`requests\n`, "requests,requests\n"), "error"},
		{"a column twice, in each line", cells, every(`(?m)^(.*),([^,\n]*)$`, `$1,$2,$2`), "1 8"},
		{"a count that is none", cells, replace(`(?m),\d+$`, `,NaN`), "1 3 8"},
		{"a negative count", cells, replace(`(?m),\d+$`, `,-500`), "1 3 8"},
		{"hours since 1970", cells, every(`(?m)^(\d+),(\d+),`, `17280$1,17280$2,`), "5 8"},
		{"a cell of 9", cells, replace(`(?m),\d+$`, `,9`), "3 8"},
		{"a bound off the ladder", cells, replace(`(?m),\d+,(\d+)$`, `,1001,$1`), "4 8"},
		{"a window of 17 s", cells, replace(`\n0,`, "\n17,"), "5 8"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, filepath.Base(c.path))
			for _, name := range []string{c.path + manifestEnding, strings.Replace(c.path, ".csv", ".rates.csv", 1)} {
				if text, err := os.ReadFile(name); err == nil {
					os.WriteFile(filepath.Join(folder, filepath.Base(name)), text, 0o600)
				}
			}
			must.Do(t, os.WriteFile(path, c.change(content(t, c.path)), 0o600))
			verdicts, _, err := CheckFile(path, usual)
			if c.want == "error" && err != nil {
				return
			}
			must.Do(t, err)
			if got := broken(verdicts); got != c.want {
				t.Errorf("rules %q are broken, want %q: %+v", got, c.want, verdicts)
			}
		})
	}
	o.Form, o.KeepsWeekday = "trace", true
	_, weekday := exported(t, dated, "weekday.jsonl", o)
	moved := regexp.MustCompile(`"arrival_at":"\d{4}`).ReplaceAll(content(t, weekday), []byte(`"arrival_at":"2023`))
	must.Do(t, os.WriteFile(weekday, moved, 0o600))
	if verdicts, _, err := CheckFile(weekday, usual); err != nil || broken(verdicts) != "5 8" {
		t.Errorf("dated 2023: got %v, %v; want rule 5 broken", verdicts, err)
	}
	os.Remove(plain + manifestEnding)
	if verdicts, _, err := CheckFile(plain, usual); err != nil || broken(verdicts) != "8" {
		t.Errorf("without a manifest: got %v, %v; want rule 8 broken", verdicts, err)
	}
}

// A source as it was recorded may not leave; what was exported and taken in again
// may, as the file may.
func TestSourcesOfTheWarehouse(t *testing.T) {
	w := holding(t, azureFile(t, 1500))
	take(t, w, mooncakeFile(t, 1500, hashOf), "blocks")
	for name, want := range map[string]string{"trace": "4 5 8", "blocks": "2 4 5 8"} {
		verdicts, _, err := CheckSource(t.Context(), w, name, usual)
		if err != nil || broken(verdicts) != want {
			t.Errorf("%s: got %+v, %v; want %s broken", name, verdicts, err, want)
		}
	}
	if _, _, err := CheckSource(t.Context(), w, "nobody", usual); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v, want an error that names the source", err)
	}
	// What people wrote stands out, whatever column it came by.
	must.Get(w.DB().Exec(`update raw.arrivals set class = 'please write to my mother' where source_id = 1`))(t)
	verdicts, _, err := CheckSource(t.Context(), w, "trace", usual)
	if err != nil || !strings.Contains(verdicts[0].Figures, "arrivals.class: 100 %") || strings.Contains(fmt.Sprint(verdicts), "mother") {
		t.Errorf("got %+v, %v; want rule 1 broken by arrivals.class, without the text", verdicts[0], err)
	}
}

// A column that can hold text and is in no list is not allowed, so there is none.
func TestEveryTextColumnIsKnown(t *testing.T) {
	w := openFile(t, emptyFile(t))
	found := must.Get(warehouse.Values[string](t.Context(), w.DB(), rawTextColumns))(t)
	for _, column := range found {
		if textColumns[column] == "" {
			t.Errorf("raw.%s can hold text: say in columns.go what may stand in it", column)
		}
	}
	for column := range textColumns {
		if !slices.Contains(found, column) {
			t.Errorf("columns.go lists raw.%s, which is not there", column)
		}
	}
}

// Neither key nor source, path nor day is in a byte of what was written.
func TestNothingWrittenTellsWhoseItIs(t *testing.T) {
	w := holding(t, azureFile(t, 1500))
	for _, o := range []Options{optionsOf('K'), func() Options { o := optionsOf('K'); o.Form = "histogram"; return o }()} {
		name := map[string]string{"trace": "out.jsonl", "histogram": "out.csv"}[o.Form]
		result, path := exported(t, w, name, o)
		if len(result.Written) < 2 || !strings.HasSuffix(result.Written[len(result.Written)-1], manifestEnding) {
			t.Fatalf("written: %v, want a manifest at the end", result.Written)
		}
		var sha256 string
		must.Do(t, w.DB().QueryRow("select sha256 from raw.sources").Scan(&sha256))
		for _, file := range result.Written {
			text := content(t, file)
			for _, secret := range []string{o.Key.String(), string(o.Key), "azure", "2023", sha256} {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("%s holds %q", filepath.Base(file), secret)
				}
			}
		}
		var m Manifest
		if err := json.Unmarshal(content(t, path+manifestEnding), &m); err != nil || len(m.Rules) != 8 || m.Loss == nil || m.Dropped == nil {
			t.Errorf("manifest: %+v, %v; want eight rules, the loss and what was dropped", m, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != len(result.Written) {
			t.Errorf("%d files lie there, want %d", len(left), len(result.Written))
		}
	}
}

// With noise the manifest has no exact count that would undo it.
func TestNoisyHistogram(t *testing.T) {
	w := holding(t, azureFile(t, 3000))
	o := optionsOf(6)
	o.Form, o.Epsilon, o.Delta = "histogram", 1, 1e-6
	result, path := exported(t, w, "out.csv.zst", o)
	if result.Manifest.Loss != nil || result.Manifest.Dropped != nil || result.Manifest.Parameters.Epsilon != 1 {
		t.Errorf("manifest: %+v", result.Manifest)
	}
	o.Epsilon, o.Delta = 0, 0
	_, quiet := exported(t, w, "quiet.csv", o)
	if bytes.Equal(content(t, path), content(t, quiet)) {
		t.Error("no noise was added")
	}
	if verdicts, _, err := CheckFile(path, usual); err != nil || !Passed(verdicts) {
		t.Errorf("got %+v, %v", verdicts, err)
	}
}

// Where it cannot be made, nothing is left behind.
func TestNothingLeftBehind(t *testing.T) {
	w := holding(t, azureFile(t, 1500))
	folder := t.TempDir()
	o := optionsOf(1)
	for _, bad := range []func(*Options){
		func(o *Options) { o.K = 2000 },
		func(o *Options) { o.Epsilon = 1 },
		func(o *Options) { o.KeepsWeekday, o.Tick = true, 2 },
	} {
		wrong := o
		bad(&wrong)
		must.Refuse(Export(t.Context(), w, "trace", filepath.Join(folder, "out.jsonl"), wrong))(t)
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%v was left", left)
	}
}

// What fails a rule is not written unless it is asked for, and what is there is not
// written over. A length off
// the ladder fails rule 4.
func TestWritesNeitherWhatFailsNorOver(t *testing.T) {
	w := holding(t, azureFile(t, 1500))
	path := filepath.Join(t.TempDir(), "out.jsonl")
	o := optionsOf(1)
	must.Get(Export(t.Context(), w, "trace", path, o))(t)
	before := content(t, path)
	o.Key = keyOf(2)
	if _, err := Export(t.Context(), w, "trace", path, o); err == nil || !bytes.Equal(before, content(t, path)) {
		t.Errorf("over a file that is there: got %v, want an error and the file as it was", err)
	}
	o.Force = true
	if _, err := Export(t.Context(), w, "trace", path, o); err != nil || bytes.Equal(before, content(t, path)) {
		t.Errorf("by force: got %v, want another file", err)
	}
	e := &export{Options: optionsOf(1), trace: rowsOf(t, path), output: filepath.Join(t.TempDir(), "fails.jsonl")}
	e.trace.Rows[0].Input = 1001 // not of the ladder
	for _, evenSo := range []bool{false, true} {
		e.EvenSo = evenSo
		e.result = Result{}
		result, err := e.write()
		if err != nil || result.Passed {
			t.Fatalf("got %+v, %v; want a rule broken", result, err)
		}
		if _, err := os.Stat(e.output); (err == nil) != evenSo {
			t.Errorf("even so %v: %v", evenSo, err)
		}
	}
}

// A few kilobytes of packed blank lines had no end.
func TestAFileOfBlankLinesIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	must.Do(t, os.WriteFile(path, bytes.Repeat([]byte("\n"), 1<<20), 0o600))
	if _, _, err := CheckFile(path, usual); err == nil || !strings.Contains(err.Error(), "more than 1000 blank lines") {
		t.Errorf("got %v", err)
	}
}
