package profile

import (
	"embed"
	"slices"
	"strings"
)

//go:embed examples/*.yaml
var examples embed.FS

//go:embed keys.yaml
var keys []byte

// Keys is a profile with every key and every kind of distribution, with
// comments on each.
func Keys() []byte { return slices.Clone(keys) }

// Builtins are the names of the profiles that come with the program, in order.
func Builtins() []string {
	var names []string
	entries, _ := examples.ReadDir("examples") // embedded: it is there
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Builtin is the built-in profile of that name; false where there is none.
func Builtin(name string) (*Profile, bool) {
	content, ok := BuiltinText(name)
	if !ok {
		return nil, false
	}
	p, err := Parse(name, content)
	if err != nil {
		panic(err) // a test reads each
	}
	return p, true
}

// BuiltinText is the file of a built-in profile.
func BuiltinText(name string) ([]byte, bool) {
	content, err := examples.ReadFile("examples/" + name + ".yaml")
	return content, err == nil
}
