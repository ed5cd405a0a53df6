package show

import "strings"

// spelled are the words of names in SQL that people write otherwise.
var spelled = map[string]string{
	"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E", "itl": "ITL", "kv": "KV", "p50": "median", "gpu": "GPU", "ok": "completed",
}

// Words writes the name of a column or a metric: p99_ttft_from_due is "p99 TTFT from due".
func Words(name string) string {
	parts := strings.Split(name, "_")
	for i, part := range parts {
		if better, ok := spelled[part]; ok {
			parts[i] = better
		}
	}
	return strings.Join(parts, " ")
}
