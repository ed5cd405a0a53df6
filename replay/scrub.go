package replay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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
	c.add(s.APIKey)
	for _, values := range s.Headers {
		for _, value := range values {
			c.add(value)
			if _, token, found := strings.Cut(value, " "); found { // "Bearer ..."
				c.add(token)
			}
		}
	}
	for _, address := range s.MetricsURLs {
		metrics, err := url.Parse(address)
		if err != nil {
			continue
		}
		for _, values := range metrics.Query() {
			for _, value := range values {
				c.add(value)
			}
		}
	}
	// The longest first: a secret inside another would break that one in two.
	slices.SortFunc(c.secrets, func(a, b string) int { return len(b) - len(a) })
	c.secrets = slices.Compact(c.secrets)
	return c
}

// add takes a secret in every form in which a server may give it back. Other escapes of JSON are undone in text.
func (c *scrubber) add(secret string) {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret {
		return
	}
	quoted, _ := json.Marshal(secret) // a string always marshals
	for _, form := range []string{secret, strings.Trim(string(quoted), `"`), oneLine(secret), url.QueryEscape(secret),
		url.PathEscape(secret), html.EscapeString(secret), strings.ToUpper(secret), strings.ToLower(secret),
		base64.StdEncoding.EncodeToString([]byte(secret))} {
		if !slices.Contains(c.secrets, form) {
			c.secrets = append(c.secrets, form)
		}
	}
}

// maxEscapes is how deep JSON in JSON is looked into.
const maxEscapes = 3

// text is s without secrets. One that hides behind JSON's escapes is found too; the text is then kept unescaped.
func (c scrubber) text(s string) string {
	s = c.plain(s)
	for plain, depth := s, 0; depth < maxEscapes && strings.Contains(plain, `\`); depth++ {
		plain = unescape(plain)
		if clean := c.plain(plain); clean != plain {
			s, plain = clean, clean
		}
	}
	return s
}

func (c scrubber) plain(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}

var jsonEscape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|["\\/])`)

// unescape undoes JSON's escapes wherever they stand, as far as a header's characters need it.
func unescape(s string) string {
	return jsonEscape.ReplaceAllStringFunc(s, func(escape string) string {
		if escape[1] != 'u' {
			return escape[1:]
		}
		r, _ := strconv.ParseUint(escape[2:], 16, 16) // four digits always parse
		return string(rune(r))
	})
}

// detailLimit cuts what a server says: enough to know the cause, too little to carry a prompt.
const detailLimit = 160

// detail is a short form of what somebody else says. It is scrubbed before it is cut: half a key is not recognised.
func (c scrubber) detail(s string) string {
	s = c.dropTorn(c.text(s))
	if len(s) > detailLimit {
		s = strings.ToValidUTF8(s[:detailLimit], "") + "..."
	}
	return s
}

// dropTorn takes off the begin of a secret at the very end: what was read may have ended in the middle of one.
func (c scrubber) dropTorn(s string) string {
	for _, secret := range c.secrets {
		for n := min(len(secret)-1, len(s)); n >= minSecret; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				return s[:len(s)-n] + redacted
			}
		}
	}
	return s
}

func (c scrubber) json(raw []byte) json.RawMessage {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
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
		clean := make(map[string]any, len(v)) // a name may be a secret too
		for k, item := range v {
			clean[c.text(k)] = c.value(k, item)
		}
		return clean
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
