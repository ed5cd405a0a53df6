package read

import (
	"path/filepath"
	"strings"
	"unicode"
)

// SourceName makes a source's name of a file's: without its endings, in kebab
// case, and with the publisher in front where Azure's long names hide it.
// AzureLLMInferenceTrace_code.csv is azure-code, conversation_trace.jsonl is
// conversation-trace, stdin is stdin.
func SourceName(path string) string {
	if path == "-" {
		return "stdin"
	}
	name := filepath.Base(path)
	for _, ending := range []string{".gz", ".zst", ".xz", ".csv", ".jsonl", ".json", ".txt", ".prom"} {
		name = strings.TrimSuffix(name, ending)
	}
	for long, short := range map[string]string{"AzureLLMInferenceTrace": "azure", "AzureLMMInferenceTrace": "azure-lmm"} {
		if rest, ok := strings.CutPrefix(name, long); ok {
			name = short + rest
		}
	}
	if kebab := KebabCase(name); kebab != "" {
		return kebab
	}
	return "trace"
}

func KebabCase(name string) string {
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
