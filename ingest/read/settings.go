package read

import (
	"encoding/json"
	"strconv"
	"strings"

	"tidemark/internal/lazy"
)

// Settings makes the JSON of a point's settings: numbers and booleans of any name,
// and words under keys that are known to take one of few words. Whatever else a
// file says in words (notes, people, keys of servers, prompts) is left out.
func Settings(of map[string]any) *string {
	kept := map[string]any{}
	for key, value := range of {
		if Word(key) == "" || strings.Contains(key, "@") {
			continue
		}
		switch value := value.(type) {
		case float64, int, int64, int32, bool, json.Number:
			kept[key] = value
		case string:
			if saysNothing().MatchString(value) || takesAWord().MatchString(key) && IsNoPlace(value) && !looksSecret().MatchString(value) {
				kept[key] = value
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil // a number that JSON cannot write, as NaN
	}
	return new(string(text))
}

// takesAWord matches keys whose words say how something was measured, by the end of
// their names.
var takesAWord = lazy.Regexp(`(?i)(^|[._ -])(` + strings.Join([]string{
	"backend", "framework", "engine", "harness", "tool", "dtype", "precision", "quant(ization)?", "format", "type", "kind", "mode", "strategy",
	"profile", "policy", "scheduler", "scheduling_policy", "dataset(_name)?", "split", "endpoint_type", "version", "image", "gpu", "gpus", "hw", "hardware",
	"accelerator", "device", "arch(itecture)?", "platform", "model", "method", "algorithm", "sampler", "distribution", "unit", "units", "task", "state",
	"status", "rate", "goodput", "seed", "role", "executor", "speculative(_model)?", "tokenizer", "commit", "(model|engine\\.[0-9]+|load)\\.name", "spec(_decoding)?", "drafter", "eviction", "router?", "direction",
	"directions", "objective", "phase", "stage", "traffic_scenario", "scenario", "api", "loader", "stop_reason", "finish_reason", "pattern", "warmup",
}, "|") + `)(_?type|_name|_mode|_id|_)?(\.[0-9]+)?$`)

// saysNothing are words that may stand under any key.
var saysNothing = lazy.Regexp(`(?i)^(true|false|none|null|auto|maximi[sz]e|minimi[sz]e|yes|no|on|off|[-+]?inf|nan|[-+]?[0-9.]+(e[-+]?[0-9]+)?)$`)

// looksSecret matches a key of a server, whatever it is called.
var looksSecret = lazy.Regexp(`(?i)(bearer\s|\bsk-|\bhf_|\bghp_|\bglpat-|\bAKIA|\beyJ|[0-9a-f]{32}|[A-Za-z0-9]{36})`)

// KeepsSecret finds a server's key in a text that would be kept as it is.
var KeepsSecret = lazy.Regexp(`(?i)(--?-?api[-_]?key[ =]+\S|authorization["']?\s*[:=]\s*\S|bearer\s+[A-Za-z0-9._-]{8}|\bsk-[A-Za-z0-9_-]{6}|\bhf_[A-Za-z0-9]{8}|\bghp_[A-Za-z0-9]{8}|(api[-_]?key|secret|password)["']?\s*[:=]\s*["']?[^\s"']{4})`)

// notSettings matches keys of settings that name people, places or secrets, or hold
// texts.
var notSettings = lazy.Regexp(`(?i)(^|[._-])(api_?key|token|secret|password|authorization|headers?|user(name)?|url|base_url|target|host(name)?|address|description|keywords|labels?|prompt|path|cwd|cmd|command|str|envars|environ|location|email|node|namespace|proxy|logs?|id_?|uid|cid|eid|pid)$`)

// Flatten puts what a tree says about how something was measured into settings,
// under dotted keys: numbers, booleans and words. Places on disks and in networks
// are left out.
func Flatten(into map[string]any, prefix string, value any) {
	const enough, deep = 400, 8
	if len(into) >= enough || strings.Count(prefix, ".") >= deep {
		return
	}
	if object := ObjectOf(value); object != nil {
		value = object
	}
	switch value := value.(type) {
	case Object:
		for _, key := range SortedKeys(value) {
			if Word(key) == "" || strings.Contains(key, "/") || notSettings().MatchString(strings.TrimLeft(key, "-")) {
				continue
			}
			name := key
			if prefix != "" {
				name = prefix + "." + key
			}
			Flatten(into, name, value[key])
		}
	case []any:
		for i, element := range value[:min(len(value), 16)] {
			Flatten(into, prefix+"."+strconv.Itoa(i), element)
		}
	case string:
		// 0.9.0.1 is a version or an address.
		if IsNoPlace(value) || strings.HasSuffix(prefix, "version") && Word(value) != "" {
			into[prefix] = value
		}
	case float64, bool:
		into[prefix] = value
	}
}
