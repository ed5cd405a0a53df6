package yamlfile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Node is a value in the file. Its Line counts from 1.
type Node = yaml.Node

// maxNodes is the size of a file with its aliases written out. Ten lines of aliases of aliases ("billion laughs") can
// stand for more values than memory holds. The largest honest file, a profile with a cell per observed pair of lengths,
// has some hundred thousand.
const maxNodes = 4_000_000

// Parse returns the root of the file's only document.
func Parse(content []byte) (*Node, error) {
	if err := checkCharacters(content); err != nil {
		return nil, err
	}
	var document, second Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&document)
	if err == io.EOF || err == nil && len(document.Content) == 0 {
		return nil, errorAt(1, "the file is empty")
	}
	if err != nil {
		return nil, located(content, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, Errorf(&second, "a second document starts here; a file holds one")
	case err != io.EOF:
		return nil, located(content, err)
	}
	root := document.Content[0]
	if expanded(root, map[*Node]int{}) > maxNodes {
		return nil, Errorf(root, "its aliases stand for more than %d values", maxNodes)
	}
	return root, nil
}

// Errorf is an error at a node's line; %w keeps a cause and its hint.
func Errorf(node *Node, format string, args ...any) error { return errorAt(node.Line, format, args...) }

func errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
}

// checkCharacters refuses bytes that YAML forbids. The library refuses them too, but without a line.
func checkCharacters(content []byte) error {
	line := 1
	for rest := bytes.TrimPrefix(content, []byte("\ufeff")); len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return errorAt(line, "not UTF-8")
		case r == '\n':
			line++
		case unicode.IsControl(r) && r != '\t' && r != '\r' && r != '\u0085':
			return errorAt(line, "a control character, %U", r)
		}
		rest = rest[size:]
	}
	return nil
}

// expanded counts the nodes below one, those behind aliases too, and stops counting soon after maxNodes. Each node is
// visited once: sizes holds what is known. A node that contains itself counts as too many.
func expanded(node *Node, sizes map[*Node]int) int {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if size, known := sizes[node]; known {
		return size
	}
	sizes[node] = maxNodes + 1 // until the sum is known: an alias back to here makes the file endless
	sum := 1
	for _, child := range node.Content {
		sum = min(sum+expanded(child, sizes), maxNodes+1)
	}
	sizes[node] = sum
	return sum
}

// located puts the line of the library's error right. The library counts lines from 0 for errors of its parser, omits
// the line where it is the first, and reports a tab at the line of the entry above it.
func located(content []byte, err error) error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if number, after, found := strings.Cut(strings.TrimPrefix(text, "line "), ": "); found && strings.HasPrefix(text, "line ") {
		line, _ = strconv.Atoi(number)
		if text = after; isOfParser(text) {
			line = min(line+1, 1+bytes.Count(bytes.TrimRight(content, "\n"), []byte("\n"))) // it may lie beyond the end
		}
	}
	if name, found := strings.CutPrefix(text, "unknown anchor '"); found {
		before, _, _ := bytes.Cut(content, []byte("*"+strings.TrimSuffix(name, "' referenced")))
		line = 1 + bytes.Count(before, []byte("\n"))
	}
	if strings.Contains(text, "tab character") || strings.Contains(text, "cannot start any token") {
		if tab := tabbed(content, line); tab > 0 {
			return errorAt(tab, "starts with a tab; indent with spaces")
		}
	}
	return errorAt(line, "%s", text)
}

// isOfParser tells the parser's errors (lines from 0) from the scanner's (lines from 1) by their words.
func isOfParser(text string) bool {
	for _, start := range []string{"',' or ", "key", "'-' indicator", "node content", "<"} {
		if strings.HasPrefix(text, "did not find expected "+start) {
			return true
		}
	}
	return strings.HasPrefix(text, "found undefined tag handle")
}

// tabbed is the first line, from the given one on, that a tab indents; 0 if there is none. A tab in an empty line or in
// front of a comment is allowed.
func tabbed(content []byte, from int) int {
	for i, line := range bytes.Split(content, []byte("\n")) {
		text := bytes.TrimLeft(line, " \t\r")
		if i+1 >= from && len(text) > 0 && text[0] != '#' && bytes.ContainsRune(line[:len(line)-len(text)], '\t') {
			return i + 1
		}
	}
	return 0
}
