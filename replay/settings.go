package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// Settings say where and how a plan is sent. BaseURL, Model and RunID are needed; the rest has defaults.
type Settings struct {
	BaseURL    string // with or without /v1; no query, no password
	Endpoint   string // default /v1/completions, the only one so far
	Model      string // as the server names it
	APIKey     string // sent as a bearer token; kept nowhere
	Headers    http.Header
	MetricsURL string // default: /metrics of the server; "none": not sampled. No password; a query is not kept

	RunID       string
	Name        string
	Note        string
	Version     string // of tidemark
	Environment *Environment
	// EnvironmentSource says where it came from: "flags" or "file". A server that says what it simulates is believed
	// where Environment is nil, and the source is then "server".
	EnvironmentSource string

	Seed                uint64        // of the tokens that belong to no block; default: the plan's
	VocabLow, VocabHigh int           // range of token ids [low, high); default [1000, 8192), less where the server has fewer
	CountByUsage        bool          // count tokens by a running usage instead of token ids
	WarmUp              time.Duration // requests due before it are flagged
	MaxLateness         time.Duration // p99 above it makes the run invalid; default 10 ms
	// MaxStall makes the run invalid when the client itself stood still for longer while requests were in flight;
	// default 250 ms: two cores under three busy loops lose up to 150 ms, an idle machine 1 to 5 ms.
	MaxStall            time.Duration
	ConnectTimeout      time.Duration // default 10 s
	FirstByteTimeout    time.Duration // from sent to the first token; default 300 s
	BetweenBytesTimeout time.Duration // between tokens after that; default 60 s

	Abort    context.Context // ended: leave at once, what is in flight counts as cancelled
	Progress func(Progress)  // called about once a second

	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	TLS   *tls.Config      // for https; default: the system's roots
	Sleep Sleep            // waits for a due time; default: precise. Under a fake clock pass TimerSleep
	Wall  func() time.Time // the time of day that is written down; default time.Now. Due times never look at it

	create createFunc // files of the run; tests put a full disk here
	beat   Sleep      // of the heartbeat; default TimerSleep. Tests stand still here
}

// TimerSleep is a Sleep on Go's timers: right under a fake clock, up to a millisecond late on a real one.
func TimerSleep(ctx context.Context, d time.Duration) bool { return timerSleep(ctx, d) }

// noMetrics is a MetricsURL: the server is not sampled.
const noMetrics = "none"

// target is BaseURL taken apart.
type target struct {
	base    *url.URL // without /v1, without a slash at the end
	address string   // host:port
}

func (s Settings) settled(plan *Plan) (Settings, target, error) {
	if s.RunID == "" {
		return s, target{}, errors.New("replay: a run needs an id")
	}
	if err := s.Check(); err != nil {
		return s, target{}, err
	}
	t, err := parseTarget(s.BaseURL)
	if err != nil {
		return s, t, err
	}
	setDefault(&s.Endpoint, "/v1/completions")
	setDefault(&s.MetricsURL, t.base.String()+"/metrics")
	setDefault(&s.Seed, plan.Header().Seed)
	setDefault(&s.MaxLateness, 10*time.Millisecond)
	setDefault(&s.MaxStall, 250*time.Millisecond)
	setDefault(&s.ConnectTimeout, 10*time.Second)
	setDefault(&s.FirstByteTimeout, 300*time.Second)
	setDefault(&s.BetweenBytesTimeout, 60*time.Second)
	if s.Abort == nil {
		s.Abort = context.Background()
	}
	if s.Dial == nil {
		s.Dial = (&net.Dialer{}).DialContext
	}
	if s.Wall == nil {
		s.Wall = time.Now
	}
	if s.beat == nil {
		s.beat = timerSleep
	}
	if s.create == nil {
		s.create = createFile
	}
	return s, t, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func parseTarget(base string) (target, error) {
	bad := func(why string) (target, error) {
		return target{}, withHint(fmt.Errorf("replay: base url: %s", why), "give it as --base-url http://host:8000")
	}
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case base == "":
		return bad("none given")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return bad("not an http or https address")
	case u.User != nil:
		return bad("must not carry a password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return bad("must not carry a query: the run's folder keeps the address")
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), "/")
	u.RawPath = ""
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return target{base: u, address: net.JoinHostPort(u.Hostname(), port)}, nil
}

// tlsConfig is nil for plain HTTP.
func (t target) tlsConfig(s Settings) *tls.Config {
	if t.base.Scheme != "https" {
		return nil
	}
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	setDefault(&config.ServerName, t.base.Hostname())
	config.NextProtos = []string{"http/1.1"}
	return config
}

// headers are those of every request: the user's own and the key.
func (s Settings) headers() http.Header {
	h := http.Header{"User-Agent": {"tidemark/" + s.Version}}
	for name, values := range s.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); name == "User-Agent" {
			h.Del(name)
		}
		for _, value := range values {
			h.Add(name, value)
		}
	}
	if s.APIKey != "" {
		h.Set("Authorization", "Bearer "+s.APIKey)
	}
	return h
}
