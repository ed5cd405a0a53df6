// The fields that a user adds to each request (Settings.Body, --body FILE). They are checked by name before anything is
// sent: a field that makes a request the planned one, or its answer one stream, would silently change what is measured.

package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
)

// A user's own fields of a request (Settings.Body) are compacted once and copied into each request as they are.

// ownFields are set by the replay itself: with other values a request would not be the planned one, or could not be measured.
var ownFields = []string{"model", "prompt", "messages", "max_tokens", "max_completion_tokens", "min_tokens", "stream", "stream_options",
	"n", "best_of", "echo", "cache_salt", "stop"}

// optionalFields are sent unless the user's body has them; null leaves them out, for servers that refuse what they do not know.
var optionalFields = []string{"temperature", "ignore_eos", "return_token_ids"}

// bodyFields are the fields of a body that Check has seen.
func bodyFields(body json.RawMessage) (fields map[string]json.RawMessage) {
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		_ = json.Unmarshal(compact.Bytes(), &fields)
	}
	return fields
}

// mayEndEarly says that the user's body lets a model end its answer: a stop is then no failure, however few the tokens are.
func (s Settings) mayEndEarly() bool {
	value, isSaid := bodyFields(s.Body)["ignore_eos"]
	return isSaid && string(value) != "true"
}

// endingEarly is the body with which it may.
func (s Settings) endingEarly() json.RawMessage {
	fields := map[string]json.RawMessage{}
	maps.Copy(fields, bodyFields(s.Body))
	fields["ignore_eos"] = json.RawMessage("false")
	body, _ := json.Marshal(fields) // raw messages that have been read
	return body
}

// checkBody refuses what is not a JSON object, and the fields that are the replay's own.
func (s Settings) checkBody() error {
	if s.Body == nil {
		return nil
	}
	fields := bodyFields(s.Body)
	if fields == nil {
		return hint.Errorf("replay: the body is not a JSON object").Hint(`write the fields to add as {"top_p": 0.9}`)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(ownFields, name) {
			return hint.Errorf("replay: body: %s is set by the replay itself", name).
				Hint("leave it out: lengths and prompts are the plan's, and an answer must be one stream")
		}
	}
	return nil
}

// checkEngine allows the engines that have a file.
func (s Settings) checkEngine() error {
	if _, isKnown := engines.Named(s.Engine); s.Engine != "" && !isKnown {
		return hint.Errorf("replay: engine %q is not known", s.Engine).
			Hint("the known ones are %s; leave it out to ask the server", strings.Join(engines.Names, ", "))
	}
	return nil
}
