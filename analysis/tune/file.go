package tune

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
)

const schema = "tidemark.tune/1"

// The objectives.
const (
	MostRate  = "most_rate"
	LeastCost = "least_cost_per_accepted"
)

// caching is the one knob that the engine model knows and no deployment has.
const caching = "enable_prefix_caching"

// File is what is to be tuned, as its author wrote it.
type File struct {
	Asked
	SLO         string
	Base        deployment.Deployment
	Knobs       []Knob // in the file's order
	Constraints []Constraint
	Objectives  []string
	Server      *Server // nil: nothing is started
	Budget      Budget

	spaceLine int
	wasRanged bool // a value was searched for: it may leave nothing but the deployment
}

// Knob is a setting with the values that it may have.
type Knob struct {
	Name, Flag string
	Set        []string // of a live one: a program that changes it on a running server, with {value} among its arguments; nil: a flag sets it at the start
	Values     []string
	Range      *Range // to search for the highest value that starts; nil once it is found: it is the only value
	line       int
	field      *deployment.Field // nil: the engine model does not know it
}

// Read reads and checks a file. Paths in it are relative to it.
func Read(path string) (File, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return File{}, hint.Errorf("tune: %w", err).Hint("tidemark help tune has an example of a file")
	}
	f, err := Parse(text)
	if err != nil {
		return f, hint.AsMisuse(fmt.Errorf("tune %s: %w", path, err))
	}
	f.SLO = Beside(path, f.SLO)
	f.Locate(path, text, f.SLO)
	if s := f.Server; s != nil {
		s.Dir = filepath.Dir(path)
		programs := [][]string{s.Start, s.Stop}
		for _, k := range f.Knobs {
			programs = append(programs, k.Set)
		}
		for _, program := range programs {
			if len(program) > 0 && strings.Contains(program[0], "/") && err == nil {
				program[0], err = filepath.Abs(Beside(path, program[0]))
			}
		}
	}
	return f, err
}

// Parse reads the text of a file.
func Parse(text []byte) (File, error) {
	f := File{Objectives: []string{MostRate, LeastCost}, Budget: Budget{Load: 2 * time.Hour, Starts: 20}}
	root, err := yamlfile.Parse(text)
	if err != nil {
		return f, err
	}
	var word string
	var objectives []string
	err = yamlfile.Fields{
		"schema":      yamlfile.OneOf(&word, schema),
		"name":        yamlfile.Text(&f.Name),
		"traffic":     f.ReadTraffic,
		"slo":         yamlfile.Text(&f.SLO),
		"deployment":  f.readDeployment,
		"space":       f.readSpace,
		"live":        f.readSpace,
		"constraints": yamlfile.Each(f.addConstraint),
		"objectives": yamlfile.Each(func(where string, node *yamlfile.Node) error {
			var one string
			err := yamlfile.OneOf(&one, MostRate, LeastCost)(where, node)
			objectives = append(objectives, one)
			return err
		}),
		"server": f.readServer,
		"budget": yamlfile.Fields{"load": yamlfile.Duration(&f.Budget.Load), "starts": yamlfile.Whole(&f.Budget.Starts, 1, 1000)}.Read,
	}.Read("", root)
	if err != nil {
		return f, err
	}
	if objectives != nil {
		f.Objectives = objectives
	}
	needed := []string{"schema", "name", "traffic", "slo", "deployment", "space"}
	if len(f.Knobs) > 0 { // under live
		needed = needed[:5]
	}
	if err := yamlfile.Require("", root, needed...); err != nil {
		return f, err
	}
	// The last one varies fastest: candidates that need no other start come one after the other.
	slices.SortStableFunc(f.Knobs, func(a, b Knob) int { return min(len(a.Set), 1) - min(len(b.Set), 1) })
	for i, k := range f.Knobs {
		if slices.ContainsFunc(f.Knobs[:i], func(other Knob) bool { return other.Name == k.Name }) {
			return f, fmt.Errorf("line %d: %s: is under space and under live", k.line, k.Name)
		}
	}
	if err := f.CheckName(); err != nil {
		return f, err
	}
	if f.Base.GPU == "" || f.Base.CatalogModel == "" {
		return f, hint.Errorf("deployment: gpu and model are needed").Hint("deployment: {gpu: H100, model: llama-3.1-8b}")
	}
	for i := range f.Constraints {
		if err := f.Constraints[i].check(f.Knobs); err != nil {
			return f, err
		}
	}
	return f, nil
}

