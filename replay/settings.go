// Everything that a caller can choose. The zero value of a field means its default, so that a command line, an experiment
// and a test say only what they want. The unexported fields at the end replace the clock, the disk and the kernel in tests.

package replay

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/secrets"
)

// MostFailed is the share of the requests that may fail where nobody says otherwise.
const MostFailed = 0.01

// Settings say where and how a plan is sent. BaseURLs, Model and RunID are needed; the rest has defaults.
type Settings struct {
	// BaseURLs are replicas of one server, with or without /v1; no query, no password. Requests go to them in turn, those
	// of a session all to one.
	BaseURLs []string
	Routes   map[string]string // class -> the base url its requests go to, ahead of BaseURLs
	// Routing shares the requests over BaseURLs by what each has to do ("least-loaded") or was sent ("prefix"), as rehearsal.Routings; "" and "turns": as above.
	Routing string
	// Models say which model a class asks for instead of Model, as its server names it.
	Models map[string]string
	// Environments say what the models of Models run on, by model: only what was named, and the catalogue's names. A server that says what it
	// simulates is believed where a model has none.
	Environments map[string]*Environment
	// ReplicaHeader is the header in which a router says which of its replicas answered; empty: it does not say.
	ReplicaHeader string
	Endpoint      string // "/v1/completions" (the default) or "/v1/chat/completions"
	Model         string // as the servers name it
	APIKey        string // sent as a bearer token; kept nowhere
	Headers       http.Header
	// Engine names the kind of server ("vllm", "sglang", "openai"); empty: it is recognised by asking.
	Engine string
	// Body has fields that are added to each request, as a JSON object: sampling, an adapter, a schema of the answer. One that
	// the engine would send anyway (see optionalFields) replaces it; null leaves that out.
	Body json.RawMessage
	// MetricsURLs are sampled each second; default: /metrics of each server; "none": nothing is. No password; a query is
	// not kept. An address of its own may be that of a DCGM exporter.
	MetricsURLs []string

	// Mode is "open" (the default), "sessions" (a turn is due when the one before has ended and its think time is over) or
	// "closed" (MaxConcurrency in flight, due times of the plan ignored).
	Mode           string
	MaxConcurrency int    // closed: requests in flight; else a cap over the due times, whose wait is held_s; 0: no cap
	History        string // of a session's later turns: "planned" (the default) or "answered", with what the server said
	// Cache is "" (as it is), "reset" (the prefix cache is emptied before the run, or a salt for the run keeps it apart) or
	// "cold" (a salt for each request: nothing is ever shared).
	Cache        string
	DrainTimeout time.Duration // wait so long for a server that still runs other requests; 0: only look
	// PredictTPOT is what the progress line sets TPOT against, with so many requests of the plan in flight; nil: nothing.
	PredictTPOT func(inFlight int, contextTokens float64, of plan.Header) time.Duration
	Series      *Series         // of which this run is a step; nil: it stands alone
	SLO         json.RawMessage // kept in run.json as it is; the warehouse judges by it

	// StartAt is the instant of the run's zero, by this machine's clock; zero: as soon as everything is ready.
	StartAt time.Time
	Shard   *Shard // the plan is a part of a larger one; nil: it is whole

	RunID       string
	Name        string
	Note        string
	Version     string // of tidemark
	Environment *Environment
	// EnvironmentSource says where it came from: "flags" or "file". A server that says what it simulates is believed
	// where Environment is nil, and the source is then "server".
	EnvironmentSource string
	// Named is what the user named of Environment, before defaults were filled in.
	Named Environment
	// CatalogName is what the catalogue calls a model that a server names; empty where it knows none. nil: it knows none.
	CatalogName func(served string) string

	Seed                uint64        // of the tokens that belong to no block; default: the plan's
	VocabLow, VocabHigh int           // range of token ids [low, high); default [1000, 8192), less where the server has fewer
	CountByUsage        bool          // count tokens by a running usage instead of token ids
	WarmUp              time.Duration // requests due before it are flagged
	MaxLateness         time.Duration // p99 above it makes the run invalid; default 10 ms
	// MaxStall makes the run invalid when the client itself stood still for longer while requests were in flight;
	// default 250 ms: two cores under three busy loops lose up to 150 ms, an idle machine 1 to 5 ms.
	MaxStall time.Duration
	// MaxFailures is the share of the requests that may fail or stay unsent; with more the warehouse judges that the run
	// failed. nil: MostFailed.
	MaxFailures         *float64
	OnDead              string        // when a server goes and others are left: "go-on" (the default) without it, or "stop"
	ConnectTimeout      time.Duration // default 10 s
	FirstByteTimeout    time.Duration // from sent to the first token; default 300 s
	BetweenBytesTimeout time.Duration // between tokens after that; default 60 s

	Abort    context.Context // ended: leave at once, what is in flight counts as cancelled
	Progress func(Progress)  // called about once a second
	Watch    func(Watched)   // called by several goroutines as requests come along, and must not wait; nil: nobody watches
	Tell     func(string)    // called with what whoever waits for the run should know at once; default: nobody

	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	TLS   *tls.Config      // for https; default: the system's roots
	Sleep host.Sleep       // waits for a due time; default: precise. Under a fake clock pass timerSleep
	Wall  func() time.Time // the time of day that is written down; default time.Now. Due times never look at it

	dialsPlainly bool              // Dial is our own
	create       createFunc        // files of the run; tests put a full disk here
	beat         host.Sleep        // of the heartbeat; default: the kernel's timer. Tests stand still here
	state        func() host.State // of this process; tests make others take the CPU here
	watch        time.Duration     // between two looks at what the servers serve; default 5 s
}

