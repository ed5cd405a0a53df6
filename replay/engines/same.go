package engines

import (
	"regexp"
	"strconv"
	"strings"
)

// Formats need care: servers say "torch.bfloat16", "fp8_e4m3" or the name of a kernel for what users call bf16 and fp8. Only names that mean
// one format on both sides may differ; where it cannot be told, nothing is said.

// IsSame compares what was asked of a setting with what a server says, as the setting wants it.
func IsSame(field, asked, said string) bool {
	switch field {
	case "quantization", "kv_cache_dtype":
		return sameFormat(asked, said)
	case "engine_version": // 0.24 is any 0.24
		return strings.HasPrefix(said+".", asked+".")
	case "catalog_model":
		return strings.HasPrefix(asked, "{") || strings.EqualFold(asked, said) // a model by its config alone has no name to compare
	}
	a, notA := strconv.ParseFloat(asked, 64)
	b, notB := strconv.ParseFloat(said, 64)
	if notA == nil && notB == nil {
		return a == b // 0.90 is 0.9
	}
	return strings.EqualFold(asked, said)
}

// formats are those that mean one thing; others (compressed-tensors, awq_marlin) name a file's layout or a kernel, and may
// hold what was asked for.
var formats = regexp.MustCompile(`^(bf16|fp16|fp32|fp8|int8|mxfp4|nvfp4)$`)

// sameFormat does not call different what cannot be told apart.
func sameFormat(asked, said string) bool {
	asked, said = plainFormat(asked), plainFormat(said)
	return asked == said || !formats.MatchString(asked) || !formats.MatchString(said)
}

var formatEnds = regexp.MustCompile(`^torch\.|_e[45]m[23](fn)?$`)

// plainFormat writes torch.bfloat16, bfloat16 and bf16 alike, and drops the layout of fp8 (e4m3, e5m2).
func plainFormat(name string) string {
	return strings.NewReplacer("bfloat", "bf", "float", "fp").Replace(formatEnds.ReplaceAllString(strings.ToLower(name), ""))
}
