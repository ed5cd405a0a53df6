package kit

// The flags that say where and how a plan is sent: servers, routes, headers, limits. They
// become replay.Settings, which replay checks without asking a server.
//
// Secrets: the API key comes from the environment or a file, never from a flag, because
// every user of a machine can read the flags of a process. Error messages name neither a
// header's text nor a key.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/replay"
	"tidemark/replay/engines"
	"tidemark/replay/secrets"
)

// Target says where and how a plan is sent.
type Target struct {
	To                                      replay.Settings // what needs no reading
	BaseURLs, Routes, Models                cli.StringSlice
	classFiles                              cli.StringSlice
	Headers, MetricsURLs                    cli.StringSlice
	SLO, Body, APIKeyFile, HeaderFile, Runs string // files, and the folder of the runs
	maxFailures                             float64
}

// Flags are those of a replay.
func (t *Target) Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "base-url", Usage: "the server, as `http://host:port`; again for each replica, which take turns", Destination: &t.BaseURLs},
		&cli.StringSliceFlag{Name: "route", Usage: "send a class to a server of its own, as `CLASS=URL`", Destination: &t.Routes},
		&cli.StringSliceFlag{Name: "class-model", Usage: "a class asks for a model of its own, as `CLASS=NAME`", Destination: &t.Models},
		&cli.StringSliceFlag{Name: "class-environment", Usage: "what the model of a class runs on, as `CLASS=FILE` of JSON like that of --environment", Destination: &t.classFiles},
		&cli.StringFlag{Name: "replica-header", Usage: "the header `NAME` in which a router says which replica answered", Destination: &t.To.ReplicaHeader},
		&cli.StringFlag{Name: "endpoint", Usage: "`PATH` to send to: /v1/completions or /v1/chat/completions", Value: "/v1/completions", Destination: &t.To.Endpoint},
		&cli.StringFlag{Name: "model", Usage: "the `NAME` the server serves", Destination: &t.To.Model},
		&cli.StringFlag{Name: "body", Usage: "add the fields of the JSON object in `FILE` to each request: sampling, an adapter, a schema", Destination: &t.Body},
		&cli.IntFlag{Name: "max-concurrency", Usage: "at most `N` in flight; over an open loop the wait is shown as held", Destination: &t.To.MaxConcurrency},
		&cli.StringFlag{Name: "history", Usage: "later turns of sessions repeat what was `planned` or what was answered", Value: "planned", Destination: &t.To.History, Action: OneOf("history", "planned", "answered")},
		&cli.StringFlag{Name: "cache", Usage: "the prefix cache: leave it `as-is`, reset it before, or cold: share nothing", Value: "as-is", Destination: &t.To.Cache, Action: OneOf("cache", "as-is", "reset", "cold")},
		&cli.DurationFlag{Name: "warm-up", Usage: "flag the first `30s` and leave them out of every figure", Destination: &t.To.WarmUp},
		&cli.DurationFlag{Name: "drain-timeout", Usage: "wait up to `5m` for a server that still runs other requests", Destination: &t.To.DrainTimeout},
		&cli.StringFlag{Name: "slo", Usage: "judge the run by the SLO in `FILE`", Destination: &t.SLO},
		&cli.StringFlag{Name: "runs", Usage: "keep runs in `DIR`", Value: "runs", Destination: &t.Runs},
		&cli.StringFlag{Name: "name", Usage: "call the run `NAME`", Destination: &t.To.Name},
		&cli.StringFlag{Name: "note", Usage: "`TEXT` that a reader of the run must know", Destination: &t.To.Note},
		&cli.StringFlag{Name: "api-key-file", Usage: "read the API key from `FILE`", Destination: &t.APIKeyFile},
		&cli.StringSliceFlag{Name: "header", Usage: "send `\"Name: value\"` with each request; every user of this machine can see it, a secret belongs in --header-file", Destination: &t.Headers},
		&cli.StringFlag{Name: "header-file", Usage: "send the headers in `FILE`, one \"Name: value\" a line, with each request", Destination: &t.HeaderFile},
		&cli.StringSliceFlag{Name: "metrics-url", Usage: "read metrics from `URL` each second (default: the server's /metrics); again for more, a DCGM exporter say; none for none", Destination: &t.MetricsURLs},
		&cli.Float64Flag{Name: "max-failures", Usage: "exit with 1 if more than this `SHARE` of the requests failed or was not sent; an SLO's own failure_ratio replaces it", Value: replay.MostFailed, Destination: &t.maxFailures},
		&cli.StringFlag{Name: "on-dead", Usage: "when a server refuses connections and others are left: `go-on` without it, or stop", Value: "go-on", Destination: &t.To.OnDead},
		&cli.DurationFlag{Name: "max-lateness", Usage: "a run whose p99 lateness is above `10ms` is invalid; not a closed loop", Value: 10 * time.Millisecond, Destination: &t.To.MaxLateness},
		&cli.DurationFlag{Name: "max-stall", Usage: "a run in which this client itself stood still for `250ms` is invalid", Value: 250 * time.Millisecond, Destination: &t.To.MaxStall},
		&cli.DurationFlag{Name: "first-byte-timeout", Usage: "end a request after `5m` without an answer", Value: 5 * time.Minute, Destination: &t.To.FirstByteTimeout},
		&cli.DurationFlag{Name: "between-bytes-timeout", Usage: "end a stream after `1m` of silence", Value: time.Minute, Destination: &t.To.BetweenBytesTimeout},
		&cli.IntFlag{Name: "vocab-size", Usage: "draw token ids below `N` (0: what the server says, else 8192)", Destination: &t.To.VocabHigh},
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

