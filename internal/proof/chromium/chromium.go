//go:build pages

package chromium

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// patience is how long the browser may take for one answer before the test gives up.
const patience = 2 * time.Minute

// Browser is a headless Chromium without a network, spoken to in the DevTools protocol over a pipe.
type Browser struct {
	t       *testing.T
	to      *os.File
	answers chan message
	events  []message
	session string
	lastID  int
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser that ends with the test.
func Start(t *testing.T) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: apt-get install chromium")
	}
	toChild, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromChild, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Every other host resolves to nowhere and every connection to one goes to a proxy that is not there.
	command := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--force-color-profile=srgb",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--remote-debugging-pipe", "about:blank")
	command.ExtraFiles = []*os.File{toChild, fromChild} // become 3 and 4
	must.Do(t, command.Start())
	toChild.Close()
	fromChild.Close()
	b := &Browser{t: t, to: to, answers: make(chan message, 1024)}
	go b.listen(from)
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		command.Wait()
		to.Close()
		from.Close()
	})
	b.attach()
	return b
}

// listen passes on what the browser says; messages end in a zero byte.
func (b *Browser) listen(from *os.File) {
	defer close(b.answers)
	reader := bufio.NewReader(from)
	for {
		line, err := reader.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) == nil {
			b.answers <- m
		}
	}
}

func (b *Browser) attach() {
	var target struct{ TargetID string }
	b.must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.must(domain+".enable", nil, nil)
	}
}

