package vllmsim

import (
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tidemark/internal/proof/must"
)

var update = flag.Bool("update", false, "write the answers into testdata/wire")

// TestWire sends every request of testdata/wire over a bare socket and compares
// the whole answer, byte by byte but for what differs from run to run.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive := must.Get(txtar.ParseFile(name))(t)
			request, want := archive.Files[0].Data, ""
			if len(archive.Files) > 1 {
				want = string(archive.Files[1].Data)
			}
			_, url := serve(t, wireConfig(string(archive.Comment)))
			got := masked(exchange(t, url, string(request))) + "\n"
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "answer", Data: []byte(got)})
				must.Do(t, os.WriteFile(name, txtar.Format(archive), 0o666))
				return
			}
			if got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
			}
		})
	}
}

// wireConfig reads the options that a fixture's comment names.
func wireConfig(comment string) Config {
	c := small()
	for _, word := range strings.Fields(comment) {
		switch word {
		case "+api-key":
			c.APIKey = "sekret"
		case "+request-id-headers":
			c.RequestIDHeaders = true
		case "+per-request-metrics":
			c.PerRequestMetrics = true
		case "+force-include-usage":
			c.ForceIncludeUsage = true
		case "+stream-interval-8":
			c.StreamInterval = 8
		case "+hide-details":
			c.HidePromptTokensDetails = true
		}
	}
	return c
}

// exchange sends "METHOD path", header lines, a blank line and a body, and
// returns the answer with the chunked coding taken off.
func exchange(t *testing.T, url, request string) string {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	body = strings.TrimSuffix(body, "\n")
	line, headers, _ := strings.Cut(strings.TrimSuffix(head, "\n"), "\n")
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(url, "http://")))(t)
	defer conn.Close()
	if headers != "" {
		headers = strings.ReplaceAll(headers, "\n", "\r\n") + "\r\n"
	}
	io.WriteString(conn, line+" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"+headers+"content-length: "+itoa(len(body))+"\r\n\r\n"+body)
	all := must.Get(io.ReadAll(conn))(t)
	status, rest, _ := strings.Cut(string(all), "\r\n\r\n")
	if strings.Contains(status, "transfer-encoding: chunked") {
		rest = unchunked(t, rest)
	}
	return strings.ReplaceAll(status, "\r\n", "\n") + "\n\n" + rest
}

func unchunked(t *testing.T, body string) string {
	t.Helper()
	var out strings.Builder
	for {
		size, rest, ok := strings.Cut(body, "\r\n")
		n := fromHex(size)
		if !ok || len(rest) < n+2 || rest[n:n+2] != "\r\n" {
			t.Fatalf("bad chunk at %.40q", body)
		}
		if n == 0 {
			return out.String()
		}
		out.WriteString(rest[:n])
		body = rest[n+2:]
	}
}

var masks = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`date: [^\n]*`), "date: DATE"},
	{regexp.MustCompile(`x-request-id: [0-9a-f]{32}`), "x-request-id: RANDOM"},
	{regexp.MustCompile(`cmpl-[0-9a-f]{16}"`), `cmpl-RANDOM"`},
	{regexp.MustCompile(`modelperm-[0-9a-f]{16}`), `modelperm-RANDOM`},
	{regexp.MustCompile(`"created":\d+`), `"created":0`},
	{regexp.MustCompile(`(_ms|tokens_per_second)":[0-9.e-]+`), `$1":0.0`},
	{regexp.MustCompile(`content-length: \d{3,}`), `content-length: MANY`},
}

func masked(answer string) string {
	for _, m := range masks {
		answer = m.find.ReplaceAllString(answer, m.with)
	}
	return answer
}