// noMetrics is an entry of MetricsURLs: nothing is sampled.
const noMetrics = "none"

// target is a base url taken apart.
type target struct {
	base    *url.URL // without /v1, without a slash at the end
	address string   // host:port
}

// settled checks the settings and fills in every default.
func (s Settings) settled(plan *plan.Plan) (Settings, []target, error) {
	if s.RunID == "" {
		return s, nil, errors.New("replay: a run needs an id")
	}
	if err := s.Check(); err != nil {
		return s, nil, err
	}
	targets, err := s.targets()
	if err != nil {
		return s, nil, err
	}
	engines.SetDefault(&s.Endpoint, completionsPath)
	engines.SetDefault(&s.Mode, "open")
	engines.SetDefault(&s.History, historyPlanned)
	engines.SetDefault(&s.watch, 5*time.Second)
	if s.state == nil {
		s.state = host.ReadState
	}
	if len(s.MetricsURLs) == 0 {
		for _, t := range targets {
			s.MetricsURLs = append(s.MetricsURLs, t.base.String()+"/metrics")
		}
	}
	engines.SetDefault(&s.Seed, plan.Header().Seed)
	engines.SetDefault(&s.MaxLateness, host.MostLateness)
	engines.SetDefault(&s.MaxStall, host.MostStall)
	engines.SetDefault(&s.OnDead, onDeadGoOn)
	engines.SetDefault(&s.ConnectTimeout, 10*time.Second)
	engines.SetDefault(&s.FirstByteTimeout, 300*time.Second)
	engines.SetDefault(&s.BetweenBytesTimeout, 60*time.Second)
	if s.MaxFailures == nil {
		s.MaxFailures = new(MostFailed)
	}
	if s.Tell == nil {
		s.Tell = func(string) {}
	}
	if s.Abort == nil {
		s.Abort = context.Background()
	}
	if s.Dial == nil {
		s.Dial, s.dialsPlainly = (&net.Dialer{}).DialContext, true
	}
	if s.Wall == nil {
		s.Wall = time.Now
	}
	if s.beat == nil && s.Sleep != nil { // another clock than the kernel's
		s.beat = host.TimerSleep
	}
	if s.create == nil {
		s.create = createFile
	}
	return s, targets, nil
}