func (b *Browser) must(method string, params any, into any) {
	b.t.Helper()
	result, err := b.call(method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(result, into); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *Browser) call(method string, params any) (json.RawMessage, error) {
	b.lastID++
	id := b.lastID
	body, err := json.Marshal(map[string]any{"id": id, "method": method, "params": orEmpty(params), "sessionId": b.session})
	if err != nil {
		return nil, err
	}
	if b.session == "" {
		body, _ = json.Marshal(map[string]any{"id": id, "method": method, "params": orEmpty(params)})
	}
	if _, err := b.to.Write(append(body, 0)); err != nil {
		return nil, err
	}
	m, err := b.await(func(m message) bool { return m.ID == id })
	if err == nil && m.Error != nil {
		err = fmt.Errorf("%s", m.Error.Message)
	}
	return m.Result, err
}

func orEmpty(params any) any {
	if params == nil {
		return map[string]any{}
	}
	return params
}

// await returns the first message that is wanted and keeps all that came before.
func (b *Browser) await(wanted func(message) bool) (message, error) {
	timeout := time.After(patience)
	for {
		select {
		case m, open := <-b.answers:
			if !open {
				return message{}, fmt.Errorf("the browser is gone")
			}
			if m.ID == 0 {
				b.events = append(b.events, m)
			}
			if wanted(m) {
				return m, nil
			}
		case <-timeout:
			return message{}, fmt.Errorf("no answer within %s", patience)
		}
	}
}

// Open loads a page and waits until it has loaded.
func (b *Browser) Open(url string) {
	b.t.Helper()
	before := len(b.events)
	b.must("Page.navigate", map[string]any{"url": url}, nil)
	for _, m := range b.events[before:] {
		if m.Method == "Page.loadEventFired" {
			return
		}
	}
	if _, err := b.await(func(m message) bool { return m.Method == "Page.loadEventFired" }); err != nil {
		b.t.Fatalf("open: %v", err)
	}
}

// Requested are the addresses that the pages have asked for so far.
func (b *Browser) Requested() []string {
	var urls []string
	for _, m := range b.events {
		var p struct{ Request struct{ URL string } }
		if m.Method == "Network.requestWillBeSent" && json.Unmarshal(m.Params, &p) == nil {
			urls = append(urls, p.Request.URL)
		}
	}
	return urls
}

// Complaints are exceptions, console messages, log entries (refused by the CSP, not found) and dialogs.
func (b *Browser) Complaints() []string {
	var out []string
	for _, m := range b.events {
		switch m.Method {
		case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening":
			out = append(out, m.Method+" "+string(m.Params))
		}
	}
	return out
}

// Evaluate gives the string that an expression, or the promise it makes, comes to.
func (b *Browser) Evaluate(expression string) string {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.must("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("evaluate %.60q: %.300s", expression, got.ExceptionDetails)
	}
	text, _ := got.Result.Value.(string)
	return text
}

// Await waits in the page until an expression is true.
func (b *Browser) Await(condition string) {
	b.Evaluate(fmt.Sprintf(`new Promise(done => { const look = () => (%s) ? done("yes") : setTimeout(look, 20); look(); })`, condition))
}

// CheckLooks has the page be neither too wide nor hard to read on a screen, in the dark and on a phone; it leaves the light screen.
func (b *Browser) CheckLooks(t *testing.T, name string) {
	t.Helper()
	for _, look := range []struct {
		name   string
		width  int
		isDark bool
	}{{"light", 1280, false}, {"dark", 1280, true}, {"phone", 390, false}, {"phone-dark", 390, true}} {
		b.Size(look.width)
		b.Dark(look.isDark)
		if got := b.Evaluate(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); got != "0" {
			t.Errorf("%s, %s: the page is %s px too wide", name, look.name, got)
		}
		b.Screenshot(name + "-" + look.name)
		b.CheckAccessibility(t)
	}
	b.Size(1280)
	b.Dark(false)
}

// Size sets the width of the window, in CSS pixels; below 600 it is a phone's.
func (b *Browser) Size(width int) {
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

// Media is print, screen or nothing.
func (b *Browser) Media(name string) {
	b.must("Emulation.setEmulatedMedia", map[string]any{"media": name}, nil)
}

// Screenshot and PDF leave a picture in the folder that $TIDEMARK_PAGES names, where somebody can look at it.
func (b *Browser) Screenshot(name string) {
	var got struct{ Data string }
	height, _ := strconv.Atoi(b.Evaluate(`String(document.documentElement.scrollHeight)`))
	width, _ := strconv.Atoi(b.Evaluate(`String(document.documentElement.clientWidth)`))
	clip := map[string]any{"x": 0, "y": 0, "width": width, "height": min(height, 12000), "scale": 1} // higher is refused
	b.must("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "clip": clip}, &got)
	b.keep(name+".png", decode(b.t, got.Data))
}

// PDF prints the page.
func (b *Browser) PDF(name string) string {
	var got struct{ Data string }
	b.must("Page.printToPDF", map[string]any{"preferCSSPageSize": true, "printBackground": true}, &got)
	pdf := decode(b.t, got.Data)
	b.keep(name+".pdf", pdf)
	return string(pdf)
}

func (b *Browser) keep(name string, bytes []byte) {
	folder := os.Getenv("TIDEMARK_PAGES")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name), bytes, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// CheckAccessibility reports what axe-core, the file in $AXE_CORE_JS, finds wrong with the page.
func (b *Browser) CheckAccessibility(t *testing.T) {
	t.Helper()
	path := os.Getenv("AXE_CORE_JS")
	if path == "" {
		t.Log("LEFT OUT: accessibility by axe-core; name its axe.min.js in $AXE_CORE_JS (npm package axe-core)")
		return
	}
	source := must.Get(os.ReadFile(path))(t)
	b.Evaluate(string(source) + "; 'loaded'")
	found := b.Evaluate(`axe.run(document).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))}))))`)
	var violations []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		t.Fatalf("axe-core: %v in %.200q", err, found)
	}
	for _, v := range violations {
		t.Errorf("accessibility: %s: %s: %q", v.ID, v.Help, v.Nodes)
	}
}

func decode(t *testing.T, b64 string) []byte {
	t.Helper()
	bytes := must.Get(base64.StdEncoding.DecodeString(b64))(t)
	return bytes
}

// Dark sets whether the user prefers dark pages.
func (b *Browser) Dark(is bool) {
	value := map[bool]string{true: "dark", false: "light"}[is]
	b.must("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": value}}}, nil)
}

// Type writes into the field that has the focus.
func (b *Browser) Type(text string) {
	b.must("Input.insertText", map[string]any{"text": text}, nil)
}

// Enter presses Enter, with Ctrl or without.
func (b *Browser) Enter(withControl bool) {
	modifiers := map[bool]int{true: 2, false: 0}[withControl]
	for _, kind := range []string{"keyDown", "keyUp"} {
		event := map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": modifiers}
		if kind == "keyDown" && !withControl {
			event["text"] = "\r"
		}
		b.must("Input.dispatchKeyEvent", event, nil)
	}
}
