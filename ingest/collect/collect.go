// Package collect asks a Prometheus server, by its HTTP API, for what a week of a service needs, and keeps the answers in one
// growing file, which ingest takes in as one source (prometheus-collected).
//
//	collect.go   Run: the groups of series, what is missing of each, one question after another
//	metrics.go   which names are asked for, by what the seed knows of engines and GPUs
//	newest.go    up to which instant the server has samples
//	ranges.go    which instants are missing, cut into questions that a server answers
//	server.go    one question: authorization, limits, errors in words
//	file.go      the growing file
//
// Instants lie on a clock of whole steps, so that a later call asks for those after the last one, and for nothing twice. The answer
// for an instant is the newest sample of the five minutes before it (the server's look-back), so nothing is asked for after the newest
// sample of all. Counters are stored as they are:
// staging.metric_intervals reads growth, resets and gaps out of them.
package collect

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/replay/secrets"
)

// Settings say what is asked of whom. URL, Service, Path and Until must be set.
type Settings struct {
	Service  string
	URL      string // of the server, with the path before /api/v1 where there is one
	Selector string // label matchers that choose the service's series: model_name="llama"; empty: all
	Path     string // of the growing file
	Since    time.Time
	Until    time.Time
	IsFresh  bool // begin the file again; an earlier one is kept beside it
	Auth     Auth
	Version  string
	Client   *http.Client // nil: one of its own
	Steps    Steps
	Told     func(done, of int) // after each question; may be nil
}

// Steps between two instants of a series, each a multiple of the first. The zero value is DefaultSteps.
type Steps struct{ Counters, GPUs, Histograms time.Duration }

// DefaultSteps: rates, tokens and gauges are wanted by the minute. A histogram has some twenty series per replica, and its hours are
// all that is shown: by the quarter of an hour it costs a fifteenth of what it would by the minute, and the hours of every time zone
// begin at a quarter of UTC's.
var DefaultSteps = Steps{Counters: time.Minute, GPUs: 5 * time.Minute, Histograms: 15 * time.Minute}

// Since is how far the first call goes back where nothing is said.
const Since = 8 * 24 * time.Hour

// Result is what came of it.
type Result struct {
	Path     string
	IsNew    bool      // the file was begun
	From     time.Time // of what was asked now; zero: nothing was missing
	Until    time.Time
	Requests int
	Series   int // most in one answer, over the groups
	Notes    []string
}

// group of series that are asked for together, at the same instants.
type group struct {
	name  string
	step  time.Duration
	query string
}

// Look counts the metrics of an engine that the server has of the last hour; none is an error that says why.
func Look(ctx context.Context, s Settings) (metrics int, err error) {
	selector, err := matchers(s.Selector)
	if err != nil {
		return 0, err
	}
	ask, err := newServer(s)
	if err != nil {
		return 0, err
	}
	s.Until = time.Now()
	s.Since = s.Until.Add(-time.Hour)
	_, ofEngine, err := ask.groups(ctx, s, selector)
	return len(ofEngine), err
}

