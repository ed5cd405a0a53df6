// The control client asks the small questions next to the load: probes before a run, metrics and models during it. It is an
// ordinary net/http client, since the instant of an answer does not matter there, and it never shares a connection with the
// load.

package replay

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"tidemark/replay/secrets"
	"tidemark/replay/wire"
)

// controlClient sends the small requests next to the load: questions before it, samples during it.
type controlClient struct {
	client  *http.Client
	model   string // the run's own
	targets []target
	headers http.Header
	scrub   secrets.Scrubber
}

// newControlClient speaks HTTP/1.1 alone and follows no redirect, as the load does: what is asked must be the server
// that is measured.
func newControlClient(s Settings, targets []target) *controlClient {
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.NextProtos = []string{"http/1.1"} // as the load
	return &controlClient{
		targets: targets, model: s.Model, headers: s.headers(), scrub: s.scrubber(),
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: s.Dial, TLSClientConfig: config, IdleConnTimeout: wire.IdleLimit,
				TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
			},
		},
	}
}

// close gives up idle connections, so that a test sees no goroutine left.
func (a *controlClient) close() { a.client.CloseIdleConnections() }

const (
	askTimeout = 10 * time.Second
	askLimit   = 32 << 20 // bytes of an answer
)

// get asks one address.
func (a *controlClient) get(ctx context.Context, address string) (status int, body []byte, err error) {
	return a.do(ctx, http.MethodGet, address, nil)
}

// post sends question as JSON; nil sends an empty body.
func (a *controlClient) post(ctx context.Context, address string, question any) (status int, body []byte, err error) {
	if question == nil {
		return a.do(ctx, http.MethodPost, address, nil)
	}
	text, err := json.Marshal(question)
	if err != nil {
		return 0, nil, err
	}
	return a.do(ctx, http.MethodPost, address, text)
}

// do sends the key and the user's headers to the targets only.
func (a *controlClient) do(ctx context.Context, method, address string, question []byte) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(question))
	if err != nil {
		return 0, nil, err
	}
	if a.isTarget(req.URL) {
		req.Header = a.headers.Clone()
	}
	if question != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, askLimit))
	return resp.StatusCode, body, err
}

// isTarget says whether the key may be sent to an address: a metrics address may be somebody else's, a DCGM exporter's say.
func (a *controlClient) isTarget(u *url.URL) bool {
	return slices.ContainsFunc(a.targets, func(t target) bool { return u.Host == t.base.Host && u.Scheme == t.base.Scheme })
}

// at is the address of a path of the server's API.
func (t target) at(path string) string { return t.base.String() + path }
