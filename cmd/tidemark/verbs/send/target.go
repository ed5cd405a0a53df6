package send

// The flags that say where and how a plan is sent: servers, routes, headers, limits. They
// become replay.Settings, which replay checks without asking a server.
//
// Secrets: the API key comes from the environment or a file, never from a flag, because
// every user of a machine can read the flags of a process. Error messages name neither a
// header's text nor a key.

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/replay"
	"tidemark/replay/engines"
	"tidemark/replay/secrets"
)

// targetFlags say where and how a plan is sent.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "base-url", Usage: "the server, as `http://host:port`; again for each replica, which take turns"},
		&cli.StringSliceFlag{Name: "route", Usage: "send a class to a server of its own, as `CLASS=URL`"},
		&cli.StringFlag{Name: "endpoint", Usage: "`PATH` to send to: /v1/completions or /v1/chat/completions", Value: "/v1/completions"},
		&cli.StringFlag{Name: "model", Usage: "the `NAME` the server serves"},
		&cli.StringFlag{Name: "body", Usage: "add the fields of the JSON object in `FILE` to each request: sampling, an adapter, a schema"},
		&cli.IntFlag{Name: "max-concurrency", Usage: "at most `N` in flight; over an open loop the wait is shown as held"},
		&cli.StringFlag{Name: "history", Usage: "later turns of sessions repeat what was `planned` or what was answered", Value: "planned"},
		&cli.StringFlag{Name: "cache", Usage: "the prefix cache: leave it `as-is`, reset it before, or cold: share nothing", Value: "as-is"},
		&cli.DurationFlag{Name: "warm-up", Usage: "flag the first `30s` and leave them out of every figure"},
		&cli.DurationFlag{Name: "drain-timeout", Usage: "wait up to `5m` for a server that still runs other requests"},
		&cli.StringFlag{Name: "slo", Usage: "judge the run by the SLO in `FILE`"},
		&cli.StringFlag{Name: "runs", Usage: "keep runs in `DIR`", Value: "runs"},
		&cli.StringFlag{Name: "name", Usage: "call the run `NAME`"},
		&cli.StringFlag{Name: "note", Usage: "`TEXT` that a reader of the run must know"},
		&cli.StringFlag{Name: "api-key-file", Usage: "read the API key from `FILE`"},
		&cli.StringSliceFlag{Name: "header", Usage: "send `\"Name: value\"` with each request; every user of this machine can see it, a secret belongs in --header-file"},
		&cli.StringFlag{Name: "header-file", Usage: "send the headers in `FILE`, one \"Name: value\" a line, with each request"},
		&cli.StringSliceFlag{Name: "metrics-url", Usage: "read metrics from `URL` each second (default: the server's /metrics); again for more, a DCGM exporter say; none for none"},
		&cli.Float64Flag{Name: "max-failures", Usage: "exit with 1 if more than this `SHARE` of the requests failed or was not sent; an SLO's own failure_ratio replaces it", Value: 0.01},
		&cli.StringFlag{Name: "on-dead", Usage: "when a server refuses connections and others are left: `go-on` without it, or stop", Value: "go-on"},
		&cli.DurationFlag{Name: "max-lateness", Usage: "a run whose p99 lateness is above `10ms` is invalid; not a closed loop", Value: 10 * time.Millisecond},
		&cli.DurationFlag{Name: "max-stall", Usage: "a run in which this client itself stood still for `250ms` is invalid", Value: 250 * time.Millisecond},
		&cli.DurationFlag{Name: "first-byte-timeout", Usage: "end a request after `5m` without an answer", Value: 5 * time.Minute},
		&cli.DurationFlag{Name: "between-bytes-timeout", Usage: "end a stream after `1m` of silence", Value: time.Minute},
		&cli.IntFlag{Name: "vocab-size", Usage: "draw token ids below `N` (0: what the server says, else 8192)"},
	}
}

// serverEngine is the kind of server that an engine's name stands for: an engine that the load engine has no file for, such as
// TensorRT-LLM, is spoken to as a plain OpenAI server.
func serverEngine(name string) string {
	name = strings.ToLower(name)
	if _, isKnown := engines.Named(name); isKnown || name == "" {
		return name
	}
	return engines.OpenAI.Name
}

// sloOf is an SLO file as a run keeps it; none without a path.
func sloOf(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	slo, err := analysis.ReadSLO(path)
	if err != nil {
		return nil, hint.AsMisuse(err)
	}
	return json.Marshal(slo)
}

