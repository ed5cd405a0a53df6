package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
)

const schema = "tidemark.experiment/1"

// File is an experiment as its author wrote it.
type File struct {
	Name       string
	Hypothesis string // what the rows are to show
	Expect     Expect // the same, where it can be judged
	Send       string // a source, a profile or a plan
	// Options are flags of replay, by their names without dashes; the same for all rows.
	Options  map[string]any
	Variable string // the option that the rows set; empty where each row names its own
	Repeats  int    // of each row; default 1
	// Alternates says that each repeat goes through all rows, in turn forwards and backwards, so that what drifts in time falls on all rows alike.
	Alternates bool
	SLO        string // path of an SLO file
	// StopAfterNotMet ends the experiment after so many rows in succession did not meet the SLO; 0:
	// never.
	StopAfterNotMet int
	// Before is a program with its arguments, run before each row. It may restart the server with
	// other flags. "{value}" stands for the row's value.
	Before []string
	SHA256 string // of the file's bytes, in hex

	rows []row
}

// row is what one row sets. A row that is written as a value alone sets the variable.
type row struct {
	value   string // also the row's name
	options map[string]any
	line    int
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

// Parse reads an experiment's text. An unknown key is an error.
func Parse(text []byte) (File, error) {
	f := File{Repeats: 1}
	root, err := yamlfile.Parse(text)
	if err == nil {
		err = f.read(root)
	}
	if err != nil {
		return f, err
	}
	sum := sha256.Sum256(text)
	f.SHA256 = hex.EncodeToString(sum[:])
	return f, f.settle()
}

// most bounds the repeats and the rows until a stop: a larger number is a typing mistake.
const most = 1_000_000

func (f *File) read(root *yamlfile.Node) error {
	var named, order string
	err := yamlfile.Fields{
		"schema":             yamlfile.OneOf(&named, schema),
		"name":               yamlfile.Text(&f.Name),
		"hypothesis":         yamlfile.Text(&f.Hypothesis),
		"expect":             f.readExpect,
		"send":               yamlfile.Text(&f.Send),
		"options":            yamlfile.Map(&f.Options),
		"variable":           yamlfile.Text(&f.Variable),
		"rows":               yamlfile.Each(f.addRow),
		"order":              yamlfile.OneOf(&order, "rows", "alternate"),
		"repeats":            yamlfile.Whole(&f.Repeats, 1, most),
		"slo":                yamlfile.Text(&f.SLO),
		"stop_after_not_met": yamlfile.Whole(&f.StopAfterNotMet, 0, most),
		"before":             yamlfile.Texts(&f.Before),
	}.Read("", root)
	if err != nil {
		return err
	}
	f.Alternates = order == "alternate"
	return yamlfile.Require("", root, "schema", "name", "hypothesis", "send", "rows")
}

// addRow reads a value of the variable, or a map of options, of which name is what the row is called.
func (f *File) addRow(where string, node *yamlfile.Node) error {
	r := row{line: node.Line}
	read := yamlfile.Text(&r.value)
	if len(node.Content) > 0 {
		read = yamlfile.Map(&r.options)
	}
	err := read(where, node)
	if name, isNamed := r.options["name"]; isNamed {
		r.value = fmt.Sprint(name)
		delete(r.options, "name")
	}
	f.rows = append(f.rows, r)
	return err
}

// New is an experiment that was not written down: rows of one variable, each once.
func New(name, hypothesis, send, variable string, values []string, options map[string]any) (File, error) {
	f := File{Repeats: 1, Name: name, Hypothesis: hypothesis, Send: send, Variable: variable, Options: options}
	for _, value := range values {
		f.rows = append(f.rows, row{value: value})
	}
	return f, f.settle()
}

// settle checks what concerns several keys at once.
func (f *File) settle() error {
	switch {
	case strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.HasPrefix(f.Name, "."):
		return errors.New("name: small letters, digits, - _ and . only: it names files")
	case f.StopAfterNotMet > 0 && f.SLO == "":
		return errors.New("stop_after_not_met: needs an slo")
	case f.StopAfterNotMet > 0 && f.Alternates:
		return errors.New("stop_after_not_met: judges whole rows, which order: alternate ends only with the last repeat")
	}
	for i := range f.rows {
		r := &f.rows[i]
		if r.options != nil {
			continue
		}
		if f.Variable == "" {
			return fmt.Errorf("line %d: rows[%d]: a value alone, and no variable says of what", r.line, i)
		}
		r.options = map[string]any{f.Variable: r.value}
	}
	if err := f.checkRows(); err != nil {
		return err
	}
	return f.checkExpect()
}

// checkRows names the rows that set options of their own, and refuses rows that do not differ:
// their runs would be mistaken for two settings.
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
			return fmt.Errorf("rows: %q twice: use repeats to do a row more than once", r.value)
		}
		seen[r.value] = true
		for name := range r.options {
			if _, also := f.Options[name]; also {
				return fmt.Errorf("rows: %s is varied, but it is among the options too", name)
			}
		}
	}
	return nil
}

// Override replaces options of all rows, such as the address of the server on this machine.
func (f *File) Override(options map[string]any) {
	f.Options = merged(f.Options, options)
}

// seedOf is the seed that the options say, else the default of "tidemark replay".
func seedOf(options map[string]any) int {
	seed, err := strconv.Atoi(fmt.Sprint(options["seed"]))
	if err != nil {
		return 1
	}
	return seed
}

// merged is a new map: rows must not share one.
func merged(options, over map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, options)
	maps.Copy(all, over)
	return all
}

// Varied are the options that differ between rows. More than one makes a confounded experiment: an
// effect cannot be attributed to either. What belongs to the address that is sent to does not count beside it.
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
	if names["base-url"] {
		delete(names, "metrics-url")
		delete(names, "replica-header")
	}
	return slices.Sorted(maps.Keys(names))
}

// Steps are all repeats of all rows, in the order in which they are done. All repeats of a row come
// before the next row, because the stop rule judges whole rows, unless rows alternate. Each repeat has a seed of its own, the same in every row: what
// is drawn anew shows how far chance reaches, and rows are compared over the same traffic. A plan file is sent as it is.
func (f File) Steps() []Step {
	var steps []Step
	for i := range f.rows {
		for repeat := range f.Repeats {
			steps = append(steps, f.step(i, repeat))
		}
	}
	if f.Alternates {
		slices.SortStableFunc(steps, func(a, b Step) int {
			return cmp.Or(cmp.Compare(a.Repeat, b.Repeat), (1-2*(a.Repeat%2))*cmp.Compare(a.Row, b.Row))
		})
	}
	return steps
}

func (f File) step(i, repeat int) Step {
	r := f.rows[i]
	options := merged(f.Options, r.options)
	if repeat > 0 && !strings.HasSuffix(f.Send, ".zst") {
		options["seed"] = seedOf(options) + repeat
	}
	return Step{Row: i, Repeat: repeat, Value: r.value, Options: options}
}
