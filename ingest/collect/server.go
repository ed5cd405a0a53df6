package collect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/replay/secrets"
)

// Auth is what a server is shown; the zero value is nothing.
type Auth struct{ Token, User, Password string }

const authHint = "set TIDEMARK_PROMETHEUS_TOKEN, or TIDEMARK_PROMETHEUS_USER and _PASSWORD, or name a file: --prometheus-auth-file"

// ReadAuth takes a file's words, else those of the environment. A file holds a token alone, or lines "token: ...", "user: ...",
// "password: ...".
func ReadAuth(path string, environment func(string) string) (a Auth, err error) {
	if path == "" {
		a = Auth{environment("TIDEMARK_PROMETHEUS_TOKEN"), environment("TIDEMARK_PROMETHEUS_USER"), environment("TIDEMARK_PROMETHEUS_PASSWORD")}
		return a, a.check("the environment")
	}
	text, err := userfile.ReadAll(path)
	if err != nil {
		return a, fmt.Errorf("--prometheus-auth-file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		key, value, isPair := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case key == "" && !isPair:
		case isPair && key == "token":
			a.Token = value
		case isPair && (key == "user" || key == "username"):
			a.User = value
		case isPair && key == "password":
			a.Password = value
		case !isPair && a == Auth{}:
			a.Token = strings.TrimSpace(line)
		default:
			return a, hint.Misuse("collect: %s is neither a token nor lines of token, user and password", path).Hint("user: me\npassword: ...")
		}
	}
	if a == (Auth{}) {
		return a, hint.Misuse("collect: %s holds nothing", path).Hint("a token, or lines of user: and password:")
	}
	return a, a.check(path)
}

func (a Auth) check(where string) error {
	switch {
	case a.Token != "" && a.User+a.Password != "":
		return hint.Misuse("collect: %s has a token and a user: which is it?", where).Hint("keep one of them")
	case (a.User == "") != (a.Password == ""):
		return hint.Misuse("collect: %s has a user or a password, and not both", where).Hint(authHint)
	case strings.ContainsAny(a.Token, "\r\n \t"):
		return hint.Misuse("collect: the token of %s has a space or a line end in it", where).Hint("it may be a file's name: --prometheus-auth-file FILE")
	}
	return nil
}

// server is a Prometheus, or what speaks its HTTP API.
type server struct {
	base     string
	shown    string
	auth     Auth
	scrub    secrets.Scrubber
	client   *http.Client
	requests int
}

// patience is how long one answer may take, from the connection to its last byte.
const patience = time.Minute

func newServer(s Settings) (*server, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hint.Misuse("collect: %q is not the address of a server", secrets.ShownURL(s.URL)).Hint("metrics: http://prometheus:9090")
	}
	if u.User != nil {
		return nil, hint.Misuse("collect: the address of %s holds a user or a password", secrets.ShownURL(s.URL)).Hint(authHint)
	}
	if u.RawQuery != "" {
		return nil, hint.Misuse("collect: the address of %s has a query, which would not be sent", secrets.ShownURL(s.URL)).Hint(authHint)
	}
	u.Fragment = ""
	client := http.Client{Timeout: patience}
	if s.Client != nil {
		client = *s.Client
	}
	// What the server is shown is for it alone, and the answer of another one must not be filed under its name.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := strings.TrimSuffix(strings.TrimSuffix(u.String(), "/"), "/api/v1")
	return &server{base: base, shown: secrets.ShownURL(base), auth: s.Auth, scrub: s.Auth.scrubber(), client: &client}, nil
}

// refusal is an answer that is none.
type refusal struct {
	why       *hint.Error
	isTooMuch bool
	isSilence bool // nothing came in time
}

func (r refusal) Error() string { return r.why.Error() }
func (r refusal) Unwrap() error { return r.why }

// isTooMuch says that a shorter question may be answered.
func isTooMuch(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.isTooMuch
}

// isSilence says that a server did not answer in time.
func isSilence(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.isSilence
}