// Run asks for what the file lacks and appends it. What was answered before an error stays, and is not asked again.
func Run(ctx context.Context, s Settings) (result Result, err error) {
	s.Steps = cmp.Or(s.Steps, DefaultSteps)
	selector, err := matchers(s.Selector)
	if err != nil {
		return result, err
	}
	ask, err := newServer(s)
	if err != nil {
		return result, err
	}
	file, err := openFile(s, selector)
	if err != nil {
		return result, err
	}
	defer file.file.Close()
	result.Path, result.IsNew = s.Path, file.isNew
	if s.Since.IsZero() {
		s.Since = cmp.Or(file.until(), s.Until.Add(-Since))
	}
	s.Since = aligned(s.Since, s.Steps.Histograms)
	groups, ofEngine, err := ask.groups(ctx, s, selector)
	if err != nil {
		return result, err
	}
	newest, err := ask.newest(ctx, ofEngine, selector, s.Since, s.Until)
	if err != nil {
		return result, err
	}
	nothing := fmt.Sprintf("no series of %s has a value between %s and %s", secrets.ShownURL(s.URL), written(s.Since), written(s.Until))
	switch lag := s.Until.Sub(newest); {
	case newest.IsZero() && file.isNew:
		if now := time.Now(); now.Sub(s.Until) < 2*lookBack {
			if at, err := ask.lastOf(ctx, ofEngine, selector, now); err == nil && at.After(s.Until) {
				return result, justBegun(secrets.ShownURL(s.URL), s.Until)
			}
		}
		return result, hint.Errorf("collect: %s", nothing).Hint("is the service running, and scraped? the page /targets of the server says so")
	case newest.IsZero():
		groups = nil
	case lag > lookBack:
		result.Notes = append(result.Notes, fmt.Sprintf("the newest sample of the service is of %s: what comes after it is asked for another time", written(newest)))
	}
	if !hasAny(groups, "gpus") {
		result.Notes = append(result.Notes, "no GPU figures: the server has no series of the DCGM exporter that belong to this service")
	}
	if note := s.fit(file, ask.rhythm(ctx, ofEngine, selector, newest)); note != "" {
		result.Notes = append(result.Notes, note)
	}
	var questions []question
	for _, g := range groups {
		if g.name == counts || g.name == tokenSums || g.name == starts {
			g.step = s.Steps.Counters
		}
		since := s.Since
		if g.name == tokenSums && len(file.asked[tokenSums]) == 0 {
			since = file.since(since) // up to 0.1.0 they were asked for by the quarter of an hour
		}
		questions = append(questions, missing(g, file.asked[g.name], since, earlier(newest, s.Until))...)
	}
	defer func() { result.Requests = ask.requests }()
	series, silences := map[string]int{}, 0
	for i := 0; i < len(questions); i++ {
		q := questions[i]
		answer, err := ask.rangeOf(ctx, q)
		if silences++; !isSilence(err) {
			silences = 0
		}
		// A question that takes too long is asked in parts, but a server that answers none of three hangs.
		mayBeSplit := isTooMuch(err) || isSilence(err) && silences < 3
		if halves := q.halves(); mayBeSplit && len(halves) == 2 {
			questions = append(questions[:i], append(halves, questions[i+1:]...)...)
			i--
			continue
		}
		if err != nil {
			return result, err
		}
		found, err := file.add(q, answer)
		if err != nil {
			return result, err
		}
		series[q.group.name] = max(series[q.group.name], found)
		if from := q.from; result.From.IsZero() || from.Before(result.From) {
			result.From = from
		}
		if q.until.After(result.Until) {
			result.Until = q.until
		}
		if s.Told != nil {
			s.Told(i+1, len(questions))
		}
	}
	for _, n := range series {
		result.Series += n
	}
	if newest.IsZero() || len(questions) > 0 && result.Series == 0 {
		result.Notes = append(result.Notes, nothing)
	}
	return result, file.file.Sync()
}

// fit sets how often counters are asked for: as the file has it, or by how often the service is scraped. note: the file does not fit that.
func (s *Settings) fit(file *growing, rhythm time.Duration) (note string) {
	fitting := s.Steps.Counters
	if rhythm > fitting {
		fitting = stepOver(rhythm)
	}
	if file.isNew {
		file.head.CounterS = fitting.Seconds()
	}
	s.Steps.Counters = time.Duration(file.head.CounterS * float64(time.Second))
	scraped := fmt.Sprintf("the service is scraped every %s", rhythm)
	switch {
	case rhythm <= DefaultSteps.Counters:
		return ""
	case s.Steps.Counters < fitting:
		return fmt.Sprintf("%s, and the file asks every %s: its busiest five minutes are too high; --fresh begins again by %s", scraped, s.Steps.Counters, fitting)
	case fitting%rhythm != 0:
		return scraped + ": its busiest five minutes are off by what comes between two scrapes; scrape every 60 s or more often"
	}
	return fmt.Sprintf("%s: bursts within that time are not seen, and counters are asked for every %s", scraped, s.Steps.Counters)
}

func hasAny(groups []group, name string) bool {
	return slices.ContainsFunc(groups, func(g group) bool { return g.name == name })
}

// matchers are the label matchers of a selector, without its braces. A name before them is refused: all metrics of a service
// are asked for.
func matchers(selector string) (string, error) {
	text := strings.TrimSpace(selector)
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	text = strings.TrimSuffix(text, ",")
	if text != "" && !isMatchers.MatchString(text) {
		return "", hint.Misuse("collect: the selector %s is not a list of label matchers", selector).Hint(`metrics_selector: 'model_name="llama-3.1-70b", namespace="prod"'`)
	}
	return text, nil
}

var isMatchers = regexp.MustCompile(`^\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(=|!=|=~|!~)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(\s*,\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(=|!=|=~|!~)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))*\s*$`)

// written is an instant as messages have it.
func written(t time.Time) string { return show.Instant(t.UTC()) }
