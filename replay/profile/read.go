package profile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// wrong is an error of a profile at a line.
type wrong struct {
	line int
	text string
}

func (w *wrong) Error() string { return fmt.Sprintf("line %d: %s", w.line, w.text) }

func wrongAt(node *yaml.Node, format string, args ...any) error {
	return &wrong{node.Line, fmt.Sprintf(format, args...)}
}

// fields read the values of a mapping by their keys.
type fields map[string]func(where string, node *yaml.Node) error

// read takes a mapping apart; a key that is not among the fields is an error.
func (f fields) read(where string, node *yaml.Node) error {
	node = followed(node)
	if node.Kind != yaml.MappingNode {
		return wrongAt(node, "%smust be a mapping with %s", prefixed(where), f.names())
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		read, known := f[key.Value]
		switch {
		case !known:
			return wrongAt(key, "%sunknown key %q; known are %s", prefixed(where), key.Value, f.names())
		case seen[key.Value]:
			return wrongAt(key, "%skey %q is there twice", prefixed(where), key.Value)
		}
		seen[key.Value] = true
		if err := read(joined(where, key.Value), followed(value)); err != nil {
			return err
		}
	}
	return nil
}

func (f fields) names() string { return strings.Join(slices.Sorted(maps.Keys(f)), ", ") }

func followed(node *yaml.Node) *yaml.Node {
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

// each reads the entries of a list.
func each(read func(where string, node *yaml.Node) error) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
			return wrongAt(node, "%s: must be a list of at least one", where)
		}
		for i, entry := range node.Content {
			if err := read(fmt.Sprintf("%s[%d]", where, i), followed(entry)); err != nil {
				return err
			}
		}
		return nil
	}
}

func text(into *string) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		if node.Kind != yaml.ScalarNode || strings.TrimSpace(node.Value) == "" {
			return wrongAt(node, "%s: must be text", where)
		}
		*into = strings.TrimSpace(node.Value)
		return nil
	}
}

// oneOf takes one of a few words.
func oneOf(into *string, words ...string) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		if !slices.Contains(words, node.Value) {
			return wrongAt(node, "%s: %q: must be %s", where, node.Value, strings.Join(words, ", "))
		}
		*into = node.Value
		return nil
	}
}

func flag(into *bool) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		if node.Kind != yaml.ScalarNode || node.Decode(into) != nil {
			return wrongAt(node, "%s: must be true or false", where)
		}
		return nil
	}
}

// number takes a finite number that fits.
func number(into *float64, fits func(float64) bool, wants string) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		value, err := strconv.ParseFloat(node.Value, 64)
		if node.Kind != yaml.ScalarNode || err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return wrongAt(node, "%s: %q is not a number", where, node.Value)
		}
		if !fits(value) {
			return wrongAt(node, "%s: %s: must be %s", where, node.Value, wants)
		}
		*into = value
		return nil
	}
}

// from takes numbers between two, bounds included.
func from(least, most float64) (fits func(float64) bool, wants string) {
	return func(v float64) bool { return v >= least && v <= most }, fmt.Sprintf("from %s to %s", exact(least), exact(most))
}

func above0(v float64) bool    { return v > 0 }
func notBelow0(v float64) bool { return v >= 0 }

// count takes a whole number from 1 to maxTokens.
func count[T int | int64](into *T) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		value, err := strconv.ParseInt(node.Value, 10, 32)
		if node.Kind != yaml.ScalarNode || err != nil || value < 1 || value > maxTokens {
			return wrongAt(node, "%s: %q: must be a whole number from 1 to %d", where, node.Value, maxTokens)
		}
		*into = T(value)
		return nil
	}
}

// lasting takes a duration such as 90s or 1h30m.
func lasting(into *time.Duration) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		value, err := time.ParseDuration(node.Value)
		if err != nil || value <= 0 {
			return wrongAt(node, "%s: %q: must be a duration above 0, such as 10m", where, node.Value)
		}
		*into = value
		return nil
	}
}

const day = 24 * time.Hour

// timeOfDay takes 09:30, up to 24:00.
func timeOfDay(into *time.Duration) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		hours, minutes, found := strings.Cut(node.Value, ":")
		h, errH := strconv.ParseUint(hours, 10, 8)
		m, errM := strconv.ParseUint(minutes, 10, 8)
		value := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
		if !found || errH != nil || errM != nil || m > 59 || value > day {
			return wrongAt(node, `%s: %q: must be a time of day, such as "09:30"`, where, node.Value)
		}
		*into = value
		return nil
	}
}
