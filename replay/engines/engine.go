package engines

import (
	"bytes"
	"encoding/json"
)

// Engine is one kind of server.
type Engine struct {
	Name  string // as in run.json, in --engine and in the catalogue's engine constants
	Owner string // owned_by in /v1/models that only this engine answers; empty: its owned_by differs from server to server
	signs []sign // answers that give it away where its models do not

	VersionPath   string   // answers {"version": ...}; empty: there is none
	SettingsPaths []string // the first that answers has the configuration
	readSettings  func(c *Configuration, answer []byte)
	settingsGauge string // a gauge whose labels hold a part of the configuration; empty: there is none
	readLabels    func(c *Configuration, labels map[string]any)

	running, waiting string // gauges of its requests; empty: there are none
	Reset            CacheReset
	Fields           Fields
	// DetokenizedField of an answer of /detokenize holds the text.
	DetokenizedField string
}

// sign is a text that only servers of an engine have in their answer to a path.
type sign struct{ path, text string }

// CacheReset is how a prefix cache is emptied.
type CacheReset struct {
	Path string // POST; empty: no such request is known
	// IsBusy is true for an answer after which another try may succeed: requests still hold blocks of the cache.
	IsBusy func(status int, body []byte) bool
}

// Fields are those of a request that not every server takes. An unknown field is ignored by most servers and refused by
// some, so what an engine is known not to have is left out.
type Fields struct {
	MinTokens    bool // min_tokens; without it, ignore_eos alone keeps an answer from ending early
	TokenIDs     bool // return_token_ids: each chunk says the ids of its tokens, and so their number
	RunningUsage bool // stream_options.continuous_usage_stats: each chunk says how many tokens came so far
}

// The engines, in the order in which they are looked for: those with the clearest signs first.
var All = []Engine{SGLang, VLLM, OpenAI}

// Names are the words that replay's --engine takes, with the engines of the bandwidth model (deployment.Engines).
var Names = namesOf(All)

func namesOf(all []Engine) (names []string) {
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
}

// Named is the engine of a name.
func Named(name string) (Engine, bool) {
	for _, e := range All {
		if e.Name == name {
			return e, true
		}
	}
	return Engine{}, false
}

// Recognise says which engine a server is, and by what that is known, in words for run.json. named is the user's word and
// decides; owner is owned_by of the served model; get asks one path and returns nil where there is no good answer.
func Recognise(named, owner string, get func(path string) []byte) (e Engine, knownBy string) {
	if e, isKnown := Named(named); isKnown {
		return e, "--engine"
	}
	for _, e := range All {
		if e.Owner != "" && e.Owner == owner {
			return e, "owned_by in /v1/models"
		}
	}
	answers := map[string][]byte{} // several engines look at /metrics
	for _, e := range All {
		for _, s := range e.signs {
			answer, wasAsked := answers[s.path]
			if !wasAsked {
				answer = get(s.path)
				answers[s.path] = answer
			}
			if bytes.Contains(answer, []byte(s.text)) {
				return e, s.path
			}
		}
	}
	return OpenAI, "no sign of another engine"
}

// Configuration is what a server of this engine says that it runs with: answer is that of a settings path, or nil, and
// expositions are its metrics.
func (e Engine) Configuration(answer json.RawMessage, expositions ...[]byte) (c Configuration) {
	if e.readSettings != nil && answer != nil {
		e.readSettings(&c, answer)
	}
	if e.readLabels != nil {
		for _, text := range expositions {
			e.readLabels(&c, labelsOf(text, e.settingsGauge))
		}
	}
	return c
}
