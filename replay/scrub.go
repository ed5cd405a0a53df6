package replay

import (
	"encoding/json"
	"regexp"
	"strings"
)

const redacted = "[redacted]"

// scrubber takes secrets out of whatever a server says before it is kept: an error body may echo the request's header,
// and a server's own description may hold its command line and environment.
type scrubber struct{ secrets []string }

// minSecret keeps a one-letter header value from blanking whole texts.
const minSecret = 4

func newScrubber(s Settings) scrubber {
	var c scrubber
	add := func(secret string) {
		if secret = strings.TrimSpace(secret); len(secret) >= minSecret {
			c.secrets = append(c.secrets, secret)
			if quoted, _ := json.Marshal(secret); string(quoted) != `"`+secret+`"` {
				c.secrets = append(c.secrets, strings.Trim(string(quoted), `"`))
			}
		}
	}
	add(s.APIKey)
	for _, values := range s.Headers {
		for _, value := range values {
			add(value)
			if _, token, found := strings.Cut(value, " "); found { // "Bearer ..."
				add(token)
			}
		}
	}
	return c
}

func (c scrubber) text(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}

func (c scrubber) json(raw []byte) json.RawMessage {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	clean, err := json.Marshal(c.value("", v))
	if err != nil {
		return nil
	}
	return clean
}

var (
	secretKey  = regexp.MustCompile(`(?i)(api_?keys?|access_?key|secret|passw(or)?d|authorization|credential|(^|_)token)$`)
	secretFlag = regexp.MustCompile(`(?i)(--?(?:api-key|[a-z-]*(?:secret|password|hf-token))[= ]+)(\S+)`)
	flagAlone  = regexp.MustCompile(`(?i)^--?(api-key|[a-z-]*(secret|password|hf-token))$`)
)

func (c scrubber) value(key string, v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && secretKey.MatchString(key) {
			return redacted
		}
		return c.text(secretFlag.ReplaceAllString(v, "${1}"+redacted))
	case map[string]any:
		for k, item := range v {
			v[k] = c.value(k, item)
		}
	case []any:
		for i := range v {
			v[i] = c.value(key, v[i])
			if flag, ok := v[i].(string); ok && flagAlone.MatchString(flag) && i+1 < len(v) {
				v[i+1] = redacted
			}
		}
	}
	return v
}
