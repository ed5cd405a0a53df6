package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"unicode"
)

// sourceName makes a source's name of a file's: without its endings, in kebab
// case, and with the publisher in front where Azure's long names hide it.
// AzureLLMInferenceTrace_code.csv is azure-code, conversation_trace.jsonl is
// conversation-trace, stdin is stdin.
func sourceName(path string) string {
	if path == "-" {
		return "stdin"
	}
	name := filepath.Base(path)
	for _, ending := range []string{".gz", ".zst", ".csv", ".jsonl", ".json", ".txt", ".prom"} {
		name = strings.TrimSuffix(name, ending)
	}
	for long, short := range map[string]string{"AzureLLMInferenceTrace": "azure", "AzureLMMInferenceTrace": "azure-lmm"} {
		if rest, ok := strings.CutPrefix(name, long); ok {
			name = short + rest
		}
	}
	if kebab := kebabCase(name); kebab != "" {
		return kebab
	}
	return "trace"
}

// christen settles what the files would be called if the warehouse were empty: by
// their own names or, where several have the same, with the folder behind.
func christen(files []found, names *names) {
	alike := map[string]int{}
	for _, file := range files {
		alike[sourceName(file.path)]++
	}
	for i := range files {
		name := sourceName(files[i].path)
		for place, candidate := range candidates(files[i].path, name) {
			if place == 0 && alike[name] > 1 {
				continue
			}
			if names.claim(candidate, files[i].path) {
				files[i].name = candidate
				break
			}
		}
	}
}

// candidates are a file's names, the best first, without an end. What tells them apart comes last, so that a pattern
// such as chat-* finds them all.
func candidates(path, name string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		longer := name
		if absolute, err := filepath.Abs(path); err == nil && path != "-" {
			longer = strings.Trim(name+"-"+kebabCase(filepath.Base(filepath.Dir(absolute))), "-")
		}
		if !yield(0, name) || !yield(1, longer) {
			return
		}
		for number := 2; yield(number, fmt.Sprintf("%s-%d", longer, number)); number++ {
		}
	}
}

// free is the name that the file is to have or, where another file has taken
// that and this one is one of many, the next of its candidates.
func (n *names) free(ctx context.Context, db rowQuerier, file found, name string) (string, error) {
	taken := nameIsFree(ctx, db, name)
	if taken == nil || !file.isOneOfMany || !errors.Is(taken, errNameTaken) {
		return name, taken
	}
	for _, free := range candidates(file.path, sourceName(file.path)) {
		if !n.claim(free, file.path) {
			continue
		}
		if err := nameIsFree(ctx, db, free); err == nil || !errors.Is(err, errNameTaken) {
			return free, err
		}
	}
	panic("unreachable: numbers do not end")
}

func kebabCase(name string) string {
	var kebab strings.Builder
	before := '-'
	for _, c := range name {
		switch {
		case unicode.IsUpper(c) && unicode.IsLower(before):
			kebab.WriteByte('-')
			kebab.WriteRune(unicode.ToLower(c))
		case unicode.IsLetter(c) || unicode.IsDigit(c) || c == '.':
			kebab.WriteRune(unicode.ToLower(c))
		case before != '-':
			c = '-'
			kebab.WriteByte('-')
		default:
			c = '-'
		}
		before = c
	}
	return strings.Trim(kebab.String(), "-.")
}
