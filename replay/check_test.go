package replay

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/hint"
)

func TestSettingsThatCannotBeMeantAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	header := func(name, value string) func(*Settings) {
		return func(s *Settings) { s.Headers = http.Header{name: {value}} }
	}
	for _, c := range []struct {
		what string
		set  func(*Settings)
		want string
	}{
		{"a key in the base url", func(s *Settings) { s.BaseURLs[0] += "?key=canary" }, "must not carry a query"},
		{"an empty query", func(s *Settings) { s.BaseURLs[0] += "/v1?" }, "must not carry a query"},
		{"a password in the base url", func(s *Settings) { s.BaseURLs = []string{"http://u:canary@host"} }, "must not carry a password"},
		{"a password in the metrics url", func(s *Settings) { s.MetricsURLs = []string{"http://u:canary@host/metrics"} }, "metrics url: must not carry a password"},
		{"no metrics url", func(s *Settings) { s.MetricsURLs = []string{"host/metrics?canary"} }, "metrics url: not an http or https address"},
		{"a nameless header", header("", "canary"), "without a name"},
		{"a header with a space", header("X A", "canary"), "not a valid header name"},
		{"a header of two lines", header("X-A", "canary\r\nX-B: c"), "X-A: its value is not one line"},
		{"a header of framing", header("transfer-encoding", "chunked"), "belongs to the connection"},
		{"a header of length", header("Content-Length", "5"), "belongs to the connection"},
		{"a host", header("Host", "h"), "belongs to the connection"},
		{"a hop-by-hop header", header("connection", "close"), "belongs to the connection"},
		{"a compressed answer", header("Accept-Encoding", "gzip"), "belongs to the connection"},
		{"a key of two lines", func(s *Settings) { s.APIKey = "canary\nx" }, "control character"},
		{"a negative time-out", func(s *Settings) { s.FirstByteTimeout = -time.Second }, "first-byte time-out is negative: -1s"},
		{"another negative time-out", func(s *Settings) { s.BetweenBytesTimeout = -1 }, "between-bytes time-out is negative"},
		{"a third negative time-out", func(s *Settings) { s.ConnectTimeout = -1 }, "connect time-out is negative"},
		{"a negative lateness", func(s *Settings) { s.MaxLateness = -1 }, "largest lateness is negative"},
		{"a negative stall", func(s *Settings) { s.MaxStall = -1 }, "largest stall of the client is negative"},
		{"a tiny vocabulary", func(s *Settings) { s.VocabHigh = 20 }, "at least 256 ids"},
		{"a narrow range", func(s *Settings) { s.VocabLow, s.VocabHigh = 995, 1000 }, "at least 16 ids are needed"},
		{"a chat endpoint", func(s *Settings) { s.Endpoint = "/v1/chat" }, "is not known"},
		{"an unknown mode", func(s *Settings) { s.Mode = "stepped" }, `mode "stepped" is not known`},
		{"a closed loop of nothing", func(s *Settings) { s.Mode = "closed" }, "closed loop needs its number of requests"},
		{"a negative concurrency", func(s *Settings) { s.MaxConcurrency = -1 }, "largest concurrency is negative: -1"},
		{"an unknown history", func(s *Settings) { s.Mode, s.History = "sessions", "real" }, `history "real" is not known`},
		{"answers without sessions", func(s *Settings) { s.History = "answered" }, "needs turns that wait"},
		{"answers in a closed loop", func(s *Settings) { s.Mode, s.MaxConcurrency, s.History = "closed", 1, "answered" }, "needs turns that wait"},
		{"answers in a chat", func(s *Settings) { s.Mode, s.History, s.Endpoint = "sessions", "answered", "/v1/chat/completions" }, "takes text"},
		{"answers without ids", func(s *Settings) { s.Mode, s.History, s.CountByUsage = "sessions", "answered", true }, "needs the token ids"},
		{"an unknown cache", func(s *Settings) { s.Cache = "warm" }, `cache "warm" is not known`},
		{"a route to nowhere", func(s *Settings) { s.Routes = map[string]string{"P0": "canary:8000"} }, `route of class "P0": base url: not an http`},
		{"a route with a password", func(s *Settings) { s.Routes = map[string]string{"P0": "http://u:canary@h"} }, "must not carry a password"},
		{"a negative drain", func(s *Settings) { s.DrainTimeout = -1 }, "drain time-out is negative"},
		{"an SLO that is none", func(s *Settings) { s.SLO = []byte("canary: 1") }, "SLO is not JSON"},
		{"a second base url", func(s *Settings) { s.BaseURLs = append(s.BaseURLs, "canary") }, "not an http or https address"},
	} {
		s := settingsFor("http://127.0.0.1:1")
		c.set(&s)
		err := s.Check()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") || hint.Of(err) == "" {
			t.Errorf("%s: got %v; want %q, with a hint and without the value", c.what, err, c.want)
		}
		folder := filepath.Join(t.TempDir(), "run")
		if _, ran := Run(t.Context(), planOf(t, every(0, 1, 9, 3)), s, folder); ran == nil || err == nil || ran.Error() != err.Error() {
			t.Errorf("%s: Run says %v, Check %v", c.what, ran, err)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s: left a folder", c.what)
		}
	}
	s := settingsFor("https://host/some/path/v1/")
	s.Mode, s.History, s.Cache, s.MaxConcurrency = "sessions", "answered", "cold", 8
	s.RunID, s.Model = "", ""
	s.Headers, s.MetricsURLs = http.Header{"X-Tenant": {"a b\tc"}, "User-Agent": {"me"}}, []string{"none"}
	if err := s.Check(); err != nil {
		t.Errorf("good settings, without what is known later: %v", err)
	}
	if agents := s.headers()["User-Agent"]; len(agents) != 1 || agents[0] != "me" {
		t.Errorf("user agents %q", agents)
	}
}
