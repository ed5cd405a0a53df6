package serve

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"tidemark/internal/escape"
)

// problem is an answer that is no answer: a status, what is wrong, and what to do about it.
type problem struct {
	status  int
	outcome outcome
	text    string
	hint    string
	retry   time.Duration // above 0: when it may work
}

func (p *problem) Error() string { return p.text }

func bad(text, hint string) *problem {
	return &problem{status: http.StatusBadRequest, outcome: outcomeBad, text: text, hint: hint}
}

// write sends the problem as JSON. Whatever it quotes is escaped, because a terminal may show it.
func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(map[string]string{"error": escape.Controls(p.text, "\n\t"), "hint": escape.Controls(p.hint, "\n\t")})
	if err != nil {
		body = []byte(`{"error": "", "hint": ""}`)
	}
	h := w.Header()
	h.Del("Trailer")
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retry.Seconds()))))
	}
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(append(body, '\n'))
}