// settingsOf reads the flags above, without asking any server.
func settingsOf(c *cli.Context) (replay.Settings, error) {
	key, err := apiKey(c)
	if err != nil {
		return replay.Settings{}, err
	}
	headers, err := headersOf(c)
	if err != nil {
		return replay.Settings{}, err
	}
	routes, err := routesOf(c.StringSlice("route"))
	if err != nil {
		return replay.Settings{}, err
	}
	slo, err := sloOf(c.String("slo"))
	if err != nil {
		return replay.Settings{}, err
	}
	body, err := kit.FileOf("body", c.String("body"))
	if err != nil {
		return replay.Settings{}, err
	}
	cache := c.String("cache")
	if cache == "as-is" {
		cache = ""
	}
	maxFailures := c.Float64("max-failures")
	settings := replay.Settings{
		BaseURLs: c.StringSlice("base-url"), Routes: routes, Endpoint: c.String("endpoint"), Model: c.String("model"),
		Engine: serverEngine(c.String("engine")), Body: body, APIKey: key, Headers: headers, MetricsURLs: c.StringSlice("metrics-url"),
		Mode: c.String("mode"), MaxConcurrency: c.Int("max-concurrency"), History: c.String("history"), Cache: cache,
		WarmUp: c.Duration("warm-up"), DrainTimeout: c.Duration("drain-timeout"), SLO: slo,
		Name: c.String("name"), Note: c.String("note"), Version: kit.Version,
		MaxLateness: c.Duration("max-lateness"), MaxStall: c.Duration("max-stall"), FirstByteTimeout: c.Duration("first-byte-timeout"),
		BetweenBytesTimeout: c.Duration("between-bytes-timeout"), MaxFailures: &maxFailures, OnDead: c.String("on-dead"), VocabHigh: c.Int("vocab-size"),
		Abort: kit.HardStop(c.Context),
	}
	if err := settings.Check(); err != nil {
		return replay.Settings{}, hint.AsMisuse(err)
	}
	return settings, nil
}

// routesOf reads CLASS=URL. A class goes to one server.
func routesOf(lines []string) (map[string]string, error) {
	routes := map[string]string{}
	for _, line := range lines {
		class, url, found := strings.Cut(line, "=")
		if !found || class == "" || url == "" {
			return nil, hint.Misuse("--route %q: not a class and a server", line).Hint("--route short=http://gpu1:8000")
		}
		if _, twice := routes[class]; twice {
			return nil, hint.Misuse("--route: class %q twice", class)
		}
		routes[class] = url
	}
	return routes, nil
}

// headersOf takes headers from flags and from a file. An error names none of their text: a line without a colon may be a
// secret alone.
func headersOf(c *cli.Context) (http.Header, error) {
	headers := http.Header{}
	for i, line := range c.StringSlice("header") {
		if !addHeader(headers, line) {
			return nil, hint.Misuse("--header: number %d has no colon", i+1).Hint(`--header "Name: value"`)
		}
	}
	text, err := kit.FileOf("header-file", c.String("header-file"))
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) != "" && !addHeader(headers, line) {
			return nil, hint.Misuse("--header-file %s: line %d has no colon", c.String("header-file"), i+1).Hint("write each header as Name: value")
		}
	}
	return headers, nil
}

// addHeader reports whether the line has a colon.
func addHeader(headers http.Header, line string) bool {
	name, value, found := strings.Cut(line, ":")
	if found {
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return found
}

// shownServers are the servers that are sent to, without what is secret in their addresses.
func shownServers(s replay.Settings) string {
	var shown []string
	for _, address := range s.BaseURLs {
		shown = append(shown, secrets.ShownURL(address))
	}
	return strings.Join(shown, ", ")
}

// apiKey trims the file: editors end it with a line feed, which no header may have.
func apiKey(c *cli.Context) (string, error) {
	if c.String("api-key-file") == "" {
		return os.Getenv("OPENAI_API_KEY"), nil
	}
	text, err := kit.FileOf("api-key-file", c.String("api-key-file"))
	return strings.TrimSpace(string(text)), err
}

// settleHistory has turns that repeat what was answered wait for that answer: --mode sessions is the only one in which they do.
func settleHistory(c *cli.Context) error {
	if c.String("history") != "answered" {
		return nil
	}
	if !c.IsSet("mode") {
		return c.Set("mode", "sessions")
	}
	if mode := c.String("mode"); mode != "sessions" {
		return hint.Misuse("%s: --history answered: with --mode %s no turn waits for the answer before it", c.Command.Name, mode).
			Hint("take --mode sessions, or leave --mode out")
	}
	return nil
}
