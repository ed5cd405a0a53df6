package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/userfile"
)

const schema = "tidemark.experiment/1"

// File is an experiment as its author wrote it.
type File struct {
	Schema     string `yaml:"schema"`
	Name       string `yaml:"name"`
	Hypothesis string `yaml:"hypothesis"` // what the rows are to show
	Send       string `yaml:"send"`       // a source, a profile or a plan
	// Options are flags of replay, by their names without dashes; the same for all rows.
	Options  map[string]any `yaml:"options"`
	Variable string         `yaml:"variable"` // the option that the rows set; empty where each row names its own
	Rows     []yaml.Node    `yaml:"rows"`     // a value of Variable each, or a map of options
	Repeats  int            `yaml:"repeats"`  // of each row; default 1
	SLO      string         `yaml:"slo"`      // path of an SLO file
	// StopAfterNotMet ends the experiment after so many rows in a row that did not meet the SLO; 0: never.
	StopAfterNotMet int `yaml:"stop_after_not_met"`
	// Before is a program with its arguments, run before each row: it may start the server again with other flags.
	// "{value}" stands for the row's value.
	Before []string `yaml:"before"`

	SHA256 string `yaml:"-"` // of the file's bytes, in hex
	rows   []row
}

// row is one row: what it sets, and what it is called.
type row struct {
	value   string
	options map[string]any
}

// Step is one repeat of one row.
type Step struct {
	Row, Repeat int
	Value       string
	// Options are those of the experiment and of the row, by name.
	Options map[string]any
}

// Read reads and checks an experiment.
func Read(path string) (File, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return File{}, fmt.Errorf("experiment: %w", err)
	}
	f, err := Parse(text)
	if err != nil {
		return f, fmt.Errorf("experiment %s: %w", path, err)
	}
	return f, nil
}

// Parse reads an experiment's text; a key that is not known is an error.
func Parse(text []byte) (File, error) {
	f := File{Repeats: 1}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return f, plainly(err)
	}
	if decoder.Decode(new(any)) != io.EOF {
		return f, errors.New("a second document begins in it: one experiment, one file")
	}
	sum := sha256.Sum256(text)
	f.SHA256 = hex.EncodeToString(sum[:])
	return f, f.settle()
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongType  = regexp.MustCompile("cannot unmarshal !!(\\S+) (`[^`]*` )?into (\\S+)")
)

// plainly says what is wrong in the words of the file, not of the program.
func plainly(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
	text = unknownKey.ReplaceAllString(text, `no key is called "$1"`)
	text = wrongType.ReplaceAllString(text, "${2}is not what belongs here")
	return errors.New(strings.ReplaceAll(text, "\n  ", "; "))
}

// New is an experiment that was not written down: rows of one variable, each once.
func New(name, hypothesis, send, variable string, values []string, options map[string]any) (File, error) {
	f := File{Schema: schema, Repeats: 1, Name: name, Hypothesis: hypothesis, Send: send, Variable: variable, Options: options}
	for _, value := range values {
		f.Rows = append(f.Rows, yaml.Node{Kind: yaml.ScalarNode, Value: value, Tag: "!!str"})
	}
	return f, f.settle()
}

func (f *File) settle() error {
	for _, must := range []struct {
		isMissing bool
		what      string
	}{
		{f.Schema != schema, fmt.Sprintf("schema: must be %s", schema)},
		{f.Name == "", "name: missing"},
		{strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.HasPrefix(f.Name, "."),
			"name: small letters, digits, - _ and . only: it names files"},
		{f.Hypothesis == "", "hypothesis: missing: say what the rows are to show"},
		{f.Send == "", "send: missing: name a source, a profile or a plan"},
		{len(f.Rows) == 0, "rows: none"},
		{f.Repeats < 1, "repeats: must be at least 1"},
		{f.StopAfterNotMet < 0, "stop_after_not_met: must not be negative"},
		{f.StopAfterNotMet > 0 && f.SLO == "", "stop_after_not_met: needs an slo to be met"},
	} {
		if must.isMissing {
			return errors.New(must.what)
		}
	}
	for i := range f.Rows {
		r, err := f.row(&f.Rows[i])
		if err != nil {
			return fmt.Errorf("rows: line %d: %w", f.Rows[i].Line, err)
		}
		f.rows = append(f.rows, r)
	}
	return f.checkRows()
}

func (f *File) row(node *yaml.Node) (row, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		if f.Variable == "" {
			return row{}, errors.New("a value alone, but no variable says of what")
		}
		return row{node.Value, map[string]any{f.Variable: node.Value}}, nil
	case yaml.MappingNode:
		r := row{options: map[string]any{}}
		if err := node.Decode(&r.options); err != nil {
			return r, err
		}
		return r, nil
	}
	return row{}, errors.New("a row is a value or a map of options")
}

// checkRows names the rows that name their own options, and refuses rows that do not differ.
func (f *File) checkRows() error {
	seen := map[string]bool{}
	for i := range f.rows {
		r := &f.rows[i]
		if r.value == "" {
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(r.options)) {
				parts = append(parts, fmt.Sprintf("%s=%v", name, r.options[name]))
			}
			r.value = strings.Join(parts, " ")
		}
		if seen[r.value] {
			return fmt.Errorf("rows: %q twice: repeats says how often a row is done", r.value)
		}
		seen[r.value] = true
		for name := range r.options {
			if _, also := f.Options[name]; also {
				return fmt.Errorf("rows: %s is varied and among the options too", name)
			}
		}
	}
	return nil
}

// Override replaces options of all rows by others of the same name.
func (f *File) Override(options map[string]any) {
	f.Options = merged(f.Options, options)
}

func merged(options, over map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, options)
	maps.Copy(all, over)
	return all
}

// Varied are the options that differ between rows. More than one is a confounded experiment: an effect cannot be laid to
// any of them.
func (f File) Varied() []string {
	names := map[string]bool{}
	for _, r := range f.rows {
		for name := range r.options {
			for _, other := range f.rows {
				if fmt.Sprint(other.options[name]) != fmt.Sprint(r.options[name]) {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Steps are all repeats of all rows, in the order in which they are done.
func (f File) Steps() []Step {
	var steps []Step
	for i, r := range f.rows {
		for repeat := range f.Repeats {
			steps = append(steps, Step{Row: i, Repeat: repeat, Value: r.value, Options: merged(f.Options, r.options)})
		}
	}
	return steps
}
