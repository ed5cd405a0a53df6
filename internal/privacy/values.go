//go:build duckdb_arrow

package privacy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tidemark/internal/lazy"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

var (
	labelValue = lazy.Regexp(`="([^"]*)"`)
	// Devices have long names, such as "NVIDIA RTX PRO 6000 Blackwell Server
	// Edition".
	deviceName = lazy.Regexp(`^(NVIDIA|AMD|Intel|Google|AWS|Tesla|Quadro|GeForce)\b`)
)

const mostWordsOfADevice = 9

// valueProblem says why a setting, a label or a name that another tool wrote
// may not leave; it is empty where it may. A command line that a benchmark
// recorded can hold an API key, and a run's name can hold a person's.
func valueProblem(value string) string {
	most := mostWords
	if deviceName().MatchString(value) {
		most = mostWordsOfADevice
	}
	switch {
	case looksSecret(value) || isRandom(value):
		return "something that looks like a key or a password"
	case strings.Contains(value, "://"):
		return "a web address"
	case strings.Contains(value, "@"):
		return "an address or a name"
	case len(strings.Fields(value)) > most:
		return fmt.Sprintf("more than %d words", most)
	}
	return ""
}

// inspectValues examines each different text of a column by itself. The
// findings are counted by their reason and never quoted.
func (s *subject) inspectValues(ctx context.Context, w *warehouse.Warehouse, name, kind, theirs string, args ...any) error {
	table, column, _ := strings.Cut(name, ".")
	values, err := warehouse.Values[string](ctx, w.DB(), fmt.Sprintf("select distinct %[1]s::varchar from raw.%[2]s where %[3]s and %[1]s is not null", column, table, theirs), args...)
	if err != nil {
		return err
	}
	found := map[string]int{}
	for _, value := range values {
		if column == "class" {
			if value != "" && !isWord(value) {
				found["a text, an address or a key instead of a word"]++
			}
			continue
		}
		for _, part := range partsOf(value, kind, column) {
			if problem := valueProblem(part); problem != "" {
				found[problem]++
				break
			}
		}
	}
	for problem, n := range found {
		s.foreign = append(s.foreign, fmt.Sprintf("%s: %s with %s", name, show.Things(n, "value", "values"), problem))
	}
	if len(values) > 0 && kind == measured {
		s.columns = append(s.columns, textColumn{name: name, values: int64(len(values)), mayBeLong: true})
	}
	return nil
}

// partsOf are the texts inside a value: the values of labels, the leaves of
// settings with their names, otherwise the value itself.
func partsOf(value, kind, column string) (parts []string) {
	switch {
	case kind == someLabel:
		for _, match := range labelValue().FindAllStringSubmatch(value, -1) {
			parts = append(parts, match[1])
		}
	case column == "settings":
		var document any
		if json.Unmarshal([]byte(value), &document) != nil {
			return []string{value}
		}
		leaves("", document, &parts)
	default:
		parts = []string{value}
	}
	return parts
}

// leaves collects the names and texts of a JSON document. A text is also
// examined together with its name, because "password" may stand in one and the
// word itself in the other.
func leaves(name string, value any, parts *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			*parts = append(*parts, key)
			leaves(key, inner, parts)
		}
	case []any:
		for _, inner := range v {
			leaves(name, inner, parts)
		}
	case string:
		*parts = append(*parts, v)
		if looksSecret(name + "=" + v) {
			*parts = append(*parts, name+"="+v)
		}
	}
}

// inspectDocuments counts the files that the warehouse keeps byte by byte, in
// their authors' own words, and looks for keys and passwords in them.
func (s *subject) inspectDocuments(ctx context.Context, w *warehouse.Warehouse, sources string, args ...any) error {
	secrets := 0
	err := warehouse.Each(ctx, w.DB(), "select content from raw.documents where source_id in ("+sources+")", args, func(scan func(...any) error) error {
		var content []byte
		err := scan(&content)
		s.documents++
		if looksSecret(string(content)) {
			secrets++
		}
		return err
	})
	if secrets > 0 {
		s.foreign = append(s.foreign, fmt.Sprintf("documents.content: %s something that looks like a key or a password", show.Things(secrets, "file holds", "files hold")))
	}
	return err
}