// readDeployment reads the fields of a deployment, one value each.
func (f *File) readDeployment(where string, node *yamlfile.Node) error {
	if err := DeploymentFields(&f.Base, "under space").Read(where, node); err != nil {
		return err
	}
	f.Base = f.Base.Normal()
	if err := f.Base.Check(); err != nil {
		return yamlfile.Errorf(node, "%s: %w", where, err)
	}
	return nil
}

// DeploymentFields are the keys of a deployment in a file, model for its catalog_model. Several values belong elsewhere: the error says where.
func DeploymentFields(into *deployment.Deployment, elsewhere string) yamlfile.Fields {
	fields := yamlfile.Fields{}
	for _, of := range deployment.Fields {
		set := func(where string, node *yamlfile.Node) error {
			var text string
			if len(node.Content) > 0 {
				return yamlfile.Errorf(node, "%s: has several values: what varies belongs %s", where, elsewhere)
			}
			if err := yamlfile.Text(&text)(where, node); err != nil {
				return err
			}
			if err := of.Set(into, text); err != nil {
				return yamlfile.Errorf(node, "%s: %w", where, err)
			}
			return nil
		}
		fields[of.Name] = set
		if of.Name == "catalog_model" {
			fields["model"] = set
		}
	}
	return fields
}

// fixed are fields of a deployment that no flag of a server changes.
var fixed = []string{"gpu", "catalog_model", "engine", "engine_version", "hbm_bytes_per_s", "compute_dtype"}

// readSpace reads the knobs in their order: a list of values, or for a flag that the engine model does not know {flag: --x, values: []}. What a
// running server can change, under live, is {set: [./set.sh, "{value}"], values: []}.
func (f *File) readSpace(where string, node *yamlfile.Node) error {
	f.spaceLine = node.Line
	fields, seen := yamlfile.Fields{}, []string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		if !slices.Contains(seen, name) { // a key that is there twice is refused by Read
			seen, fields[name] = append(seen, name), f.addKnob
		}
	}
	if len(seen) == 0 {
		return yamlfile.Errorf(node, "%s: is empty: name a setting and its values, such as max_num_seqs: [64, 128, 256]", where)
	}
	return fields.Read(where, node)
}

func knobNames() (names []string) {
	for _, of := range deployment.Fields {
		if !slices.Contains(fixed, of.Name) {
			names = append(names, of.Name)
		}
	}
	return append(names, caching)
}

func (f *File) addKnob(where string, node *yamlfile.Node) error {
	section, name, _ := strings.Cut(where, ".")
	k, isLive := Knob{Name: name, line: node.Line}, section == "live"
	values := node
	isKnown := slices.Contains(knobNames(), k.Name)
	if isMapping := len(node.Content) > 0 && node.Content[0].Line > 0 && node.Tag == "!!map"; isMapping {
		var err error
		if values, err = k.readMapping(where, node, isLive); err != nil {
			return err
		}
	}
	if isLive && !slices.ContainsFunc(k.Set[min(1, len(k.Set)):], func(argument string) bool { return strings.Contains(argument, valueHere) }) {
		return hint.Wrap(yamlfile.Errorf(node, "%s: no program that sets it on a running server, with %s among its arguments", where, valueHere)).
			Hint(`%s: {set: [./set.sh, "{value}"], values: [64, 128]}`, k.Name)
	}
	if !isKnown {
		if err := cmp.Or(refuseUnmodelled(where, node, k.Name), refuseUnmodelled(where, node, k.Flag)); err != nil {
			return err
		}
	}
	if !isKnown && k.Flag == "" && !isLive {
		if slices.Contains(fixed, k.Name) {
			return hint.Wrap(yamlfile.Errorf(node, "%s: no flag of a server changes it", where)).Hint("a file for each, and compare what they say")
		}
		meant := hint.DidYouMean(knobNames(), k.Name)
		return hint.Wrap(yamlfile.Errorf(node, "%s: not a setting that is known; %s", where, meant)).
			Hint("known are %s; any other flag is %s: {flag: --its-name, values: [...]}", strings.Join(knobNames(), ", "), k.Name)
	}
	if isKnown && k.Name != caching {
		of := deployment.Named(k.Name)
		k.field = &of
	}
	if k.Flag == "" && !isLive {
		k.Flag = "--" + strings.ReplaceAll(k.Name, "_", "-")
	}
	if r := k.Range; r != nil {
		if err := cmp.Or(k.checkValue(r.at(0)), k.checkValue(r.at(r.steps()))); err != nil {
			return yamlfile.Errorf(node, "%s: %w", where, err)
		}
		f.Knobs = append(f.Knobs, k)
		return nil
	}
	err := yamlfile.Each(func(where string, node *yamlfile.Node) error {
		var text string
		if err := yamlfile.Text(&text)(where, node); err != nil {
			return err
		}
		if err := k.checkValue(text); err != nil {
			return yamlfile.Errorf(node, "%s: %w", where, err)
		}
		if slices.Contains(k.Values, text) {
			return yamlfile.Errorf(node, "%s: %s is there twice", where, text)
		}
		k.Values = append(k.Values, text)
		return nil
	})(where, values)
	f.Knobs = append(f.Knobs, k)
	return err
}

