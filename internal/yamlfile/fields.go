package yamlfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/hint"
)

// Field reads one value. where is its path for errors, such as classes[0].share.
type Field = func(where string, node *Node) error

// Fields read the values of a mapping by their keys.
type Fields map[string]Field

// ReadWith is Read for a mapping that must have some of the keys.
func (f Fields) ReadWith(where string, node *Node, required ...string) error {
	if err := f.Read(where, node); err != nil {
		return err
	}
	return Require(where, Resolved(node), required...)
}

// Read calls the reader of each key that the mapping has. An unknown key and a key given twice are errors.
func (f Fields) Read(where string, node *Node) error {
	node = Resolved(node)
	if node.Kind != yaml.MappingNode {
		return Errorf(node, "%smust be a mapping with %s", prefixed(where), f.Names())
	}
	if where == "" && f.isStrange(node) { // it may be any file: nothing of it is shown
		return Errorf(node, "has none of the keys %s", f.Names())
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		read, known := f[key.Value]
		switch {
		case !known && hint.Unmodelled(key.Value) != "":
			return Errorf(key, "%s%s: %s is not modelled; %s", prefixed(where), key.Value, hint.Unmodelled(key.Value), hint.MeasureUnmodelled)
		case !known:
			return Errorf(key, "%sunknown key %q; %sknown are %s", prefixed(where), key.Value, f.meant(key.Value), f.Names())
		case seen[key.Value]:
			return Errorf(key, "%skey %q is there twice", prefixed(where), key.Value)
		}
		seen[key.Value] = true
		if err := read(joined(where, key.Value), Resolved(value)); err != nil {
			return err
		}
	}
	return nil
}

// Names are the known keys in alphabetical order.
func (f Fields) Names() string { return strings.Join(f.keys(), ", ") }

// isStrange says that not one key of a file is known.
func (f Fields) isStrange(root *Node) bool {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if f[root.Content[i].Value] != nil {
			return false
		}
	}
	return len(root.Content) > 0
}

func (f Fields) keys() []string { return slices.Sorted(maps.Keys(f)) }

// meant names the keys that an unknown one resembles.
func (f Fields) meant(unknown string) string {
	if meant := hint.DidYouMean(f.keys(), unknown); meant != "" {
		return meant + " "
	}
	return ""
}

// Require reports the first of the keys that a mapping lacks.
func Require(where string, node *Node, keys ...string) error {
	has := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		has[node.Content[i].Value] = true
	}
	for _, key := range keys {
		if !has[key] {
			return Errorf(node, "%s: is missing", joined(where, key))
		}
	}
	return nil
}

// Resolved is the value that an alias stands for.
func Resolved(node *Node) *Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func joined(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

func prefixed(where string) string {
	if where == "" {
		return ""
	}
	return where + ": "
}

// Each reads the entries of a list, which must have one at least.
func Each(read Field) Field {
	return func(where string, node *Node) error {
		if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
			return Errorf(node, "%s: must be a list of at least one", where)
		}
		for i, entry := range node.Content {
			if err := read(fmt.Sprintf("%s[%d]", where, i), Resolved(entry)); err != nil {
				return err
			}
		}
		return nil
	}
}

// Text reads a scalar that is not blank.
func Text(into *string) Field {
	return func(where string, node *Node) error {
		if node.Kind != yaml.ScalarNode || strings.TrimSpace(node.Value) == "" {
			return Errorf(node, "%s: must be text", where)
		}
		*into = strings.TrimSpace(node.Value)
		return nil
	}
}

// Texts reads a list of texts and appends them.
func Texts(into *[]string) Field {
	return Each(func(where string, node *Node) error {
		var text string
		err := Text(&text)(where, node)
		*into = append(*into, text)
		return err
	})
}

// OneOf reads one of a few words.
func OneOf(into *string, words ...string) Field {
	return func(where string, node *Node) error {
		if !slices.Contains(words, node.Value) {
			return Errorf(node, "%s: %q: must be %s", where, node.Value, strings.Join(words, ", "))
		}
		*into = node.Value
		return nil
	}
}

// Flag reads true or false.
func Flag(into *bool) Field {
	return func(where string, node *Node) error {
		if node.Kind != yaml.ScalarNode || node.Decode(into) != nil {
			return Errorf(node, "%s: must be true or false", where)
		}
		return nil
	}
}

// Number reads a finite number that fits; wants says in words what fits.
func Number(into *float64, fits func(float64) bool, wants string) Field {
	return func(where string, node *Node) error {
		value, err := strconv.ParseFloat(node.Value, 64)
		if node.Kind != yaml.ScalarNode || err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return Errorf(node, "%s: %q is not a number", where, node.Value)
		}
		if !fits(value) {
			return Errorf(node, "%s: %s: must be %s", where, node.Value, wants)
		}
		*into = value
		return nil
	}
}

// Between reads a number between two bounds, both included.
func Between(into *float64, least, most float64) Field {
	wants := fmt.Sprintf("from %s to %s", strconv.FormatFloat(least, 'f', -1, 64), strconv.FormatFloat(most, 'f', -1, 64))
	return Number(into, func(v float64) bool { return v >= least && v <= most }, wants)
}

// Price reads the price of a GPU-hour, in any currency. A price beyond these bounds is a slip of the pen, and its sums are no numbers.
func Price(into *float64) Field { return Between(into, 0.0001, 1_000_000) }

// Whole reads a whole number between two bounds, both included.
func Whole[T int | int64](into *T, least, most int64) Field {
	return func(where string, node *Node) error {
		value, err := strconv.ParseInt(node.Value, 10, 64)
		if node.Kind != yaml.ScalarNode || err != nil || value < least || value > most {
			return Errorf(node, "%s: %q: must be a whole number from %d to %d", where, node.Value, least, most)
		}
		*into = T(value)
		return nil
	}
}

// Duration reads a time span with its unit, such as 90s or 1h30m.
func Duration(into *time.Duration) Field {
	return func(where string, node *Node) error {
		value, err := time.ParseDuration(node.Value)
		if err != nil || value <= 0 {
			return Errorf(node, "%s: %q: must be a duration above 0, such as 10m", where, node.Value)
		}
		*into = value
		return nil
	}
}

// Map reads a mapping whose keys only the caller can know.
func Map(into *map[string]any) Field {
	return func(where string, node *Node) error {
		if err := node.Decode(into); err != nil {
			return Errorf(node, "%s: must be a mapping", where)
		}
		return nil
	}
}
