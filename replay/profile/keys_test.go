package profile

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/proof/must"
)

// The file of all keys has them all: an unknown key in each of its mappings brings up those that are known there.
func TestTheFileOfAllKeysHasThemAll(t *testing.T) {
	var document yaml.Node
	must.Do(t, yaml.Unmarshal(Keys(), &document))
	complaint := func() string {
		content := must.Get(yaml.Marshal(&document))(t)
		if _, err := Parse("keys", content); err != nil {
			return err.Error()
		}
		return ""
	}
	knownHere := regexp.MustCompile(`unknown key "xyz"; known are (.*)`)
	used := map[string][]string{} // known keys -> those that are there
	each := func(node *yaml.Node) {
		whole := node.Content
		node.Content = append([]*yaml.Node{scalar("xyz"), scalar("1")}, whole...)
		if known := knownHere.FindStringSubmatch(complaint()); known != nil {
			for i := 0; i < len(whole); i += 2 {
				used[known[1]] = append(used[known[1]], whole[i].Value)
			}
		}
		node.Content = whole
	}
	wordsHere := regexp.MustCompile(`"xyz": must be (.*)`)
	word := func(key string, node *yaml.Node) {
		value := node.Value
		node.Value = "xyz"
		if words := wordsHere.FindStringSubmatch(complaint()); words != nil {
			for word := range strings.SplitSeq(words[1], ", ") {
				if !regexp.MustCompile(`\b` + word + `\b`).Match(Keys()) {
					t.Errorf("%s: %s is not there", key, word)
				}
			}
		}
		node.Value = value
	}
	walk(document.Content[0], each, word)
	if len(used) < 15 {
		t.Fatalf("only %d kinds of mappings: %v", len(used), used)
	}
	isKind := func(known string) bool { return strings.HasPrefix(known, "constant") }
	var kinds []string // of distributions: not every kind is shown of every quantity
	for known, there := range used {
		if isKind(known) {
			kinds = append(kinds, there...)
		}
	}
	for known, there := range used {
		if isKind(known) {
			there = kinds
		}
		for key := range strings.SplitSeq(known, ", ") {
			if !slices.Contains(there, key) && !strings.Contains(string(Keys()), "# "+key+":") {
				t.Errorf("%s is not there; known beside it are %s", key, known)
			}
		}
	}
}

func scalar(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

func walk(node *yaml.Node, mapping func(*yaml.Node), word func(key string, value *yaml.Node)) {
	if node.Kind == yaml.MappingNode {
		mapping(node)
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i].Value; slices.Contains([]string{"mode", "process", "history", "popularity"}, key) {
				word(key, node.Content[i+1])
			}
		}
	}
	for _, child := range node.Content {
		walk(child, mapping, word)
	}
}

// It is what it says: it can be drawn, together and each class alone.
func TestTheFileOfAllKeysCanBeDrawn(t *testing.T) {
	p := must.Get(Parse("keys", Keys()))(t)
	lengths := func(name string) (Lengths, error) {
		l, err := production(name)
		for hour := range l.Hours {
			l.Hours[hour] = l.Pairs
		}
		return l, err
	}
	all := []*Profile{p}
	for _, c := range p.Classes {
		only := must.Get(p.Only(c.Name))(t)
		all = append(all, only)
	}
	for _, p := range all {
		figures, err := p.Measure(Options{Seed: 1, Duration: 24 * time.Hour, Limit: 200, Lengths: lengths})
		if err != nil || len(figures) == 0 {
			t.Errorf("%d classes, %s: %v", len(p.Classes), p.Classes[0].Name, err)
		}
	}
}
