// What settings may be, before anything is sent or written. Each refusal names the setting in the user's words and says what
// to do. No message repeats a header's value, an address of metrics or a key: what is refused may be a secret.

package replay

import (
	"cmp"
	"encoding/json"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// Check says what cannot be meant, before anything is sent or written. Run does it too, after its defaults.
func (s Settings) Check() error {
	if _, err := s.targets(); err != nil {
		return err
	}
	if s.Routing != "" && s.Routing != rehearsal.Turns && len(s.BaseURLs) < 2 {
		return hint.Misuse("replay: --routing %s: there is one --base-url, and nothing to choose between", s.Routing).Hint("name each replica by a --base-url of its own")
	}
	for _, address := range s.MetricsURLs {
		if err := checkMetricsURL(address); err != nil {
			return err
		}
	}
	if s.Endpoint != "" && s.Endpoint != completionsPath && s.Endpoint != chatPath {
		return hint.Errorf("replay: endpoint %q is not known", s.Endpoint).
			Hint("%s", "the known ones are "+completionsPath+" and "+chatPath)
	}
	if err := cmp.Or(s.checkEngine(), s.checkBody()); err != nil {
		return err
	}
	if err := s.checkMode(); err != nil {
		return err
	}
	if s.SLO != nil && !json.Valid(s.SLO) {
		return hint.Errorf("replay: the SLO is not JSON").Hint("give what analysis.ReadSLO makes of an SLO file")
	}
	if hasControl(s.APIKey) {
		return hint.Errorf("replay: the API key holds a line end or another control character").Hint("put the key alone on one line")
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"connect time-out", s.ConnectTimeout}, {"first-byte time-out", s.FirstByteTimeout},
		{"between-bytes time-out", s.BetweenBytesTimeout}, {"largest lateness", s.MaxLateness},
		{"largest stall of the client", s.MaxStall}, {"warm-up", s.WarmUp},
		{"drain time-out", s.DrainTimeout},
	} {
		if d.value < 0 {
			return hint.Errorf("replay: the %s is negative: %v", d.name, d.value).Hint("leave it out for its default")
		}
	}
	if s.MaxFailures != nil && !(*s.MaxFailures >= 0 && *s.MaxFailures <= 1) {
		return hint.Errorf("replay: the largest share of failures is %v, not from 0 to 1", *s.MaxFailures).Hint("0.01 is one in a hundred")
	}
	if err := cmp.Or(s.checkOnDead(), s.checkVocabulary()); err != nil {
		return err
	}
	return s.checkHeaders()
}

// Words of Settings. History and Cache may be left empty.
const (
	historyPlanned  = "planned"
	historyAnswered = "answered"
	cacheReset      = "reset"
	cacheCold       = "cold"
)

// checkMode checks mode, concurrency, history and cache together.
func (s Settings) checkMode() error {
	mode, history := cmp.Or(s.Mode, "open"), cmp.Or(s.History, historyPlanned)
	switch {
	case mode != "open" && mode != "sessions" && mode != "closed":
		return hint.Errorf("replay: mode %q is not known", s.Mode).Hint("the known ones are open, sessions and closed")
	case s.MaxConcurrency < 0:
		return hint.Errorf("replay: the largest concurrency is negative: %d", s.MaxConcurrency).Hint("leave it out for no limit")
	case mode == "closed" && s.MaxConcurrency == 0:
		return hint.Errorf("replay: a closed loop needs its number of requests in flight").Hint("give it with --max-concurrency")
	case history != historyPlanned && history != historyAnswered:
		return hint.Errorf("replay: history %q is not known", s.History).Hint("the known ones are planned and answered")
	case history == historyPlanned:
	case mode != "sessions":
		return hint.Errorf("replay: history %q needs turns that wait for the answer before", s.History).
			Hint("add --mode sessions, or leave it out")
	case s.Endpoint == chatPath:
		return hint.Errorf("replay: history %q puts token ids into the prompt, and %s takes text", s.History, chatPath).
			Hint("%s", "use --endpoint "+completionsPath+", or the planned history")
	case s.CountByUsage:
		return hint.Errorf("replay: history %q needs the token ids of the answers", s.History).
			Hint("count by token ids, or use the planned history")
	}
	if s.Cache != "" && s.Cache != cacheReset && s.Cache != cacheCold {
		return hint.Errorf("replay: cache %q is not known", s.Cache).
			Hint("the known ones are reset and cold; leave it out to keep the cache as it is")
	}
	return nil
}

// minVocabulary is that of a model of bytes: nothing real has fewer ids.
const minVocabulary = 256

// checkVocabulary checks only what was asked for; what the servers have is asked later (settleVocabulary).
func (s Settings) checkVocabulary() error {
	switch {
	case s.VocabLow < 0 || s.VocabHigh < 0 || s.VocabHigh != 0 && s.VocabHigh < minVocabulary:
		return hint.Errorf("replay: token ids from %d to %d: a vocabulary has at least %d ids", s.VocabLow, s.VocabHigh, minVocabulary).
			Hint("give the model's vocabulary with --vocab-size")
	case s.VocabHigh != 0 && s.VocabLow > 0:
		_, err := plan.NewPrompts(s.VocabLow, s.VocabHigh, 0)
		return err
	}
	return nil
}

// ownHeaders are those that the engine writes itself, or that would change what a connection or an answer is.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host",
	"Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "X-Request-Id",
}

// checkHeaders names headers, never their values: those may be secrets.
func (s Settings) checkHeaders() error {
	if strings.ContainsFunc(s.ReplicaHeader, isNoHeaderName) {
		return hint.Errorf("replay: %q is not a valid header name", s.ReplicaHeader).Hint("give --replica-header the name alone, without a colon")
	}
	for name, values := range s.Headers {
		switch {
		case name == "":
			return hint.Errorf("replay: a header without a name").Hint("give it as Name: value")
		case strings.ContainsFunc(name, isNoHeaderName):
			return hint.Errorf("replay: %q is not a valid header name", name).Hint("give it as Name: value")
		case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
			return hint.Errorf("replay: header %s: it belongs to the connection or is set by the replay itself", name).Hint("leave it out")
		case slices.ContainsFunc(values, hasControl):
			return hint.Errorf("replay: header %s: its value is not one line", name).Hint("give it as Name: value")
		}
	}
	return nil
}

// isNoHeaderName finds what RFC 9110 has no place for in a name.
func isNoHeaderName(r rune) bool {
	isLetterOrDigit := r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
	return !isLetterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// checkMetricsURL does not repeat the address: it may hold the password that is refused.
func checkMetricsURL(address string) error {
	if address == "" || address == noMetrics {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return hint.Errorf("replay: metrics url: not an http or https address").
			Hint("give it as --metrics-url http://host:8000/metrics, or none")
	case u.User != nil:
		return hint.Errorf("replay: metrics url: must not carry a password").
			Hint("the run's folder keeps the address: serve /metrics without one, or give --metrics-url none")
	}
	return nil
}
