package serve

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
)

//go:embed page.html
var page []byte

// pagePolicy allows the page's own script and style, known by their hashes, ECharts from this server, and requests to it. Whatever
// else this server sends is no script, and says so by X-Content-Type-Options.
var pagePolicy = sync.OnceValue(func() string {
	return "default-src 'none'; script-src 'self' " + hashOf("script") + "; style-src " + hashOf("style") +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

func hashOf(element string) string {
	_, from, _ := bytes.Cut(page, []byte("<"+element+">"))
	inside, _, _ := bytes.Cut(from, []byte("</"+element+">"))
	digest := sha256.Sum256(inside)
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
	h.Set("Content-Security-Policy", pagePolicy())
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(page)
}
