package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"tidemark/internal/hint"
)

// Token lets its holder ask. The name shows in the queue's fairness and nowhere in an answer.
type Token struct {
	Name   string
	digest [sha256.Size]byte
}

// leastSecret is the shortest token: 128 bits written in base64.
const leastSecret = 22

// NewToken refuses a secret that could be guessed.
func NewToken(name, secret string) (Token, error) {
	if len(secret) < leastSecret {
		return Token{}, hint.Misuse("the token %s has %d characters, fewer than the %d that 128 bits need", name, len(secret), leastSecret).
			Hint("make one with: openssl rand -hex 16")
	}
	if strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return Token{}, hint.Misuse("the token %s has characters that no header may have", name).Hint("make one with: openssl rand -hex 16")
	}
	return Token{Name: name, digest: sha256.Sum256([]byte(secret))}, nil
}

// ReadTokens reads a file with a name and a token in each line. No error holds a token.
func ReadTokens(path, text string) ([]Token, error) {
	var tokens []Token
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return nil, hint.Misuse("--token-file %s: line %d: not a name and a token", path, i+1).Hint("write each line as: name token")
		}
		if seen[words[0]] || strings.ContainsFunc(words[0], func(c rune) bool { return !unicode.IsPrint(c) }) {
			return nil, hint.Misuse("--token-file %s: line %d: the name is there already, or cannot be printed", path, i+1)
		}
		seen[words[0]] = true
		token, err := NewToken("of line "+strconv.Itoa(i+1), words[1])
		if err != nil {
			return nil, err
		}
		token.Name = words[0]
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil, hint.Misuse("--token-file %s: no token in it", path).Hint("write each line as: name token")
	}
	return tokens, nil
}

// asker is the name of the token that the request carries. All tokens are compared, each in constant time, so that the
// time tells nothing.
func (s *Server) asker(r *http.Request) (name string, is bool) {
	if len(s.config.Tokens) == 0 {
		return "", true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(r.Header.Values("Authorization")) != 1 {
		return "", false
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	for _, token := range s.config.Tokens {
		if subtle.ConstantTimeCompare(token.digest[:], digest[:]) == 1 {
			name, is = token.Name, true
		}
	}
	return name, is
}

// isLoopback reports whether a host is this machine itself.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// namesLoopback refuses other names for this machine where no token is asked for: a page of another site could have its
// name lead here and ask in the user's place.
func namesLoopback(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return isLoopback(host)
}
