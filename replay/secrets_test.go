package replay

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const canary = "sk-Canary/7f3a9<b2c>&d81e-QxZwKyVjUh"

// leaked is the longest piece of the canary that stands in a text; "" below 6 characters.
func leaked(text string) string {
	for n := len(canary); n >= 6; n-- {
		for at := 0; at+n <= len(canary); at++ {
			if strings.Contains(text, canary[at:at+n]) {
				return canary[at : at+n]
			}
		}
	}
	return ""
}

// escaped writes each character of s as JSON's \u escape.
func escaped(s string) string {
	var out strings.Builder
	for _, r := range s {
		fmt.Fprintf(&out, `\u%04X`, r)
	}
	return out.String()
}

// The detail was cut before it was scrubbed, so that a key across the cut was no longer recognised.
func TestAKeyAcrossTheCutOfADetailIsNowhere(t *testing.T) {
	forms := []func(pad string) string{
		func(pad string) string { return `{"error":{"message":"` + pad + ` Bearer ` + canary + `","code":401}}` },
		func(pad string) string { return `{"detail":[{"msg":"` + pad + escaped(canary) + `"}]}` },
		func(pad string) string { return pad + " " + canary },
		func(pad string) string { return `{"error":"` + pad + escaped(canary) + `"}` },
		func(pad string) string { return pad + ` no JSON: "` + escaped(canary) + `"` },
		func(pad string) string { return pad + canary[:len(canary)-5] }, // the answer broke off
		func(pad string) string {
			return pad + " " + strings.ToUpper(canary) + " " + base64.StdEncoding.EncodeToString([]byte(canary))
		},
	}
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		length := len(bodyOf(r).Prompt) - 1 // the plan says which case it is
		pad, body := strings.Repeat("A", length%201), forms[length/201](strings.Repeat("A", length%201))
		if len(pad)%2 == 0 || strings.Contains(body, "\n") {
			w.WriteHeader(401)
			io.WriteString(w, body)
			return
		}
		openStream(w)
		if strings.HasPrefix(body, "{") {
			event(w, body)
		} else {
			io.WriteString(w, "error: "+body+"\n\n")
		}
	})
	var requests []Request
	for i := range 201 * len(forms) {
		requests = append(requests, Request{InputTokens: i + 1, OutputTokens: 3})
	}
	s := settingsFor(fake.URL)
	s.APIKey = canary
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, streamed(requests)), s, folder)
	if err != nil || result.Failed != int64(len(requests)) {
		t.Fatalf("%+v, %v", result, err)
	}
	all := everything(t, folder)
	if piece := leaked(all); piece != "" {
		at := strings.Index(all, piece)
		t.Errorf("%q is in the run's folder: %s", piece, all[max(0, at-200):at+len(piece)])
	}
	for _, form := range []string{strings.ToUpper(canary), base64.StdEncoding.EncodeToString([]byte(canary))} {
		if strings.Contains(all, form[:12]) {
			t.Errorf("%s is in the run's folder", form)
		}
	}
	if !strings.Contains(all, redacted) {
		t.Error("nothing was redacted: the server did not echo the key")
	}
}

func TestAKeyAcrossTheCutOfARefusalIsNotShown(t *testing.T) {
	fake, pad := newFake(t, nil), 0
	fake.probe = func(w http.ResponseWriter, r *http.Request) {
		key := canary
		if pad%2 == 1 {
			key = escaped(key)
		}
		status(401, `{"error":{"message":"`+strings.Repeat("A", pad)+key+`"}}`)(w, r)
	}
	s := settingsFor(fake.URL)
	s.APIKey = canary
	plan := planOf(t, every(0, 1, 9, 3))
	for ; pad <= 200; pad++ {
		_, err := Run(t.Context(), plan, s, filepath.Join(t.TempDir(), "run"))
		if err == nil || leaked(err.Error()) != "" {
			t.Fatalf("%d characters before the key: %v", pad, err)
		}
	}
}

