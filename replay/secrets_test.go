package replay

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
	"tidemark/replay/secrets"
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
	var requests []plan.Request
	for i := range 201 * len(forms) {
		requests = append(requests, plan.Request{InputTokens: i + 1, OutputTokens: 3})
	}
	s := settingsFor(fake.URL)
	s.APIKey = canary
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, plan.Each(requests)), s, folder)
	if err != nil || result.Failed != int64(len(requests)) {
		t.Fatalf("%+v, %v", result, err)
	}
	all := everything(t, folder)
	if piece := leaked(all); piece != "" {
		at := strings.Index(all, piece)
		t.Errorf("%q is in the run's folder: %s", piece, all[max(0, at-200):at+len(piece)])
	}
	for _, form := range []string{strings.ToUpper(canary), base64.StdEncoding.EncodeToString([]byte(canary))} {
		must.NotSay(t, all, form[:12])
	}
	must.Say(t, all, secrets.Redacted)
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
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
	all := everything(t, folder)
	must.NotSay(t, all, canary, strings.Trim(strconv.Quote(escaped(canary)), `"`), escaped(canary), strings.ToLower(escaped(canary)))
	if piece := leaked(all); piece != "" || strings.Count(all, secrets.Redacted) < 5 {
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
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
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
		folder := ran(t, planOf(t, every(50*time.Millisecond, 4, 40, 3)), s)
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

// coats are the ways in which a server, or what stands before it, gives a key back.
func coats(key string) map[string]string {
	spaced := strings.Join(strings.Split(key, ""), " ")
	each := func(format string) string {
		var out strings.Builder
		for _, b := range []byte(key) {
			fmt.Fprintf(&out, format, b)
		}
		return out.String()
	}
	bearer := "Bearer " + key
	letters := []byte(key)
	slices.Reverse(letters)
	backwards := string(letters)
	return map[string]string{
		"its first 18 characters":        key[:18],
		"without its begin":              key[9:],
		"eight from its middle":          key[14:22],
		"cut at both ends, in capitals":  strings.ToUpper(key[5:20]),
		"base64 with the scheme":         base64.StdEncoding.EncodeToString([]byte(bearer)),
		"base64 with other words":        base64.StdEncoding.EncodeToString([]byte("user:" + key + "@host")),
		"base64 with others still":       base64.URLEncoding.EncodeToString([]byte(`{"k":"` + key + `"}`)),
		"hex":                            hex.EncodeToString([]byte(key)),
		"hex in capitals":                strings.ToUpper(hex.EncodeToString([]byte(bearer))),
		"hex with blanks":                each("%02x "),
		"hex as C writes it":             each("0x%02x, "),
		"hex as strings write it":        each(`\x%02x`),
		"octal as strings write it":      each(`\%03o`),
		"spaced":                         spaced,
		"with dashes":                    strings.ReplaceAll(spaced, " ", "-"),
		"in lines":                       strings.ReplaceAll(spaced, " ", "\n"),
		"in lines of four":               key[:4] + "\n" + key[4:8] + "\n" + key[8:12] + "\n" + key[12:16] + "\n" + key[16:20] + "\n" + key[20:24],
		"percent-encoded":                url.QueryEscape(key),
		"percent-encoded to the last":    each("%%%02X"),
		"percent-encoded twice":          strings.ReplaceAll(each("%%%02X"), "%", "%25"),
		"HTML by names":                  html.EscapeString(key),
		"HTML by numbers":                each("&#%d;"),
		"HTML by hexadecimal numbers":    each("&#x%x;"),
		"reversed":                       backwards,
		"reversed, then cut":             backwards[3:20],
		"JSON":                           escaped(key),
		"JSON in JSON":                   strings.ReplaceAll(escaped(key), `\`, `\\`),
		"in a sentence":                  "the key '" + key + "' is not known",
		"spaced, its begin is not there": spaced[12:],
	}
}

// form is what is sent, and what of it must not be kept.
type form struct{ text, secret string }

// forms are the coats alone, in JSON that is a text itself, and in an address: 87.
func forms(key string) map[string]form {
	all := map[string]form{}
	for name, coat := range coats(key) {
		inJSON, inAddress := strings.Trim(strconv.Quote(coat), `"`), url.QueryEscape(coat)
		all[name] = form{coat, coat}
		all[name+", in JSON"] = form{`{"detail": "` + inJSON + `"}`, inJSON}
		all[name+", in an address"] = form{"http://gpu1:8000/v1/models?key=" + inAddress + "&limit=1", inAddress}
	}
	return all
}

// shows finds the longest piece of a coat that a text has, of the given size or more.
func shows(text, coat string, size int) string {
	for at := 0; at+size <= len(coat); at++ {
		if piece := coat[at : at+size]; strings.Contains(text, piece) {
			return piece
		}
	}
	return ""
}

// These stayed in requests.jsonl.zst.
func TestNoCoatOfAKeyIsKept(t *testing.T) {
	const key = "sk-proj-Zq4<vT8&nL2mX6/cR9+wB3yH7kD5"
	names, all := []string{}, forms(key)
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		length := len(bodyOf(r).Prompt) - 1 // the plan says which coat, and where
		coat := all[names[length/3]].text
		quoted := strconv.Quote(strings.ToValidUTF8(coat, "?"))
		switch length % 3 {
		case 0:
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"message":%s,"code":401}}`, quoted)
		case 1:
			openStream(w)
			event(w, `{"error":{"message":`+quoted+`}}`)
		case 2:
			openStream(w)
			event(w, `{"id":"x","choices":[{"index":0,"text":"a","token_ids":[5],"finish_reason":`+quoted+`}]}`)
		}
	})
	texts := map[string]string{}
	for name, form := range all {
		texts[name] = form.text
	}
	said, _ := json.Marshal(texts)
	fake.info = `{"args":` + string(said) + `}`
	fake.metrics = func() string {
		var out strings.Builder
		for _, name := range names {
			fmt.Fprintf(&out, "# HELP m %s\nm{key=%q} 1\n", strings.ReplaceAll(texts[name], "\n", " "), texts[name])
		}
		return out.String() + "vllm:num_requests_running 0\n"
	}
	var requests []plan.Request
	for i := range 3 * len(names) {
		requests = append(requests, plan.Request{InputTokens: i + 1, OutputTokens: 3})
	}
	s := settingsFor(fake.URL)
	s.APIKey = key
	folder := ran(t, planOf(t, plan.Each(requests)), s)
	kept := everything(t, folder)
	for _, name := range names {
		secret := all[name].secret
		size := min(10, len(secret)) // below that it is no run of eight of the key's, or its public begin
		switch n := len(secret); {
		case n >= 3*len(key):
			size = 60
		case 3*n >= 4*len(key):
			size = 24
		}
		if secret != all[name].text { // in JSON or an address: more than the public begin, which is longer there
			size = max(size, 12*len(secret)/len(key)+2)
		}
		for _, text := range []string{kept, strings.ReplaceAll(kept, `\\`, `\`)} {
			if piece := shows(text, secret, size); piece != "" && piece != "the key 's" {
				at := strings.Index(text, piece)
				t.Errorf("%s: %q is in the run's folder: %q", name, piece, text[max(0, at-100):at+len(piece)+20])
				break
			}
		}
	}
	if n := strings.Count(kept, secrets.Redacted); n < 5*len(names) {
		t.Errorf("%d places were redacted, want one for each coat and place", n)
	}
}

// A token in the path of a server's address is used, and kept nowhere.
func TestATokenInTheAddressIsUsedAndNotKept(t *testing.T) {
	const token = "tok7Qx9ZkV3mW5pR8sT2"
	fake := newFake(t, nil)
	fake.complete = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(404)
		fmt.Fprintf(w, `{"detail":"no route for %s"}`, r.URL.Path)
	}
	asked := fake.Config.Handler
	var others sync.Map
	fake.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/"+token+"/") {
			others.Store(r.URL.Path, true)
		}
		http.StripPrefix("/v1/"+token, asked).ServeHTTP(w, r)
	})
	s := settingsFor(fake.URL + "/v1/" + token + "/v1")
	s.Name, s.Note, s.Series = "nightly "+s.BaseURLs[0], "to "+token, &Series{ID: "s", Variable: "base-url", Value: s.BaseURLs[0]}
	folder := ran(t, planOf(t, every(0, 2, 9, 3)), s)
	others.Range(func(path, _ any) bool { t.Errorf("asked for %v without the token", path); return true })
	all := everything(t, folder)
	must.Say(t, all, fake.URL+"/v1/"+secrets.Redacted)
	must.NotSay(t, all, token[:8])
	fake.probe = status(404, `{"detail":"nothing at /v1/`+token+`/v1/models"}`)
	_, err := Run(t.Context(), planOf(t, every(0, 1, 9, 3)), s, filepath.Join(t.TempDir(), "run"))
	if err == nil || strings.Contains(err.Error(), token[:8]) || !strings.Contains(err.Error(), secrets.Redacted+" answers 404") {
		t.Errorf("got %v", err)
	}
}
