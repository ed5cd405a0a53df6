package engines

import (
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// unmodelledIn are the techniques that settings switch on and that no model here has, by name. Keys are switches alone: many
// others of the same techniques have values where the technique is off.
func unmodelledIn(settings map[string]any, switches ...string) string {
	var techniques []string
	for _, key := range switches {
		technique := hint.Unmodelled(key)
		if connector, is := settings[key].(map[string]any); is && key == "kv_transfer_config" { // to another server, or to other memory
			if settings[key] = wordIn(connector["kv_connector"]); hint.Unmodelled(wordIn(settings[key])) != "" {
				technique = hint.Unmodelled(wordIn(settings[key]))
			}
		}
		if isOn(settings[key]) && !slices.Contains(techniques, technique) {
			techniques = append(techniques, technique)
		}
	}
	return strings.Join(techniques, ", ")
}

// isOn says that a setting is neither absent nor what stands for "off" there.
func isOn(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case string:
		return !slices.Contains([]string{"", "null", "None", "False", "0"}, v)
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}
