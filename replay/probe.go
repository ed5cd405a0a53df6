// What each server is: the model that it serves, its engine and version, its configuration, and whether it is a simulator.
// All servers are asked at once, before the run has a folder, so that a wrong address costs nothing. While the run lasts the
// model is watched: a server that was given another model in the middle would make the figures those of neither.

package replay

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
	"tidemark/replay/wire"
)

// Server is what the server says of itself, with secrets taken out.
type Server struct {
	Version     string          `json:"version"`
	IsSimulated bool            `json:"is_simulated"`
	Simulates   *Environment    `json:"simulates"`
	ServerInfo  json.RawMessage `json:"server_info"`
	Models      json.RawMessage `json:"models"`
	Engine      string          `json:"engine"`          // as engines.Recognise says
	EngineBy    string          `json:"engine_known_by"` // and by what
	engine      engines.Engine
	vocabSize   int // 0: it does not say
	card        modelCard
	target      target
	record      serverRecord // where there are several
	alternates  string       // how two answers in a row about its model differ; empty: not at all
}

// modelCard is what /v1/models says of the model that is served, as far as it must not change in a run.
type modelCard struct {
	ID          string `json:"id"`
	Root        string `json:"root"`
	MaxModelLen int    `json:"max_model_len"` // tokens; 0: it does not say
	Owner       string `json:"owned_by,omitempty"`
}

// probeAll asks all targets at once; the error is that of the first of them in order that has one.
func (a *controlClient) probeAll(ctx context.Context, modelsAt func(target) []string, engine string) ([]Server, error) {
	servers, errs := make([]Server, len(a.targets)), make([]error, len(a.targets))
	var asking sync.WaitGroup
	for i, t := range a.targets {
		asking.Go(func() { servers[i], errs[i] = a.probe(ctx, t, engine, modelsAt(t)...) })
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return servers, nil
}

// probe checks before anything is sent that the server is there and has the models, and asks what it is.
func (a *controlClient) probe(ctx context.Context, t target, named string, models ...string) (Server, error) {
	server := Server{target: t}
	status, body, err := a.get(ctx, t.at("/v1/models"))
	if err != nil {
		return server, a.noAnswer(ctx, t, err)
	}
	if status != http.StatusOK {
		return server, a.refused(t, status, body)
	}
	if cards, err := cardsIn(body); err == nil && len(cards) == 0 {
		// A replica that has just started may show an empty list once.
		if again, text, err := a.get(ctx, t.at("/v1/models")); err == nil && again == http.StatusOK {
			body = text
		}
	}
	for i, model := range models {
		card, err := a.checkModel(t, body, model)
		if err != nil {
			return server, err
		}
		if i == 0 {
			server.card = card
		}
	}
	if err := a.watchModel(ctx, server); err != nil {
		server.alternates = "asked twice, " + err.Error() + ": more than one server answers there"
	}
	server.Models = a.scrub.JSON(body)
	server.engine, server.EngineBy = engines.Recognise(named, server.card.Owner, func(path string) []byte { return a.answer(ctx, t, path) })
	server.Engine = server.engine.Name
	if path := server.engine.VersionPath; path != "" {
		server.describe(a.scrub.JSON(a.answer(ctx, t, path)))
	}
	for _, path := range server.engine.SettingsPaths {
		if answer := a.answer(ctx, t, path); answer != nil {
			server.ServerInfo = a.scrub.JSON(answer)
			server.describe(server.ServerInfo)
			break
		}
	}
	server.record = serverRecord{BaseURL: t.shown(), Version: server.Version, IsSimulated: server.IsSimulated,
		modelCard: modelCard{a.scrub.Text(server.card.ID), a.scrub.Text(server.card.Root), server.card.MaxModelLen, a.scrub.Text(server.card.Owner)}}
	return server, ctx.Err()
}

// answer is the body of a good answer to a question that not every server knows; nil otherwise. No answer is no error: gateways
// let only some paths through, and hang up on the others.
func (a *controlClient) answer(ctx context.Context, t target, path string) []byte {
	status, body, err := a.get(ctx, t.at(path))
	if err != nil || status != http.StatusOK {
		return nil
	}
	return body
}

// describe takes up what an answer of /version or /server_info says.
func (s *Server) describe(answer json.RawMessage) {
	var said struct {
		Version   string       `json:"version"`
		Simulated bool         `json:"tidemark_simulated"`
		Simulates *Environment `json:"simulates"`
	}
	_ = json.Unmarshal(answer, &said) // what does not fit stays empty: the server need not say anything
	engines.SetDefault(&s.Version, said.Version)
	s.IsSimulated = s.IsSimulated || said.Simulated
	engines.SetDefault(&s.Simulates, said.Simulates)
	var all any
	if json.Unmarshal(answer, &all) == nil {
		s.vocabSize = max(s.vocabSize, findVocab(all))
	}
}

// findVocab looks for vocab_size wherever the server's version of vLLM has put it.
func findVocab(v any) (size int) {
	switch v := v.(type) {
	case map[string]any:
		if n, ok := v["vocab_size"].(float64); ok && n > 0 && n < 1e9 {
			size = int(n)
		}
		for _, item := range v {
			size = max(size, findVocab(item))
		}
	case []any:
		for _, item := range v {
			size = max(size, findVocab(item))
		}
	}
	return size
}

// What the first questions found wrong, for who asks about each by itself (examine.go).
var (
	errKey   = errors.New("the key is refused")
	errModel = errors.New("the model is not served")
)

// noAnswer says why a server does not answer, and what a user can do about it.
func (a *controlClient) noAnswer(ctx context.Context, t target, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	where := t.shown()
	var dns *net.DNSError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return hint.Errorf("replay: %s: its certificate is not trusted: %s", where, a.scrub.Text(untrusted.Err.Error())).
			Hint("if it is the right server, name its authority: SSL_CERT_FILE=ca.pem")
	case wire.IsRefused(err):
		return hint.Errorf("replay: no server at %s: connection refused", where).
			Mark(ErrNoAnswer).Hint(`start it, or try "tidemark simulate --port 8000" and --base-url http://127.0.0.1:8000`)
	case errors.As(err, &dns):
		return hint.Errorf("replay: %s: no such host %q", where, dns.Name).Mark(ErrNoAnswer).Hint("check --base-url")
	case wire.IsTimeout(err):
		return hint.Errorf("replay: %s did not answer within %v", where, askTimeout).
			Mark(ErrNoAnswer).Hint("check that the server has finished loading its model")
	}
	return hint.Errorf("replay: %s: %s", where, a.scrub.Text(wire.Cause(err))).Mark(ErrNoAnswer).Hint("check --base-url")
}