// SLOOf is an SLO file as a run keeps it; none without a path.
func SLOOf(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	slo, err := analysis.ReadSLO(path)
	if err != nil {
		return nil, hint.AsMisuse(err)
	}
	return json.Marshal(slo)
}

// Check is a misuse error if nothing says where to send.
func (t *Target) Check(c *Call) error {
	if len(t.BaseURLs.Value()) == 0 && len(t.Routes.Value()) == 0 {
		return hint.Misuse("%s: --base-url is missing", c.Verb).Hint("tidemark %s --help", c.Verb)
	}
	return c.Require("model")
}

// Settings are those of a replay, without asking any server.
func (t *Target) Settings(c *Call, mode, engine string) (settings replay.Settings, err error) {
	settings = t.To
	settings.BaseURLs, settings.MetricsURLs, settings.MaxFailures = t.BaseURLs.Value(), t.MetricsURLs.Value(), &t.maxFailures
	settings.Mode, settings.Engine, settings.Version, settings.Abort = mode, serverEngine(engine), Version, HardStop(c.Context)
	if settings.Cache == "as-is" {
		settings.Cache = ""
	}
	if settings.APIKey, err = apiKey(t.APIKeyFile); err != nil {
		return settings, err
	}
	if settings.Headers, err = headersOf(t.Headers.Value(), t.HeaderFile); err != nil {
		return settings, err
	}
	if settings.Routes, err = ByClass("route", "http://gpu1:8000", t.Routes.Value()); err != nil {
		return settings, err
	}
	if settings.Models, err = ByClass("class-model", "llama", t.Models.Value()); err != nil {
		return settings, err
	}
	if settings.Environments, err = t.environments(c.Verb, settings); err != nil {
		return settings, err
	}
	if settings.SLO, err = SLOOf(t.SLO); err != nil {
		return settings, err
	}
	if settings.Body, err = FileOf("body", t.Body); err != nil {
		return settings, err
	}
	return settings, hint.AsMisuse(settings.Check())
}

// environments reads what the models that classes ask for run on, by model.
func (t *Target) environments(verb string, settings replay.Settings) (map[string]*deployment.Deployment, error) {
	files, err := ByClass("class-environment", "h200.json", t.classFiles.Value())
	if err != nil {
		return nil, err
	}
	found := map[string]*deployment.Deployment{}
	for _, class := range slices.Sorted(maps.Keys(files)) {
		model := settings.Models[class]
		switch {
		case model == "":
			return nil, hint.Misuse("%s: --class-environment: class %q asks for no model of its own", verb, class).Hint("name it with --class-model %s=NAME", class)
		case model == settings.Model:
			return nil, hint.Misuse("%s: --class-environment: class %q asks for %s, as --model does", verb, class, model).Hint("say what that model runs on with --environment %s", files[class])
		}
		d, err := EnvironmentFile(files[class])
		if err != nil {
			return nil, fmt.Errorf("environment %s: %w", files[class], err)
		}
		if other := found[model]; other != nil && *other != d {
			return nil, hint.Misuse("%s: --class-environment: two classes ask for %s, and it is said to run on different things", verb, model).Hint("name it once: each model has one deployment")
		}
		found[model] = &d
	}
	return found, nil
}

// ByClass reads CLASS=VALUE of a flag. A class has one value.
func ByClass(flag, example string, lines []string) (map[string]string, error) {
	values := map[string]string{}
	for _, line := range lines {
		class, value, found := strings.Cut(line, "=")
		if !found || class == "" || value == "" {
			return nil, hint.Misuse("--%s %q: not a class and what it has", flag, line).Hint("--%s short=%s", flag, example)
		}
		if _, twice := values[class]; twice {
			return nil, hint.Misuse("--%s: class %q twice", flag, class)
		}
		values[class] = value
	}
	return values, nil
}

// headersOf takes headers from flags and from a file. An error names none of their text: a line without a colon may be a
// secret alone.
func headersOf(lines []string, file string) (http.Header, error) {
	headers := http.Header{}
	for i, line := range lines {
		if !addHeader(headers, line) {
			return nil, hint.Misuse("--header: number %d has no colon", i+1).Hint(`--header "Name: value"`)
		}
	}
	text, err := FileOf("header-file", file)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) != "" && !addHeader(headers, line) {
			return nil, hint.Misuse("--header-file %s: line %d has no colon", file, i+1).Hint("write each header as Name: value")
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

// ShownServers are the servers that are sent to, without what is secret in their addresses.
func ShownServers(s replay.Settings) string {
	var shown []string
	for _, address := range s.BaseURLs {
		shown = append(shown, secrets.ShownURL(address))
	}
	return strings.Join(shown, ", ")
}

// apiKey trims the file: editors end it with a line feed, which no header may have.
func apiKey(file string) (string, error) {
	if file == "" {
		return os.Getenv("OPENAI_API_KEY"), nil
	}
	text, err := FileOf("api-key-file", file)
	return strings.TrimSpace(string(text)), err
}