// readMapping reads {flag, values}, of a live knob {set, values}, or a range.
func (k *Knob) readMapping(where string, node *yamlfile.Node, isLive bool) (values *yamlfile.Node, err error) {
	isRange := slices.ContainsFunc(node.Content, func(n *yamlfile.Node) bool { return n.Value == "search" || n.Value == "from" })
	if isRange && isLive {
		return nil, hint.Wrap(yamlfile.Errorf(node, "%s: the highest value that starts is of what a start sets", where)).Hint("under space; or list the values")
	}
	if isRange {
		return nil, k.readRange(where, node)
	}
	fields, how := yamlfile.Fields{"flag": yamlfile.Text(&k.Flag)}, "flag"
	if isLive {
		fields, how = yamlfile.Fields{"set": yamlfile.Texts(&k.Set)}, "set"
	}
	fields["values"] = func(_ string, node *yamlfile.Node) error { values = node; return nil }
	if err := fields.Read(where, node); err != nil {
		return nil, err
	}
	return values, yamlfile.Require(where, node, how, "values")
}

// valueHere is where a live knob's value goes.
const valueHere = "{value}"

// Setting is the command that sets a value of a live knob.
func (k Knob) Setting(value string) (args []string) {
	for _, argument := range k.Set {
		args = append(args, strings.ReplaceAll(argument, valueHere, value))
	}
	return args
}

func (k Knob) checkValue(text string) error {
	if k.Name == caching {
		if text != "true" && text != "false" {
			return fmt.Errorf("%q: must be true or false", text)
		}
		return nil
	}
	if k.field == nil {
		return nil
	}
	var d deployment.Deployment
	if err := k.field.Set(&d, text); err != nil {
		return err
	}
	return d.Check()
}

// Constraint is a comparison of two numbers or fields.
type Constraint struct {
	Text, left, compare, right string
	line                       int
}

func (f *File) addConstraint(where string, node *yamlfile.Node) error {
	c := Constraint{line: node.Line}
	if err := yamlfile.Text(&c.Text)(where, node); err != nil {
		return err
	}
	words := strings.Fields(c.Text)
	if len(words) != 3 || !slices.Contains([]string{">=", "<=", ">", "<", "==", "!="}, words[1]) {
		return hint.Wrap(yamlfile.Errorf(node, "%s: %q: not a comparison of two settings or numbers", where, c.Text)).Hint(`write it as "max_num_batched_tokens >= max_num_seqs", with blanks`)
	}
	c.left, c.compare, c.right = words[0], words[1], words[2]
	f.Constraints = append(f.Constraints, c)
	return nil
}

// check refuses operands that are neither a number nor a field.
func (c Constraint) check(knobs []Knob) error {
	for _, operand := range []string{c.left, c.right} {
		if _, err := strconv.ParseFloat(operand, 64); err == nil {
			continue
		}
		isKnob := slices.ContainsFunc(knobs, func(k Knob) bool { return k.Name == operand })
		isField := slices.ContainsFunc(deployment.Fields, func(of deployment.Field) bool { return of.Name == operand && of.IsNumber() })
		if !isKnob && !isField {
			return fmt.Errorf("line %d: constraints: %q: %s is no number and no setting", c.line, c.Text, operand)
		}
	}
	return nil
}

// holds says whether a candidate keeps it. What is not known excludes nothing.
func (c Constraint) holds(value func(name string) (float64, bool)) bool {
	number := func(operand string) (float64, bool) {
		if v, err := strconv.ParseFloat(operand, 64); err == nil {
			return v, true
		}
		return value(operand)
	}
	a, isA := number(c.left)
	b, isB := number(c.right)
	if !isA || !isB {
		return true
	}
	switch c.compare {
	case ">=":
		return a >= b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case "<":
		return a < b
	case "==":
		return a == b
	}
	return a != b
}