// refused says what a status other than 200 means for the very first question.
func (a *controlClient) refused(t target, status int, body []byte) error {
	todo := "check --base-url"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		todo = "give the server's key in $OPENAI_API_KEY or with --api-key-file"
		if a.headers.Get("Authorization") != "" {
			todo = "it takes another key than the one that was sent: check $OPENAI_API_KEY or --api-key-file"
		}
	case status == http.StatusNotFound:
		todo = "check --base-url: it should be the address in front of /v1/models"
	case status == http.StatusTooManyRequests:
		todo = "something in front of the server limits requests: replay against the server itself"
	case status >= 500:
		todo = "look at the server's own log: it answers, but is not well"
	case status >= 300 && status < 400:
		todo = "redirects are not followed: give the final address"
	}
	said := ""
	if text := wire.ErrorBody(body).String(); text != "" && status >= 400 {
		said = ": " + a.scrub.Detail(text)
	}
	failed := hint.Errorf("replay: %s answers %d to /v1/models%s", t.shown(), status, said).Hint("%s", todo)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return failed.Mark(errKey)
	}
	return failed
}

// checkModel finds the card of the model that was named; an error lists those that are served.
func (a *controlClient) checkModel(t target, body []byte, model string) (modelCard, error) {
	cards, err := cardsIn(body)
	if err != nil {
		return modelCard{}, hint.Errorf("replay: %s/v1/models: not a list of models", t.shown()).Hint("check --base-url")
	}
	names := make([]string, 0, len(cards))
	for _, card := range cards {
		if card.ID == model && model != "" {
			return card, nil
		}
		names = append(names, a.scrub.Text(card.ID))
	}
	todo := "it serves no model at all"
	if len(names) > 0 {
		flag := "--model"
		if model != a.model {
			flag = "--class-model CLASS=NAME"
		}
		todo = "it serves " + strings.Join(names, ", ") + "; name one with " + flag
	}
	if model == "" {
		return modelCard{}, hint.Errorf("replay: no model named").Hint("%s", todo).Mark(errModel)
	}
	return modelCard{}, hint.Errorf("replay: %s does not serve the model %q", t.shown(), model).Hint("%s", todo).Mark(errModel)
}

func cardsIn(body []byte) ([]modelCard, error) {
	var list struct {
		Data []modelCard `json:"data"`
	}
	err := json.Unmarshal(body, &list)
	var wrong *json.UnmarshalTypeError // a field of another type than vLLM's says nothing
	if errors.As(err, &wrong) && strings.HasPrefix(wrong.Field, "data.") {
		err = nil
	}
	return list.Data, err
}

// watchModel asks once more which model the server serves; an error says how it is no longer the one that the run began with.
// A server that does not answer is not judged here: the load itself shows whether it is down.
func (a *controlClient) watchModel(ctx context.Context, s Server) error {
	status, body, err := a.get(ctx, s.target.at("/v1/models"))
	if err != nil || status != http.StatusOK {
		return nil
	}
	cards, err := cardsIn(body)
	if err != nil {
		return nil
	}
	for _, card := range cards {
		if card.ID != s.card.ID {
			continue
		}
		if card == s.card {
			return nil
		}
		return fmt.Errorf("the server at %s has changed its model: %s was %s and is now %s", s.target.shown(),
			a.scrub.Text(card.ID), a.scrub.Text(s.card.String()), a.scrub.Text(card.String()))
	}
	return fmt.Errorf("the server at %s no longer serves the model %s", s.target.shown(), a.scrub.Text(s.card.ID))
}

func (c modelCard) String() string {
	return fmt.Sprintf("%s of %d tokens", cmp.Or(c.Root, c.ID), c.MaxModelLen)
}
