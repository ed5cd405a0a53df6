package notebook

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
)

//go:embed page.html
var page []byte

var (
	pageScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	pageStyle  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
)

// pagePolicy allows the page's own script and style, known by their hashes, and requests to this server.
var pagePolicy = "default-src 'none'; script-src " + hashOf(pageScript) + "; style-src " + hashOf(pageStyle) +
	"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func hashOf(element *regexp.Regexp) string {
	digest := sha256.Sum256(element.FindSubmatch(page)[1])
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// servePage sends the page. It holds nothing of the warehouse and asks for the token itself, so a browser without a token
// gets it too, with the status of every other path.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	if _, is := s.asker(r); !is {
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			s.unauthorized().write(w)
			return
		}
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(page)
}
