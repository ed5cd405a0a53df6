package ingest

import (
	"context"
	"errors"
	"fmt"
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
	for _, ending := range []string{".gz", ".zst", ".csv", ".jsonl", ".json", ".txt"} {
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

// freeName is the file's name or, where another file of many has taken that, one
// with the folder in front, or a number behind. The note says so.
func freeName(ctx context.Context, db rowQuerier, file found, name string) (free, note string, err error) {
	taken := nameIsFree(ctx, db, name)
	var is nameTaken
	if taken == nil || !file.isOneOfMany || !errors.As(taken, &is) {
		return name, "", taken
	}
	longer := name
	if absolute, err := filepath.Abs(file.path); err == nil && file.path != "-" {
		longer = strings.Trim(kebabCase(filepath.Base(filepath.Dir(absolute)))+"-"+name, "-")
	}
	free = longer
	for number := 2; ; number++ {
		err := nameIsFree(ctx, db, free)
		if err == nil {
			return free, fmt.Sprintf("called %s: %v", free, taken), nil
		}
		if !errors.As(err, &is) {
			return name, "", err
		}
		free = fmt.Sprintf("%s-%d", longer, number)
	}
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