func TestAKeyBehindEscapesIsNotInWhatTheServerSaysOfItself(t *testing.T) {
	fake := newFake(t, well(0))
	fake.info = `{"args":"` + escaped(canary) + `","nested":` + strconv.Quote(`{"k":"`+escaped(canary)+`"}`) + `,"` + escaped(canary) + `":1}`
	fake.metrics = func() string { return `m{key="` + escaped(canary) + `"} 1` + "\n" + `m{key="` + canary + `"} 1` + "\n" }
	s := settingsFor(fake.URL)
	s.APIKey = canary
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), planOf(t, every(0, 1, 9, 3)), s, folder); err != nil {
		t.Fatal(err)
	}
	all := everything(t, folder)
	for _, form := range []string{canary, strings.Trim(strconv.Quote(escaped(canary)), `"`), escaped(canary), strings.ToLower(escaped(canary))} {
		if strings.Contains(all, form) {
			t.Errorf("%s is in the run's folder", form)
		}
	}
	if piece := leaked(all); piece != "" || strings.Count(all, redacted) < 5 {
		t.Errorf("%q is in the run's folder: %s", piece, all)
	}
}

// The query of the metrics address went into run.json and into every sample.
func TestAQueryOfTheMetricsAddressIsUsedAndNotKept(t *testing.T) {
	fake, asked := newFake(t, well(0)), make(chan string, 100)
	metrics := newFake(t, nil)
	metrics.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RawQuery
		io.WriteString(w, "# for "+r.URL.Query().Get("token")+"\nvllm:num_requests_running 0\n")
	})
	s := settingsFor(fake.URL)
	s.MetricsURLs = []string{metrics.URL + "/m?token=canary-in-query#canary-behind"}
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), planOf(t, every(0, 1, 9, 3)), s, folder); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != "token=canary-in-query" {
		t.Errorf("asked with the query %q", got)
	}
	if all := everything(t, folder); strings.Contains(all, "canary") || strings.Count(all, metrics.URL+"/m") < 2 {
		t.Errorf("kept: %s", all)
	}
}

// The key goes to every target, to all that is asked there, and to nobody else; what a server echoes is not kept.
func TestTheKeyGoesToTargetsAloneWhateverIsAsked(t *testing.T) {
	var withKey, without, elsewhere sync.Map // paths
	var target *fakeVLLM
	note := func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer "+canary {
				withKey.Store(r.Host+r.URL.Path, true)
			} else {
				without.Store(r.Host+r.URL.Path, true)
			}
			next.ServeHTTP(w, r)
		}
	}
	other := newFake(t, nil)
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Store(r.URL.Path, r.Header.Get("Authorization"))
		io.WriteString(w, "up 1\n")
	})
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	}
	var targets []string
	for range 2 {
		target = newFake(t, well(0))
		target.info = realInfo
		target.probe = status(200, `{"data":[{"id":"tiny","root":"/models/`+canary+`","max_model_len":4096}]}`)
		target.others = map[string]http.HandlerFunc{"/tokenize": spacy, "/reset_prefix_cache": away, "/detokenize": status(200, `{"prompt":"`+canary+`"}`)}
		target.Config.Handler = note(target.Config.Handler)
		targets = append(targets, target.URL)
	}
	for _, endpoint := range []string{chatPath, completionsPath} {
		s := settingsFor("")
		s.BaseURLs, s.APIKey, s.Endpoint, s.Cache, s.watch = targets, canary, endpoint, "reset", 20*time.Millisecond
		s.MetricsURLs = []string{targets[0] + "/metrics", targets[1] + "/metrics", other.URL + "/metrics"}
		folder := filepath.Join(t.TempDir(), "run")
		if _, err := Run(t.Context(), planOf(t, every(50*time.Millisecond, 4, 40, 3)), s, folder); err != nil {
			t.Fatal(err)
		}
		if d := documentIn(t, folder); d.Readiness.Cache.Method != "salt_per_run" || !strings.Contains(d.Readiness.Cache.Note, "307") {
			t.Errorf("%+v", d.Readiness)
		}
		if piece := leaked(everything(t, folder)); piece != "" {
			t.Errorf("%q is in the run's folder", piece)
		}
	}
	without.Range(func(path, _ any) bool { t.Errorf("%v was asked without the key", path); return true })
	elsewhere.Range(func(path, key any) bool {
		if path != "/metrics" || key != "" {
			t.Errorf("%v was asked elsewhere, with the key %q", path, key)
		}
		return true
	})
	for _, path := range []string{"/v1/models", "/version", "/server_info", "/metrics", "/tokenize", "/detokenize", "/reset_prefix_cache", chatPath, completionsPath} {
		if _, is := withKey.Load(strings.TrimPrefix(targets[0], "http://") + path); !is {
			t.Errorf("%s was not asked with the key", path)
		}
	}
}
