// Cleaning a text: whole secrets first by plain replacement, then, only where a quick filter finds a trace of one, the long
// look through all views and coats. Cutting comes after cleaning, since half of a key is not recognised.

package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// Scrubber takes secrets out of everything that a server says, before it is kept: an error body may echo the request's header,
// and a server's own description may hold its command line and environment. It looks at texts alone, never at numbers.
type Scrubber struct {
	secrets []string // whole, in the forms in which they are sent about
	runs    gramSet  // of the long ones, see runs.go
	hexRuns gramSet
	sieve   *sieve
	public  []string // bare: what may be told, also where a secret has a part of it
}

// minSecret keeps a one-letter header value from blanking whole texts.
const minSecret = 4

// New is a Scrubber without secrets; Seal ends the adding.
func New() Scrubber {
	return Scrubber{runs: gramSet{needed: 1}, hexRuns: gramSet{needed: hexHits}}
}

// AddQuery takes the values of an address's query.
func (c *Scrubber) AddQuery(u *url.URL) {
	for _, values := range u.Query() {
		for _, value := range values {
			c.Add(value)
		}
	}
}

// AddJSON takes what stands under a key that names a secret: an api_key, a token, a password.
func (c *Scrubber) AddJSON(raw []byte) {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		c.addUnder("", v)
	}
}

func (c *Scrubber) addUnder(key string, v any) {
	switch v := v.(type) {
	case string:
		if secretKey.MatchString(key) {
			c.Add(v)
		}
	case map[string]any:
		for k, item := range v {
			c.addUnder(k, item)
		}
	case []any:
		for _, item := range v {
			c.addUnder(key, item)
		}
	}
}

// AddPublic takes a word that may be told, also where a secret has a part of it.
func (c *Scrubber) AddPublic(word string) { c.public = append(c.public, bare(word)) }

// Seal is to be called when everything was added.
func (c *Scrubber) Seal() {
	// The longest first: a secret inside another would break that one in two.
	slices.SortFunc(c.secrets, func(a, b string) int { return len(b) - len(a) })
	c.secrets = slices.Compact(c.secrets)
	c.sieve = newSieve(c.runs, c.hexRuns)
}

// AddHeader takes a header's value, and what stands behind its scheme: "Bearer KEY", "Basic BASE64".
func (c *Scrubber) AddHeader(value string) {
	c.Add(value)
	scheme, token, found := strings.Cut(value, " ")
	if !found {
		return
	}
	c.Add(token)
	if plain, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		c.Add(string(plain))
		c.Add(password)
	}
}

// AddPath takes the tokens in an address.
func (c *Scrubber) AddPath(u *url.URL) {
	for _, segment := range strings.Split(u.Path, "/") {
		if isToken(segment) {
			c.Add(segment)
		}
	}
}

// Add takes a secret in every form in which a server may give it back as a whole, and its runs if it is long.
func (c *Scrubber) Add(secret string) {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret {
		return
	}
	quoted, _ := json.Marshal(secret) // a string always marshals
	forms := []string{secret, strings.Trim(string(quoted), `"`), strings.Join(strings.Fields(secret), " "), url.QueryEscape(secret),
		url.PathEscape(secret), html.EscapeString(secret), strings.ToUpper(secret), strings.ToLower(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("Bearer " + secret))}
	if len(secret) >= gramSize {
		forms = append(forms, reversed(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))))
	}
	for _, form := range forms {
		if !slices.Contains(c.secrets, form) {
			c.secrets = append(c.secrets, form)
		}
	}
	c.addRuns(secret)
}

// maxEscapes is how deep escapes in escapes are looked into: JSON in JSON.
const maxEscapes = 3

// Text is s without secrets.
func (c Scrubber) Text(s string) string {
	if len(c.secrets) == 0 {
		return s
	}
	s = c.plain(s)
	if !c.mayHold(s) {
		return s
	}
	marks := make([]bool, len(s))
	v, ok := newView(s), true
	for depth := 0; ok && depth <= maxEscapes; depth++ {
		c.markWhole(v, marks)
		c.markRuns(v.asFolded(), marks)
		c.markRuns(v.asBare(), marks)
		v, ok = v.decoded()
	}
	return withoutMarked(s, marks)
}

// Exposition is text for metrics: their names and labels are looked at, their values and times are not.
func (c Scrubber) Exposition(s string) string {
	if clean := c.plain(s); clean == s && !c.mayHold(s) {
		return s
	}
	var out strings.Builder
	for line := range strings.Lines(s) {
		end := len(line) // of the words: a comment has nothing else
		if !strings.HasPrefix(line, "#") {
			if end = strings.LastIndexByte(line, '}') + 1; end == 0 {
				end = max(strings.IndexByte(line, ' '), 0)
			}
		}
		out.WriteString(c.Text(line[:end]) + line[end:])
	}
	return out.String()
}

// plain replaces whole secrets in the forms of Add, the longest first.
func (c Scrubber) plain(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, Redacted)
	}
	return s
}

// markWhole marks whole secrets: escapes may have hidden them from plain.
func (c Scrubber) markWhole(v view, marks []bool) {
	text := string(v.text)
	for _, secret := range c.secrets {
		for from := 0; ; {
			at := strings.Index(text[from:], secret)
			if at < 0 {
				break
			}
			v.mark(from+at, from+at+len(secret), marks)
			from += at + len(secret)
		}
	}
}

func withoutMarked(s string, marks []bool) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case !marks[i]:
			out.WriteByte(s[i])
		case i == 0 || !marks[i-1]:
			out.WriteString(Redacted)
		}
	}
	return out.String()
}

// detailLimit cuts what a server says: enough to know the cause, too little to carry a prompt.
const detailLimit = 160

// Detail is a short form of what somebody else says. It is scrubbed before it is cut: half a key is not recognised.
func (c Scrubber) Detail(s string) string {
	s = c.dropTorn(c.Text(s))
	if len(s) > detailLimit {
		s = strings.ToValidUTF8(s[:detailLimit], "") + "..."
	}
	return s
}

// dropTorn takes off the beginning of a secret at the very end: what was read may have ended in the middle of one, behind
// escapes too.
func (c Scrubber) dropTorn(s string) string {
	v, ok := newView(s), true
	for depth := 0; ok && depth <= maxEscapes; depth++ {
		text := string(v.text)
		for _, secret := range c.secrets {
			for n := min(len(secret)-1, len(text)); n >= minSecret; n-- {
				if strings.HasSuffix(text, secret[:n]) {
					return s[:v.from[len(text)-n]] + Redacted
				}
			}
		}
		v, ok = v.decoded()
	}
	return s
}

// JSON cleans each string of a document and keeps its shape and its numbers; nil for what is not JSON.
func (c Scrubber) JSON(raw []byte) json.RawMessage {
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

// value also knows secrets that nobody told it of, by their key: a server's own api_key, a token in its command line.
func (c Scrubber) value(key string, v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && secretKey.MatchString(key) {
			return Redacted
		}
		return c.Text(secretFlag.ReplaceAllString(v, "${1}"+Redacted))
	case map[string]any:
		clean := make(map[string]any, len(v)) // a name may be a secret too
		for k, item := range v {
			clean[c.Text(k)] = c.value(k, item)
		}
		return clean
	case []any:
		for i := range v {
			v[i] = c.value(key, v[i])
			if flag, ok := v[i].(string); ok && flagAlone.MatchString(flag) && i+1 < len(v) {
				v[i+1] = Redacted
			}
		}
	}
	return v
}
