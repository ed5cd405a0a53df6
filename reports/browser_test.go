//go:build duckdb_arrow && pages

package reports_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// patience is how long the browser may take for one answer before the test gives up.
const patience = 2 * time.Minute

// browser is a headless Chromium without a network, spoken to in the DevTools protocol over a pipe.
type browser struct {
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

func startBrowser(t *testing.T) *browser {
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
	// Every host resolves to nowhere and every connection goes to a proxy that is not there.
	command := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND", "--force-color-profile=srgb",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--remote-debugging-pipe", "about:blank")
	command.ExtraFiles = []*os.File{toChild, fromChild} // become 3 and 4
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	toChild.Close()
	fromChild.Close()
	b := &browser{t: t, to: to, answers: make(chan message, 1024)}
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
func (b *browser) listen(from *os.File) {
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

func (b *browser) attach() {
	var target struct{ TargetID string }
	b.must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.must(domain+".enable", nil, nil)
	}
}

func (b *browser) must(method string, params any, into any) {
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

func (b *browser) call(method string, params any) (json.RawMessage, error) {
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
func (b *browser) await(wanted func(message) bool) (message, error) {
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

func (b *browser) open(url string) {
	b.t.Helper()
	b.must("Page.navigate", map[string]any{"url": url}, nil)
	for _, m := range b.events {
		if m.Method == "Page.loadEventFired" {
			return
		}
	}
	if _, err := b.await(func(m message) bool { return m.Method == "Page.loadEventFired" }); err != nil {
		b.t.Fatalf("open: %v", err)
	}
}

func (b *browser) requested() []string {
	var urls []string
	for _, m := range b.events {
		var p struct{ Request struct{ URL string } }
		if m.Method == "Network.requestWillBeSent" && json.Unmarshal(m.Params, &p) == nil {
			urls = append(urls, p.Request.URL)
		}
	}
	return urls
}

// complaints are exceptions, console messages, log entries (refused by the CSP, not found) and dialogs.
func (b *browser) complaints() []string {
	var out []string
	for _, m := range b.events {
		switch m.Method {
		case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening":
			out = append(out, m.Method+" "+string(m.Params))
		}
	}
	return out
}

// evaluate gives the string that an expression, or the promise it makes, comes to.
func (b *browser) evaluate(expression string) string {
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

func (b *browser) size(width int) {
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

func (b *browser) media(name string) {
	b.must("Emulation.setEmulatedMedia", map[string]any{"media": name}, nil)
}

// screenshot and pdf leave a picture in the folder that $TIDEMARK_PAGES names, where somebody can look at it.
func (b *browser) screenshot(name string) {
	var got struct{ Data string }
	height, _ := strconv.Atoi(b.evaluate(`String(document.documentElement.scrollHeight)`))
	width, _ := strconv.Atoi(b.evaluate(`String(document.documentElement.clientWidth)`))
	clip := map[string]any{"x": 0, "y": 0, "width": width, "height": min(height, 12000), "scale": 1} // higher is refused
	b.must("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "clip": clip}, &got)
	b.keep(name+".png", decode(b.t, got.Data))
}

func (b *browser) pdf(name string) string {
	var got struct{ Data string }
	b.must("Page.printToPDF", map[string]any{"preferCSSPageSize": true, "printBackground": true}, &got)
	pdf := decode(b.t, got.Data)
	b.keep(name+".pdf", pdf)
	return string(pdf)
}

func (b *browser) keep(name string, bytes []byte) {
	folder := os.Getenv("TIDEMARK_PAGES")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name), bytes, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
