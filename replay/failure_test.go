package replay

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// hijack takes the connection away from net/http, to break it in ways that it would not.
func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

const rawHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// rawStream answers with these bytes and hangs up.
func rawStream(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := hijack(w)
		defer conn.Close()
		io.WriteString(conn, strings.Join(parts, ""))
	}
}

func rawChunk(data string) string { return string(appendChunk(nil, "data: "+data+"\n\n")) }

// silent holds the answer back until the client leaves.
func silent(first ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		openStream(w)
		for _, data := range first {
			event(w, data)
		}
		<-r.Context().Done()
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func events(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		openStream(w)
		for _, d := range data {
			event(w, d)
		}
	}
}

// dripping sends some events and then one thing again and again, until the client leaves.
func dripping(drop string, first ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		openStream(w)
		for _, data := range first {
			event(w, data)
		}
		for r.Context().Err() == nil {
			time.Sleep(2 * time.Millisecond)
			io.WriteString(w, drop)
			w.(http.Flusher).Flush()
		}
	}
}

func TestEveryFailureHasItsKind(t *testing.T) {
	vllmError := `{"error":{"message":"too many requests","type":"Service Unavailable","param":null,"code":429}}`
	for _, c := range []struct {
		what    string
		answer  http.HandlerFunc
		failure string // kind
		detail  string // part of it
		status  int
	}{
		{"answers 401 with a string", status(401, `{"error":"Unauthorized"}`), "http_401", "Unauthorized", 401},
		{"answers 404", status(404, `{"detail":"Not Found"}`), "http_404", "Not Found", 404},
		{"answers 429", status(429, vllmError), "http_429", "429 Service Unavailable too many requests", 429},
		{"answers 500 without JSON", status(500, "Internal\nServer Error"), "http_500", "Internal Server Error", 500},
		{"redirects", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) }, "http_307", "not followed", 307},
		{"an error frame in a 200", events(`{"error":{"message":"busy","type":"x","code":503}}`, "[DONE]"), "error_frame", "503 x busy", 200},
		{"an error frame after tokens", events(tokenChunk(1, ""), `{"error":{"message":"died","code":"500"}}`, "[DONE]"), "error_frame", "500 died", 200},
		{"answers 204", status(204, ""), "http_204", "204 No Content, no body", 204},
		{"answers 503 without a body", status(503, ""), "http_503", "503 Service Unavailable, no body", 503},
		{"an error of no words", events(`{"error":""}`), "error_frame", "without words", 200},
		{"an empty page", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/html") },
			"protocol", "no event stream: 200 OK, no body", 200},
		{"a plain JSON answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[{"text":"all at once"}]}`)
		}, "protocol", "no event stream: 200 OK, 36 bytes of application/json", 200},
		{"a packed stream", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b\x08")
		}, "protocol", "Content-Encoding: gzip", 200},
		{"a usage of the first chunk alone, and cut", rawStream(rawHead, rawChunk(`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":9,"completion_tokens":0}}`),
			rawChunk(`{"choices":[{"text":"b"}]}`), rawChunk(`{"choices":[{"text":"c"}]}`)), "cut_stream", "after 3 chunks (their tokens are not counted)", 200},
		{"a stream under another name", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `data: {"choices":[{"text":"words of an answer"}]}`+"\n\n")
		}, "protocol", "the answer is no event stream: 200 OK, 51 bytes of application/json", 200},
		{"an error in a 200 that is no stream", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"error":{"message":"busy"}}`)
		}, "protocol", "the answer is no event stream: busy", 200},
		{"an event that is no chunk", events(`{"choices":7}`, "[DONE]"), "protocol", "not a completion chunk", 200},
		{"bytes that are no HTTP", rawStream("SSH-2.0-OpenSSH_9.6\r\n\r\n"), "protocol", "not an HTTP response", 0},
		{"broken chunked coding", rawStream(rawHead, "zz\r\n"), "protocol", "chunked", 200},
		{"a chunk size of control bytes", rawStream(rawHead, "\x15\r\n: a\n\n\r\n0\r\n\r\n"), "protocol", "chunked", 200}, // 0x15 | 0x20 is '5'
		{"words behind a chunk size", rawStream(rawHead, "5 or so\r\n: a\n\n\r\n0\r\n\r\n"), "protocol", "chunked", 200},
		{"a carriage return inside a chunk size", rawStream(rawHead, "5\rx\n: a\n\n\r\n0\r\n\r\n"), "protocol", "chunked", 200},
		{"a chunk that is longer than its size", rawStream(rawHead, "5\r\n: a\n\n\r\r\n0\r\n\r\n"), "protocol", "chunked", 200},
		{"hangs up before an answer", rawStream(), "cut_stream", "connection closed", 0},
		{"hangs up in the head", rawStream("HTTP/1.1 200 OK\r\n"), "cut_stream", "connection closed", 0},
		{"hangs up in the stream", rawStream(rawHead, rawChunk(tokenChunk(1, ""))), "cut_stream", "1 of 3 tokens", 200},
		{"hangs up amid text that nobody counts", rawStream(rawHead, rawChunk(`{"choices":[{"text":"a"}]}`), rawChunk(`{"choices":[{"text":"b c"}]}`)),
			"cut_stream", "after 2 chunks (their tokens are not counted), asked for 3 tokens", 200},
		{"ends in peace without a finish", rawStream(rawHead, rawChunk(tokenChunk(1, "")), "0\r\n\r\n"), "cut_stream", "1 of 3 tokens", 200},
		{"never answers", silent(), "timeout_first_byte", "time-out", 200},
		{"falls silent", silent(tokenChunk(1, "")), "timeout_between_bytes", "1 of 3 tokens", 200},
		{"stops early", events(tokenChunk(1, "stop"), usageChunk(9, 1), "[DONE]"), "short_output", "1 of 3 tokens", 200},
		{"aborts politely", events(tokenChunk(1, ""), tokenChunk(2, "abort"), usageChunk(9, 2), "[DONE]"), "bad_finish", "abort", 200},
		{"counts tokens and shows nothing", events(usageChunk(9, 0), "[DONE]"), "no_token", "no token", 200},
		{"an empty stream", events("[DONE]"), "no_token", "", 200},
		{"drips comments after a token", dripping(": ping\n\n", tokenChunk(1, "")), "timeout_between_bytes", "1 of 3 tokens", 200},
		{"drips empty chunks after a token", dripping("data: {\"choices\":[{\"text\":\"\"}]}\n\n", tokenChunk(1, "")), "timeout_between_bytes", "1 of 3 tokens", 200},
		{"drips before any token", dripping(": ping\n\n"), "timeout_first_byte", "0 of 3 tokens", 200},
		{"tokens without end", dripping("data: " + tokenChunk(1, "") + "\n\n"), "long_output", "left after 68 tokens, asked for 3", 200},
		{"text without end", dripping("data: {\"choices\":[{\"text\":\"x\"}]}\n\n"), "long_output", "left after 113 tokens, asked for 3", 200},
		{"more than asked for", events(tokenChunk(1, ""), tokenChunk(2, ""), tokenChunk(3, ""), tokenChunk(4, "length"), usageChunk(9, 4), "[DONE]"),
			"long_output", "4 of 3 tokens", 200},
		{"a usage from nowhere", events(tokenChunk(1, ""), tokenChunk(2, ""), tokenChunk(3, "length"), usageChunk(9, 900_000_000_000_000), "[DONE]"),
			"token_mismatch", "the usage says 900000000000000 tokens", 200},
		{"a prompt from nowhere", events(tokenChunk(1, ""), tokenChunk(2, ""), tokenChunk(3, "length"), usageChunk(900_000_000_000_000, 3), "[DONE]"),
			"token_mismatch", "the usage says 900000000000000 tokens", 200},
		{"a usage that flatters", events(tokenChunk(1, ""), tokenChunk(2, "length"), usageChunk(9, 3), "[DONE]"), "token_mismatch", "the ids are 2", 200},
		{"ends in peace with all tokens and no word", rawStream(rawHead, rawChunk(tokenChunk(1, "")), rawChunk(tokenChunk(2, "")), rawChunk(tokenChunk(3, "")), "0\r\n\r\n"),
			"cut_stream", "3 of 3 tokens", 200},
		{"no finish reason", events(tokenChunk(1, ""), tokenChunk(2, ""), tokenChunk(3, ""), usageChunk(9, 3), "[DONE]"), "", "", 200},
		{"no finish reason, and a short answer", events(tokenChunk(1, ""), tokenChunk(2, ""), usageChunk(9, 2), "[DONE]"), "short_output", "2 of 3 tokens", 200},
		{"calls a tool", events(tokenChunk(1, ""), tokenChunk(2, ""), tokenChunk(3, "tool_calls"), usageChunk(9, 3), "[DONE]"), "", "", 200},

		{"drips after [DONE]", dripping(": ping\n\n", tokenChunk(1, ""), tokenChunk(2, ""), tokenChunk(3, "length"), usageChunk(9, 3), "[DONE]"), "", "", 200},
		{"all tokens and no [DONE]", rawStream(rawHead, rawChunk(tokenChunk(1, "")), rawChunk(tokenChunk(2, "")), rawChunk(tokenChunk(3, "length"))), "", "", 200},
		{"body until the connection closes", rawStream("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
			tokenChunk(1, ""), "\n\ndata: ", tokenChunk(2, ""), "\n\ndata: ", tokenChunk(3, "length"), "\n\n"), "", "", 200},
		{"an interim answer first", rawStream("HTTP/1.1 100 Continue\r\n\r\n", rawHead, rawChunk(tokenChunk(1, "")), rawChunk(tokenChunk(2, "")),
			rawChunk(tokenChunk(3, "length")), rawChunk("[DONE]"), "0\r\nTrailer: x\r\n\r\n"), "", "", 200},
		{"tokens that nobody saw", events(`{"choices":[{"text":""}]}`, `{"choices":[{"text":"","finish_reason":"length"}]}`, usageChunk(9, 3), "[DONE]"),
			"", "no token", 200},
	} {
		onBothDrivers(t, c.what, func(t *testing.T, drive func(*Settings)) {
			t.Parallel()
			fake := newFake(t, c.answer)
			s := settingsFor(fake.URL)
			drive(&s)
			s.FirstByteTimeout, s.BetweenBytesTimeout = 300*time.Millisecond, 300*time.Millisecond
			result, rows, err := replayed(t, planOf(t, every(0, 1, 9, 3)), s)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			r := rows[0]
			if r.Failure != c.failure || !strings.Contains(r.Detail, c.detail) || r.Status != c.status {
				t.Errorf("got %q %q, status %d; want %q %q, status %d", r.Failure, r.Detail, r.Status, c.failure, c.detail, c.status)
			}
			if c.failure != "" && result.Failures[c.failure] != 1 || result.Status != "done" || r.Done == nil || r.Sent == nil {
				t.Errorf("result %+v, row %+v", result, r)
			}
		})
	}
}

func TestAnAnswerMayEndByItselfWhereTheBodySaysSo(t *testing.T) {
	for body, failure := range map[string]string{`{"ignore_eos":false}`: "", `{"ignore_eos":null}`: "", `{"ignore_eos":true}`: "short_output", `{}`: "short_output"} {
		onBothDrivers(t, body, func(t *testing.T, drive func(*Settings)) {
			fake := newFake(t, events(tokenChunk(1, ""), tokenChunk(2, "stop"), usageChunk(9, 2), "[DONE]"))
			s := settingsFor(fake.URL)
			s.Body = json.RawMessage(body)
			drive(&s)
			_, rows, err := replayed(t, planOf(t, every(0, 1, 9, 3)), s)
			if err != nil || len(rows) != 1 || rows[0].Failure != failure {
				t.Fatalf("%+v, %v; want %q", rows, err, failure)
			}
			if asks := fake.bodies[0].MinTokens > 0; asks == (failure == "") {
				t.Errorf("sent %+v", fake.bodies[0])
			}
		})
	}
}

func TestNothingStartsWithoutAServerThatHasTheModel(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	down := "http://" + l.Addr().String()
	l.Close()
	probing := func(h http.HandlerFunc) string {
		f := newFake(t, nil)
		f.probe = h
		return f.URL
	}
	for _, c := range []struct{ what, base, model, want, hint string }{
		{"down", down, "tiny", "no server at", "start it"},
		{"another model", newFake(t, nil).URL, "large", `does not serve the model "large"`, "it serves tiny"},
		{"no model named", newFake(t, nil).URL, "", "no model named", "it serves tiny"},
		{"401", probing(status(401, `{"error":"Unauthorized"}`)), "tiny", "answers 401 to /v1/models: Unauthorized", "OPENAI_API_KEY"},
		{"404", probing(status(404, `{"detail":"Not Found"}`)), "tiny", "answers 404", "--base-url"},
		{"429", probing(status(429, ``)), "tiny", "answers 429", "limits requests"},
		{"500", probing(status(500, `oops`)), "tiny", "answers 500 to /v1/models: oops", "log"},
		{"302", probing(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", 302) }), "tiny", "answers 302", "not followed"},
		{"no list", probing(status(200, `<html>`)), "tiny", "not a list of models", "--base-url"},
		{"no address", "localhost:8000", "tiny", "not an http or https address", "http://host:8000"},
		{"a password in the address", "http://u:p@h", "tiny", "must not carry a password", ""},
	} {
		s := settingsFor(c.base)
		s.Model = c.model
		folder := filepath.Join(t.TempDir(), "run")
		must.Refuse(Run(t.Context(), planOf(t, every(0, 1, 9, 3)), s, folder))(t, c.want, c.hint)
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s: left a folder", c.what)
		}
	}
}

func TestAnExistingFolderIsNotTouched(t *testing.T) {
	fake := newFake(t, well(0))
	folder := t.TempDir()
	must.Refuse(Run(t.Context(), planOf(t, every(0, 1, 9, 3)), settingsFor(fake.URL), folder))(t, "exists")
	if left, _ := os.ReadDir(folder); len(left) > 0 || len(fake.bodies) > 0 {
		t.Errorf("wrote %v, sent %d", left, len(fake.bodies))
	}
}

func TestAServerThatGoesEndsTheRun(t *testing.T) {
	var fake *fakeVLLM
	var served atomic.Int64
	fake = newFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		well(0)(w, r)
		if served.Add(1) == 5 {
			fake.Listener.Close()
		}
	})
	result, rows, err := replayed(t, planOf(t, every(30*time.Millisecond, 200, 9, 3)), settingsFor(fake.URL))
	if err == nil || !strings.Contains(err.Error(), "the server at "+fake.Listener.Addr().String()+" has gone") ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	if !result.IsValid || result.InvalidReason != "" {
		t.Errorf("the client is blamed for a server that has gone: %+v", result)
	}
	if result.Status != "aborted" || result.Unsent < 100 || result.Failures["refused"] < refusedLimit ||
		result.Completed+result.Failed+result.Unsent != 200 || int64(len(rows)) != result.Completed+result.Failed {
		t.Errorf("%+v, %d rows", result, len(rows))
	}
}

// One of two replicas goes and comes back: its requests fail meanwhile, none of them goes to the other, and the run lasts
// to its end. Told to stop, it ends there.
func TestTheOthersGoOnWhenAServerGoes(t *testing.T) {
	for _, onDead := range []string{"", onDeadStop} {
		t.Run(onDead, func(t *testing.T) {
			t.Parallel()
			stays, goes := newFake(t, well(0)), newFake(t, nil)
			var served, refused atomic.Int64
			address := goes.Listener.Addr().String()
			goes.complete = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close")
				well(0)(w, r)
				if served.Add(1) == 5 {
					goes.Listener.Close()
				}
			}
			s := settingsFor(stays.URL)
			s.BaseURLs, s.OnDead = []string{stays.URL, goes.URL}, onDead
			var told []string
			s.Tell = func(text string) {
				told = append(told, text)
				if refused.Add(1) == 1 { // the same server again
					if again, err := net.Listen("tcp", address); err == nil {
						go http.Serve(again, http.HandlerFunc(goes.serve))
						t.Cleanup(func() { again.Close() })
					}
				}
			}
			folder := filepath.Join(t.TempDir(), "run")
			result, err := Run(t.Context(), planOf(t, every(20*time.Millisecond, 200, 9, 3)), s, folder)
			d, went := documentIn(t, folder), map[string]int{}
			for _, r := range rowsIn(t, folder) {
				if r.Failure != "" {
					went[r.Endpoint+" "+r.Failure]++
				} else {
					went[r.Endpoint]++
				}
			}
			if len(d.Gone) != 1 || d.Gone[0].BaseURL != goes.URL || !strings.Contains(d.Gone[0].Reason, "3 connections in a row were refused") {
				t.Errorf("gone: %+v", d.Gone)
			}
			if onDead == onDeadStop {
				if err == nil || result.Status != statusAborted || d.StoppedBy != stoppedByServer || result.Unsent == 0 || len(told) > 0 {
					t.Errorf("%v, %+v", err, result)
				}
				return
			}
			if err != nil || result.Status != statusDone || went[stays.URL] != 100 || went[goes.URL+" refused"] < refusedLimit || result.Unsent > 0 ||
				went[goes.URL]+went[goes.URL+" refused"] != 100 || d.StopReason != "" || len(told) != 1 {
				t.Errorf("%v, %+v, %v, told %q", err, result, went, told)
			}
			if len(d.Gone) == 1 && (d.Gone[0].BackAtS == nil || went[goes.URL] <= 5) {
				t.Errorf("it came back, and got nothing: %+v, %v", d.Gone, went)
			}
		})
	}
}

func TestAConnectionThatDiedIdleCostsNoRequest(t *testing.T) {
	onBothDrivers(t, "dies idle", func(t *testing.T, drive func(*Settings)) {
		t.Parallel()
		// The server promises to keep the connection and closes it right after the answer.
		fake := newFake(t, rawStream(rawHead, rawChunk(tokenChunk(1, "length")), rawChunk(usageChunk(9, 1)), rawChunk("[DONE]"), "0\r\n\r\n"))
		s := settingsFor(fake.URL)
		drive(&s)
		result, rows, err := replayed(t, planOf(t, every(250*time.Millisecond, 6, 9, 1)), s)
		if err != nil || result.Completed != 6 {
			t.Fatalf("%+v, %v", result, err)
		}
		for _, r := range rows {
			if r.Connect == nil {
				t.Errorf("row %d went over a connection that the server had closed", r.Seq)
			}
		}
	})
}

func TestConnectionsAreMadeBeforehandAndReused(t *testing.T) {
	fake := newFake(t, well(0))
	s := settingsFor(fake.URL)
	s.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		time.Sleep(200 * time.Millisecond) // a far server
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	_, rows, err := replayed(t, planOf(t, every(1100*time.Millisecond, 3, 9, 1)), s)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if rows[0].Connect == nil || *rows[0].Connect < 0.2 || *rows[0].Sent-rows[0].Due > 0.19 {
		t.Errorf("the first connection was not made beforehand: %+v", rows[0])
	}
	if rows[1].Connect != nil || rows[2].Connect != nil {
		t.Error("an idle connection was not used again")
	}
}

func TestASlowServerDelaysNoDueTime(t *testing.T) {
	release := make(chan struct{})
	var begun atomic.Int64
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if begun.Add(1) == 60 { // every request is there although none has had an answer
			close(release)
		}
		<-release
		well(0)(w, r)
	})
	result, rows, err := replayed(t, planOf(t, every(5*time.Millisecond, 60, 200, 2)), settingsFor(fake.URL))
	if err != nil || result.Completed != 60 || len(rows) != 60 {
		t.Fatalf("%+v, %v", result, err)
	}
}

func TestTheKeyIsNowhere(t *testing.T) {
	const key, header = "sk-canary-7f3a9", "tenant-canary-1b2c"
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("X-Tenant") != header {
			w.WriteHeader(400)
		}
		w.WriteHeader(403)
		io.WriteString(w, `{"error":{"message":"not for you: `+r.Header.Get("Authorization")+" "+r.Header.Get("X-Tenant")+`","code":403}}`)
	})
	fake.metrics = func() string { return "# " + key + "\nvllm:num_requests_running 0\n" }
	fake.info = `{"vllm_config":"--api-key sk-other-key --model tiny","argv":["--api-key","sk-listed-key"],"env":{"HF_TOKEN":"hf-canary","VLLM_API_KEY":"` + key + `"},"system":"x ` + key + `","cfg":{"vocab_size":5000}}`
	s := settingsFor(fake.URL + "/v1/")
	s.APIKey, s.Headers = key, http.Header{"X-Tenant": {header}}
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, every(0, 3, 9, 3)), s, folder)
	if err != nil || result.Failures["http_403"] != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	all := everything(t, folder)
	must.NotSay(t, all, key, header, "sk-other-key", "sk-listed-key", "hf-canary")
	if d := documentIn(t, folder); d.Settings.VocabHigh != 5000 || !strings.Contains(string(d.Server.ServerInfo), "--model tiny") {
		t.Errorf("server info: %s", d.Server.ServerInfo)
	}
	fake.probe = status(401, `{"error":"bad key `+key+`"}`)
	_, err = Run(t.Context(), planOf(t, every(0, 3, 9, 3)), s, filepath.Join(t.TempDir(), "run"))
	if err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("the error shows the key: %v", err)
	}
	must.Say(t, hint.Of(err), "another key than the one that was sent") // was "give the server's key"
}

// fullDisk takes some bytes and then has no room, as /dev/full.
type fullDisk struct {
	file
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		defer full.Close()
		return full.Write(p)
	}
	return d.file.Write(p)
}

func TestAFullDiskStopsTheRunAndKeepsWhatIsThere(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	fake := newFake(t, well(0))
	s := settingsFor(fake.URL)
	s.create = func(path string) (file, error) {
		f, err := createFile(path)
		if filepath.Base(path) == "requests.jsonl.zst" {
			f = &fullDisk{f, 6000}
		}
		return f, err
	}
	result, rows, err := replayed(t, planOf(t, every(5*time.Millisecond, 2000, 9, 3)), s)
	must.Fail(t, err, "no space left on device", "requests.jsonl.zst")
	if result.IsValid || !strings.Contains(result.InvalidReason, "no space left on device") {
		t.Errorf("a run that stopped by itself: %+v", result)
	}
	if result.Status != "aborted" || result.Unsent < 500 || len(rows) == 0 || int64(len(rows)) > result.Sent {
		t.Errorf("%+v, %d rows readable", result, len(rows))
	}
}

func TestTheServerSaysWhatItSimulates(t *testing.T) {
	fake := newFake(t, well(0))
	fake.info = `{"version":"sim 1","tidemark_simulated":true,"simulates":{"gpu":"H100","catalog_model":"llama-3.1-8b","tensor_parallel_size":1}}`
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), settingsFor(fake.URL))
	d := documentIn(t, folder)
	if !d.Server.IsSimulated || d.Environment == nil || d.Environment.GPU != "H100" || d.EnvironmentSource != "server" {
		t.Errorf("%+v", d)
	}
}
