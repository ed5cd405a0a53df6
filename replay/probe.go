package replay

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server is what the server says of itself, with secrets taken out.
type Server struct {
	Version     string          `json:"version"`
	IsSimulated bool            `json:"is_simulated"`
	Simulates   *Environment    `json:"simulates"`
	ServerInfo  json.RawMessage `json:"server_info"`
	Models      json.RawMessage `json:"models"`
	vocabSize   int             // 0: it does not say
}

// asker sends the small requests beside the load: questions before it, samples during it.
type asker struct {
	client  *http.Client
	target  target
	headers http.Header
	scrub   scrubber
}

func newAsker(s Settings, t target) *asker {
	return &asker{
		target: t, headers: s.headers(), scrub: newScrubber(s),
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: s.Dial, TLSClientConfig: t.tlsConfig(s), IdleConnTimeout: idleLimit,
				TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1, as the load
			},
		},
	}
}

func (a *asker) close() { a.client.CloseIdleConnections() }

const (
	askTimeout = 10 * time.Second
	askLimit   = 32 << 20 // bytes of an answer
)

// get asks one address. The key goes to the target only: a metrics address may be somebody else's.
func (a *asker) get(ctx context.Context, address string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	if req.URL.Host == a.target.base.Host && req.URL.Scheme == a.target.base.Scheme {
		req.Header = a.headers.Clone()
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, askLimit))
	return resp.StatusCode, body, err
}

func (a *asker) at(path string) string { return a.target.base.String() + path }

// probe checks before anything is sent that the server is there and has the model, and asks what it is.
func (a *asker) probe(ctx context.Context, model string) (Server, error) {
	var server Server
	status, body, err := a.get(ctx, a.at("/v1/models"))
	if err != nil {
		return server, a.noAnswer(ctx, err)
	}
	if status != http.StatusOK {
		return server, a.refused(status, body)
	}
	if err := a.checkModel(body, model); err != nil {
		return server, err
	}
	server.Models = a.scrub.json(body)
	if status, body, err := a.get(ctx, a.at("/version")); err == nil && status == http.StatusOK {
		server.describe(a.scrub.json(body))
	}
	if status, body, err := a.get(ctx, a.at("/server_info?config_format=json")); err == nil && status == http.StatusOK {
		server.ServerInfo = a.scrub.json(body)
		server.describe(server.ServerInfo)
	}
	return server, ctx.Err()
}

// describe takes up what an answer of /version or /server_info says.
func (s *Server) describe(answer json.RawMessage) {
	var said struct {
		Version   string       `json:"version"`
		Simulated bool         `json:"tidemark_simulated"`
		Simulates *Environment `json:"simulates"`
	}
	if answer == nil {
		return
	}
	_ = json.Unmarshal(answer, &said) // what does not fit stays empty: the server need not say anything
	setDefault(&s.Version, said.Version)
	s.IsSimulated = s.IsSimulated || said.Simulated
	setDefault(&s.Simulates, said.Simulates)
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

func (a *asker) noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	where := a.target.base.String()
	var dns *net.DNSError
	switch {
	case isRefused(err):
		return withHint(fmt.Errorf("replay: no server at %s: connection refused", where),
			`start it, or try "tidemark simulate --port 8000" and --base-url http://127.0.0.1:8000`)
	case errors.As(err, &dns):
		return withHint(fmt.Errorf("replay: %s: no such host %q", where, dns.Name), "check --base-url")
	case isTimeout(err):
		return withHint(fmt.Errorf("replay: %s did not answer within %v", where, askTimeout),
			"check that the server has finished loading its model")
	}
	return withHint(fmt.Errorf("replay: %s: %s", where, a.scrub.text(cause(err))), "check --base-url")
}

func (a *asker) refused(status int, body []byte) error {
	hint := "check --base-url"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		hint = "give the server's key in $OPENAI_API_KEY or with --api-key-file"
	case status == http.StatusNotFound:
		hint = "check --base-url: it should be the address in front of /v1/models"
	case status == http.StatusTooManyRequests:
		hint = "something in front of the server limits requests: replay against the server itself"
	case status >= 500:
		hint = "look at the server's own log: it answers, but is not well"
	case status >= 300 && status < 400:
		hint = "redirects are not followed: give the final address"
	}
	said := ""
	if text := errorBody(body).String(); text != "" && status >= 400 {
		said = ": " + a.scrub.detail(text)
	}
	return withHint(fmt.Errorf("replay: %s answers %d to /v1/models%s", a.target.base, status, said), hint)
}

func (a *asker) checkModel(body []byte, model string) error {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return withHint(fmt.Errorf("replay: %s/v1/models: not a list of models", a.target.base), "check --base-url")
	}
	names := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID == model && model != "" {
			return nil
		}
		names = append(names, a.scrub.text(m.ID))
	}
	hint := "it serves no model at all"
	if len(names) > 0 {
		hint = "it serves " + strings.Join(names, ", ") + "; name one with --model"
	}
	if model == "" {
		return withHint(errors.New("replay: no model named"), hint)
	}
	return withHint(fmt.Errorf("replay: %s does not serve the model %q", a.target.base, model), hint)
}
