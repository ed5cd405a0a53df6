// Is a server fit for an hour of load? It is asked what a run asks before it sends, then a few small requests show what no
// question does: whether answers stream, and whether fields that a load rests on are heeded. Each answer is a finding of its
// own, and what is found wrong is said with what to do.

package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

const (
	smallRequests = 3
	smallPrompt   = 16 // tokens
	smallAnswer   = 32
	// freshLooks are on a connection each, so that whoever shares requests out sends them to all of its servers.
	freshLooks = 8
)

// Examine asks each server of the settings what an hour of load needs. Where no model is named, the only one that is served is
// taken. An error is of the settings; what is wrong with a server is a finding.
func Examine(ctx context.Context, s Settings, found func(host.Finding)) error {
	work, err := os.MkdirTemp("", "tidemark-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	path := filepath.Join(work, "plan.jsonl.zst")
	if _, err := plan.Write(path, plan.Header{Source: "doctor"}, plan.Choices{Seed: uint64(time.Now().UnixNano() >> 1), IsBounded: true}, fewSmall); err != nil {
		return err
	}
	planned, err := plan.Open(path)
	if err != nil {
		return err
	}
	s.RunID = "doctor"
	s, targets, err := s.settled(planned)
	if err != nil {
		return err
	}
	for i, t := range targets {
		one := s
		one.BaseURLs, one.Routes, one.Models = []string{t.base.String()}, nil, nil
		if len(targets) > 1 && len(s.MetricsURLs) == len(targets) {
			one.MetricsURLs = s.MetricsURLs[i : i+1]
		}
		e := examination{Settings: one, target: t, found: found, control: newControlClient(one, []target{t})}
		e.do(ctx, planned, filepath.Join(work, fmt.Sprint("run", i)))
		e.control.close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func fewSmall(yield func(plan.Request, error) bool) {
	for i := range smallRequests {
		if !yield(plan.Request{Seq: int64(i), InputTokens: smallPrompt, OutputTokens: smallAnswer}, nil) {
			return
		}
	}
}

// examination is that of one server.
type examination struct {
	Settings
	target  target
	control *controlClient
	found   func(host.Finding)
}

func (e *examination) say(level host.Level, what, answer, todo string) {
	e.found(host.Finding{Of: "server", What: what, Level: level, Answer: strings.TrimPrefix(answer, "replay: "), Todo: todo})
}

// do goes from what a look shows to what requests show; what the next looks rest on ends it where it is wrong.
func (e *examination) do(ctx context.Context, planned *plan.Plan, folder string) {
	e.Model = cmp.Or(e.Model, e.onlyModel(ctx))
	server, err := e.control.probe(ctx, e.target, e.Engine, e.Model)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		e.say(host.Fault, whatFailed(err), err.Error(), hint.Of(err))
		return
	}
	e.known(server)
	e.oneServer(ctx, server)
	e.load(ctx)
	e.answers(ctx, planned, folder, e.fields(ctx, server))
}

// whatFailed is the check that the first questions failed at.
func whatFailed(err error) string {
	switch {
	case errors.Is(err, errKey):
		return "key"
	case errors.Is(err, errModel):
		return "model"
	}
	return "reachable"
}

// onlyModel is empty where the server has none, or several.
func (e *examination) onlyModel(ctx context.Context) string {
	cards, _ := cardsIn(e.control.answer(ctx, e.target, "/v1/models"))
	if len(cards) != 1 {
		return ""
	}
	return cards[0].ID
}

// known says what the first questions have answered.
func (e *examination) known(server Server) {
	is := server.Engine
	if server.Version != "" {
		is += " " + server.Version
	}
	if server.IsSimulated {
		is += ", simulated"
	}
	e.say(host.Good, "reachable", fmt.Sprintf("%s is %s (by %s)", e.target.shown(), is, server.EngineBy), "")
	key := "none is sent, and none is asked for"
	if e.headers().Get("Authorization") != "" {
		key = "accepted"
	}
	e.say(host.Good, "key", key, "")
	model := e.control.scrub.Text(server.card.ID)
	if server.card.MaxModelLen > 0 {
		model += fmt.Sprintf(", %d tokens long", server.card.MaxModelLen)
	}
	e.say(host.Good, "model", model, "")
}

// oneServer looks from fresh connections whether one process answers: its start and its counters tell it from others.
func (e *examination) oneServer(ctx context.Context, server Server) {
	const todo = "give the address of each server (--base-url for each): rates from the counters of several, taken in turn, are fiction"
	if server.alternates != "" {
		e.say(host.Fault, "one server", server.alternates, todo)
		return
	}
	fresh := newControlClient(e.Settings, []target{e.target})
	fresh.client.Transport.(*http.Transport).DisableKeepAlives = true
	starts, counted, isFalling, looks := map[string]bool{}, 0.0, false, 0
	for range freshLooks {
		for _, one := range fresh.expositions(ctx, e.MetricsURLs) {
			if one.address != e.target.at("/metrics") || one.text == nil {
				continue // another exporter's
			}
			now := engines.CountedIn(one.text)
			isFalling = isFalling || now < counted
			counted, starts[engines.StartIn(one.text)] = now, true
			looks++
		}
	}
	switch {
	case len(starts) > 1:
		e.say(host.Fault, "one server", fmt.Sprintf("%d processes answer at this address: they began at different times", len(starts)), todo)
	case isFalling:
		e.say(host.Fault, "one server", "its counters fall from look to look: more than one server answers at this address", todo)
	case looks < 2:
		e.say(host.Good, "one server", "the same model at each look; without /metrics more is not known", "")
	default:
		e.say(host.Good, "one server", fmt.Sprintf("the same at %d looks", looks), "")
	}
}

// load looks whether the server says what it runs, and whether that is nothing.
func (e *examination) load(ctx context.Context) {
	at, isKnown := loadOf(e.control.expositions(ctx, e.MetricsURLs))
	if !isKnown {
		e.say(host.Note, "metrics", "no metrics of an engine at "+e.control.scrub.Text(strings.Join(e.MetricsURLs, ", ")),
			"let /metrics through, or name its address with --metrics-url: without it nobody knows what the server did, or whether others used it")
		return
	}
	e.say(host.Good, "metrics", "it says what it runs", "")
	if !at.IsIdle() {
		e.say(host.Fault, "shared", shared(at.Running, at.Waiting), "find out who else uses it, or wait until it is idle (replay --drain-timeout 10m)")
		return
	}
	e.say(host.Good, "shared", "nothing runs or waits there", "")
}

// shared says that others use a server.
func shared(running, waiting int64) string {
	return fmt.Sprintf("the server runs %d requests and has %d waiting, none of them ours: figures would be of both loads", running, waiting)
}

// fields sends fields of a load with values of a wrong type: a server that knows a field refuses them, one that does not know it, or
// whose gateway takes it out, answers. It tells whether answers may be short by that.
func (e *examination) fields(ctx context.Context, server Server) (mayBeShort bool) {
	names := []string{"ignore_eos"}
	if server.engine.Fields.MinTokens {
		names = append(names, "min_tokens")
	}
	var ignored, heeded []string
	for _, name := range names {
		question := map[string]any{"model": e.Model, "max_tokens": 1, name: []string{"neither"}}
		if e.Endpoint == chatPath {
			question["messages"] = []map[string]string{{"role": "user", "content": "one"}}
		} else {
			question["prompt"] = "one"
		}
		status, _, err := e.control.post(ctx, e.target.at(e.Endpoint), question)
		switch {
		case err != nil: // the small requests show what is wrong
		case status == http.StatusOK:
			ignored = append(ignored, name)
		case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
			heeded = append(heeded, name)
		}
	}
	switch {
	case len(ignored) > 0:
		e.say(host.Fault, "fields", strings.Join(ignored, " and ")+": not heeded, so that answers end where the model likes and not at the plan's length",
			"send to the server itself and not through a gateway that drops fields; else let answers end early with --body")
	case len(heeded) > 0:
		e.say(host.Good, "fields", strings.Join(heeded, " and ")+": heeded", "")
	}
	return len(ignored) > 0
}

// answered is a small request that is over.
type answered struct {
	Watched
	gaps []time.Duration
}

// answers sends a few small requests, one after the other, and looks at how their tokens come. That they are shorter than asked is no
// second fault where they may be.
func (e *examination) answers(ctx context.Context, planned *plan.Plan, folder string, mayBeShort bool) {
	s := e.Settings
	s.Mode, s.MaxConcurrency, s.MetricsURLs, s.SLO, s.DrainTimeout, s.WarmUp = schedule.Closed, 1, []string{noMetrics}, nil, 0, 0
	s.History, s.Tell, s.Progress = historyPlanned, nil, nil
	if mayBeShort {
		s.Body = s.endingEarly()
	}
	var seen sync.Mutex
	var over []answered
	s.Watch = func(w Watched) {
		if w.IsOver {
			seen.Lock()
			over = append(over, answered{w, w.Gaps()})
			seen.Unlock()
		}
	}
	_, err := Run(ctx, planned, s, folder)
	var good []answered
	for _, w := range over {
		if w.Failure == "" {
			good = append(good, w)
		} else if err == nil {
			err = fmt.Errorf("%s: %s", w.Failure, e.control.scrub.Text(w.Detail))
		}
	}
	if len(good) < smallRequests {
		if err == nil {
			err = errors.New("they were not sent")
		}
		e.say(host.Fault, "answers", fmt.Sprintf("%d of %d small requests failed: %s", smallRequests-len(good), smallRequests, strings.TrimPrefix(err.Error(), "replay: ")),
			cmp.Or(hint.Of(err), "mend this first: the requests of a load would fail alike"))
		return
	}
	// A proxy that buffers does so with each of them, and a client that stands still with one.
	if mayBeShort {
		if good = slices.DeleteFunc(good, func(w answered) bool { return len(w.gaps) < smallAnswer/4 }); len(good) == 0 {
			return // so few tokens do not tell
		}
	}
	best := slices.MinFunc(good, func(a, b answered) int { return cmp.Compare(a.together(), b.together()) })
	answer := fmt.Sprintf("of %d tokens: the first after %.3g ms, the last after %.3g ms", best.Tokens, 1e3*(best.First-best.Sent).Seconds(), 1e3*(best.Last-best.Sent).Seconds())
	if best.together() > 0.5 {
		e.say(host.Fault, "streams", fmt.Sprintf("answers %s; %.0f %% of what came after the first chunk came at once with another: something on the way buffers them", answer, 100*best.together()),
			"send to the server itself, or switch buffering off in the proxy (nginx: proxy_buffering off): time per token is the proxy's otherwise")
		return
	}
	e.say(host.Good, "streams", "answers "+answer, "")
}

// together is the share of an answer's chunks that came at the instant of the one before: within a fiftieth of the answer's time, where
// an even stream has a thirtieth between two. Of an answer in one chunk it is all.
func (w answered) together() float64 {
	if len(w.gaps) == 0 {
		return 1
	}
	n := 0
	for _, gap := range w.gaps {
		if gap < (w.Last-w.Sent)/50 {
			n++
		}
	}
	return float64(n) / float64(len(w.gaps))
}
