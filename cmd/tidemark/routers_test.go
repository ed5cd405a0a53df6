package main

import (
	"bytes"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// startRouters serves routers in front of two servers, which name the replica in a header: one that takes turns, one that sends a prompt where its
// beginning has been, one that says nothing and one that cuts the prompts.
func startRouters(e *testscript.Env, replicas ...string) {
	var turn atomic.Uint64
	turns := func([]byte) uint64 { return turn.Add(1) }
	byPrefix := func(body []byte) uint64 {
		_, prompt, _ := bytes.Cut(body, []byte(`"prompt":[`))
		h := fnv.New64a()
		h.Write(prompt[:min(40, len(prompt))])
		return h.Sum64() >> 7
	}
	cut := func(body []byte) []byte { // the first tokens of the prompt
		before, prompt, _ := bytes.Cut(body, []byte(`"prompt":[`))
		tokens := bytes.SplitAfterN(prompt, []byte(","), 9)
		return slices.Concat(before, []byte(`"prompt":[`), tokens[len(tokens)-1])
	}
	for name, r := range map[string]router{"TURNS": {pick: turns, header: "X-Replica"}, "PREFIX": {pick: byPrefix, header: "X-Replica"}, "SILENT": {pick: turns}, "CUT": {pick: turns, change: cut}} {
		for _, replica := range replicas {
			to, _ := url.Parse(replica)
			r.replicas = append(r.replicas, &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, FlushInterval: -1})
		}
		server := httptest.NewServer(r)
		e.Defer(func() { server.CloseClientConnections(); server.Close() })
		e.Setenv("ROUTER_"+name, server.URL)
	}
}

type router struct {
	pick     func(body []byte) uint64
	change   func(body []byte) []byte
	header   string
	replicas []*httputil.ReverseProxy
}

func (r router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/v1/completions":
	case "/reset_prefix_cache": // routers do not pass it on to all replicas
		http.NotFound(w, req)
		return
	default:
		r.replicas[0].ServeHTTP(w, req)
		return
	}
	body, _ := io.ReadAll(req.Body)
	if r.change != nil {
		body = r.change(body)
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	n := r.pick(body) % uint64(len(r.replicas))
	if r.header != "" {
		w.Header().Set(r.header, "replica-"+strconv.FormatUint(n, 10))
	}
	r.replicas[n].ServeHTTP(w, req)
}