// rangeOf is the answer to a question, as JSON on one line.
func (s *server) rangeOf(ctx context.Context, q question) ([]byte, error) {
	answer, err := s.ask(ctx, "query_range", url.Values{"query": {q.group.query},
		"start": {stamp(q.from)}, "end": {stamp(q.until)}, "step": {strconv.FormatFloat(q.group.step.Seconds(), 'f', -1, 64)},
		"partial_response": {"false"}, // of Thanos, which would leave out what a store does not give
	})
	return s.withoutSecrets(answer), err
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', -1, 64) }

// hasAny says whether a query gives any series in the last hour.
func (s *server) hasAny(ctx context.Context, query string, at time.Time) (bool, error) {
	answer, err := s.ask(ctx, "query", url.Values{"query": {"count(" + query + ")"}, "time": {stamp(at)}})
	if isTooMuch(err) {
		return true, nil
	}
	return bytes.Contains(answer, []byte(`"value":`)), err
}

// names are those of the series that a selector chooses.
func (s *server) names(ctx context.Context, selector string, since, until time.Time) ([]string, error) {
	return s.values(ctx, "__name__", selector, since, until)
}

func (s *server) values(ctx context.Context, label, selector string, since, until time.Time) ([]string, error) {
	answer, err := s.ask(ctx, "label/"+label+"/values", url.Values{"match[]": {selector}, "start": {stamp(since)}, "end": {stamp(until)}})
	if err != nil {
		return nil, err
	}
	var said struct {
		Data []string `json:"data"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, s.notPrometheus("a list of names was asked for, and its answer is none")
	}
	return said.Data, nil
}

// tries of a question that a server may answer a moment later.
const tries = 3

// ask sends one request; what may pass is tried again.
func (s *server) ask(ctx context.Context, path string, values url.Values) (answer []byte, err error) {
	for try := range tries {
		var mayPass bool
		if answer, mayPass, err = s.once(ctx, path, values); err == nil || !mayPass {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(try+1) * 200 * time.Millisecond):
		}
	}
	return nil, err
}

func (s *server) once(ctx context.Context, path string, values url.Values) (answer []byte, mayPass bool, err error) {
	address := s.base + "/api/v1/" + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+values.Encode(), nil)
	if path == "query_range" || path == "query" { // a list of names may be longer than an address
		request, err = http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(values.Encode()))
	}
	if err != nil {
		return nil, false, err
	}
	if request.Method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	switch {
	case s.auth.Token != "":
		request.Header.Set("Authorization", "Bearer "+s.auth.Token)
	case s.auth.User != "":
		request.SetBasicAuth(s.auth.User, s.auth.Password)
	}
	s.requests++
	response, err := s.client.Do(request)
	if err != nil {
		return nil, false, s.unreachable(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	switch {
	case err != nil:
		err = s.unreachable(ctx, err)
		return nil, !isSilence(err), err
	case len(body) > mostBytes:
		return nil, false, refusal{why: hint.Errorf("collect: an answer of %s is larger than %d MB", s.shown, mostBytes>>20).Hint("choose fewer series: metrics_selector in the service file"), isTooMuch: true}
	}
	err = s.refused(response, body)
	code := response.StatusCode
	return body, code == http.StatusBadGateway || code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && !isTooMuch(err), err
}

// mostBytes of one answer, unpacked: a day of 1,500 series by the minute. Reading and writing it takes about five times as much memory. An
// answer that is larger is asked for in parts.
const mostBytes = 64 << 20

// unreachable is an error of the network.
func (s *server) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return refusal{why: hint.Errorf("collect: %s did not answer within %s", s.shown, s.client.Timeout).
			Hint("does it hang? ask again: what was answered is kept; a narrower metrics_selector asks for less"), isSilence: true}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its text holds the whole address
	}
	return hint.Errorf("collect: %s cannot be reached: %w", s.shown, err).
		Hint("is that Prometheus running, and reachable from here? in Kubernetes: kubectl port-forward svc/prometheus 9090; its address is metrics: in the service file")
}

// refused is the error that an answer is; nil: it is a good one.
func (s *server) refused(response *http.Response, body []byte) error {
	var said struct {
		Status    string `json:"status"`
		ErrorType string `json:"errorType"`
		Error     string `json:"error"`
	}
	// A good answer is long, and whether it is whole is seen where it is stored.
	if response.StatusCode == http.StatusOK && bytes.HasPrefix(bytes.TrimSpace(body), []byte(`{"status":"success"`)) {
		return nil
	}
	isJSON := json.Unmarshal(body, &said) == nil
	if response.StatusCode == http.StatusOK && isJSON && said.Status == "success" {
		return nil
	}
	words := s.scrub.Detail(said.Error)
	text := strings.ToLower(words)
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		shown := "without a token or password"
		if s.auth != (Auth{}) {
			shown = "with what it was shown"
		}
		return refusal{why: hint.Errorf("collect: %s refuses the request %s (%d)", s.shown, shown, code).Hint(authHint)}
	case code == http.StatusUnprocessableEntity || code == http.StatusGatewayTimeout || said.ErrorType == "timeout" ||
		strings.Contains(text, "too many") || strings.Contains(text, "maximum resolution") || strings.Contains(text, "limit"):
		return refusal{why: hint.Errorf("collect: %s: this is too much for the server even for one instant (%d): %s", s.shown, code, cmp.Or(words, "no reason given")).
			Hint("choose fewer series (metrics_selector in the service file), or raise its limits (--query.max-samples, --query.timeout)"), isTooMuch: true}
	case code >= 300 && code < 400:
		return refusal{why: hint.Errorf("collect: %s redirects (%d)%s", s.shown, code, prefixed(" to ", secrets.ShownURL(response.Header.Get("Location")))).
			Hint("redirects are not followed: name the final address, before /api/v1: metrics: in the service file")}
	case code == http.StatusNotFound:
		return refusal{why: hint.Errorf("collect: %s has no HTTP API of Prometheus (404)", s.shown).Hint("is there a path before /api/v1? metrics: http://host/prometheus")}
	case said.ErrorType == "bad_data":
		return refusal{why: hint.Errorf("collect: %s does not understand the question: %s", s.shown, words).Hint("check metrics_selector in the service file")}
	case code != http.StatusOK:
		return refusal{why: hint.Errorf("collect: %s answers %d%s", s.shown, code, prefixed(": ", words)).Hint("ask again: what was answered is kept")}
	}
	return s.notPrometheus("its answer is no JSON of Prometheus")
}

func (s *server) notPrometheus(why string) error {
	return refusal{why: hint.Errorf("collect: %s: %s", s.shown, why).Hint("is it a Prometheus, and not the page of a login or of Grafana? metrics: http://prometheus:9090")}
}

// scrubber takes out what a server is shown.
func (a Auth) scrubber() secrets.Scrubber {
	scrub := secrets.New()
	scrub.Add(a.Token)
	if a.User != "" {
		scrub.Add(a.Password)
		scrub.Add(a.User + ":" + a.Password)
	}
	scrub.Seal()
	return scrub
}

// withoutSecrets is an answer whose labels do not hold what the server was shown: a proxy may write the header of a request into one.
func (s *server) withoutSecrets(answer []byte) []byte {
	if s.auth == (Auth{}) {
		return answer
	}
	const labels = `"metric":`
	var clean []byte // with what was answered up to done; nil: nothing was found yet
	done := 0
	for at := 0; ; {
		next := bytes.Index(answer[at:], []byte(labels))
		if next < 0 {
			break
		}
		at += next + len(labels)
		at += len(answer[at:]) - len(bytes.TrimLeft(answer[at:], " \t\r\n"))
		var object json.RawMessage
		if json.NewDecoder(bytes.NewReader(answer[at:])).Decode(&object) != nil {
			break // it was cut, which is seen where it is stored
		}
		if s.scrub.Text(string(object)) != string(object) {
			clean = append(append(clean, answer[done:at]...), s.scrub.JSON(object)...)
			done = at + len(object)
		}
		at += len(object)
	}
	if done == 0 {
		return answer
	}
	return append(clean, answer[done:]...)
}

func prefixed(prefix, words string) string {
	if words == "" {
		return ""
	}
	return prefix + words
}

// Environment is ReadAuth's of this process.
func Environment(name string) string { return os.Getenv(name) }