// targets are all servers that are sent to, each once: BaseURLs in their order, then those of Routes by class.
func (s Settings) targets() ([]target, error) {
	addresses := slices.Clone(s.BaseURLs)
	for _, class := range slices.Sorted(maps.Keys(s.Routes)) {
		if _, err := parseTarget(s.Routes[class]); err != nil {
			return nil, hint.Errorf("replay: route of class %q: %s", class, strings.TrimPrefix(err.Error(), "replay: ")).
				Hint("%s", "give it as --route "+class+"=http://host:8000")
		}
		addresses = append(addresses, s.Routes[class])
	}
	if len(addresses) == 0 {
		addresses = []string{""}
	}
	var targets []target
	for i, address := range addresses {
		t, err := parseTarget(address)
		if err != nil {
			return nil, err
		}
		isKnown := slices.ContainsFunc(targets, func(other target) bool { return other.base.String() == t.base.String() })
		if isKnown && i < len(s.BaseURLs) {
			return nil, hint.Misuse("replay: --base-url %s is named twice", t.shown()).Hint("name each replica once: with and without / or /v1 it is the same")
		}
		if !isKnown {
			targets = append(targets, t)
		}
	}
	return targets, nil
}

// modelsAt are the models that requests to a target may ask for, the one that the others are measured by first.
func (s Settings) modelsAt(t target) (models []string) {
	isAt := func(address string) bool {
		other, err := parseTarget(address)
		return err == nil && other.base.String() == t.base.String()
	}
	add := func(model string) {
		if !slices.Contains(models, model) {
			models = append(models, model)
		}
	}
	isBase := slices.ContainsFunc(s.BaseURLs, isAt)
	if isBase {
		add(s.Model)
	}
	for _, class := range slices.Sorted(maps.Keys(s.Routes)) {
		if isAt(s.Routes[class]) {
			add(cmp.Or(s.Models[class], s.Model))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(s.Models)) {
		if isBase && s.Routes[class] == "" {
			add(s.Models[class])
		}
	}
	return models
}

// otherAt is the model that all requests to a target ask for instead of the run's own; empty: some ask for the run's own.
func (s Settings) otherAt(t target) string {
	if models := s.modelsAt(t); len(models) > 0 && !slices.Contains(models, s.Model) {
		return models[0]
	}
	return ""
}

// asksOther says that requests of a class ask for another model than the run's own.
func (s Settings) asksOther(class string) bool { return cmp.Or(s.Models[class], s.Model) != s.Model }

// parseTarget accepts an address with or without /v1, since users copy both.
func parseTarget(base string) (target, error) {
	bad := func(why string) (target, error) {
		return target{}, hint.Errorf("replay: base url: %s", why).Hint("give it as --base-url http://host:8000")
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

// shown is the base url as it is written down and printed.
func (t target) shown() string { return secrets.ShownURL(t.base.String()) }

// tlsConfig is nil for plain HTTP.
func (t target) tlsConfig(s Settings) *tls.Config {
	if t.base.Scheme != "https" {
		return nil
	}
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	engines.SetDefault(&config.ServerName, t.base.Hostname())
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

// scrubber knows all that the settings keep secret: the key, headers, tokens in addresses.
func (s Settings) scrubber() secrets.Scrubber {
	c := secrets.New()
	c.Add(s.APIKey)
	for _, values := range s.Headers {
		for _, value := range values {
			c.AddHeader(value)
		}
	}
	for _, address := range s.MetricsURLs {
		if metrics, err := url.Parse(address); err == nil {
			c.AddQuery(metrics)
			c.AddPath(metrics)
		}
	}
	c.AddJSON(s.Body)
	targets, _ := s.targets() // Check has parsed them before
	for _, t := range targets {
		c.AddPath(t.base)
		c.AddPublic(t.base.Host)
	}
	c.AddPublic(s.Model)
	for _, model := range s.Models {
		c.AddPublic(model)
	}
	c.Seal()
	return c
}
