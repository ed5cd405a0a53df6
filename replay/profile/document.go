package profile

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

// parsed is the only document of a file.
func parsed(content []byte) (*yaml.Node, error) {
	if err := readable(content); err != nil {
		return nil, err
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&document)
	if err == io.EOF || err == nil && len(document.Content) == 0 {
		return nil, &wrong{1, "the file is empty"}
	}
	if err != nil {
		return nil, located(content, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, &wrong{second.Line, "a second document begins here; a profile is one file"}
	case err != io.EOF:
		return nil, located(content, err)
	}
	return document.Content[0], nil
}

// readable refuses what no YAML may hold: the library says no line for it.
func readable(content []byte) error {
	line := 1
	for rest := bytes.TrimPrefix(content, []byte("\ufeff")); len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return &wrong{line, "not UTF-8"}
		case r == '\n':
			line++
		case unicode.IsControl(r) && r != '\t' && r != '\r' && r != '\u0085':
			return &wrong{line, fmt.Sprintf("a control character, %U", r)}
		}
		rest = rest[size:]
	}
	return nil
}

// located puts an error of the library at its line. The library counts lines from 0 in what its parser finds, leaves the
// line out where it is the first, and says of a tab where the entry ahead of it began.
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
			return &wrong{tab, "begins with a tab; indent with blanks"}
		}
	}
	return &wrong{line, text}
}

func isOfParser(text string) bool {
	for _, start := range []string{"',' or ", "key", "'-' indicator", "node content", "<"} {
		if strings.HasPrefix(text, "did not find expected "+start) {
			return true
		}
	}
	return strings.HasPrefix(text, "found undefined tag handle")
}

// tabbed is the first line from there on that is indented by a tab, or 0; lines without content may be.
func tabbed(content []byte, from int) int {
	for i, line := range bytes.Split(content, []byte("\n")) {
		text := bytes.TrimLeft(line, " \t\r")
		if i+1 >= from && len(text) > 0 && text[0] != '#' && bytes.ContainsRune(line[:len(line)-len(text)], '\t') {
			return i + 1
		}
	}
	return 0
}
