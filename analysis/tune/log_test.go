package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/replay/server"
)

func TestTheJournalGoesOnAfterAKillAtAnyByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "chat.tune.jsonl")
	f := File{Asked: Asked{Name: "chat", SHA256: "one"}}
	l, err := OpenLog(path, f, false, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for i, candidate := range []string{"defaults", "--mode 1"} {
		must.Do(t, l.Starting(candidate))
		l.Started(server.Identity{PID: 7, Began: "123"})
		l.Ended(Try{Candidate: candidate, Outcome: Served, Answer: found(10, 9, 11, time.Minute)})
		if i == 0 {
			l.Stopped()
		}
	}
	if _, err := OpenLog(path, f, false, time.Now); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second process: %v", err)
	}
	l.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		must.Do(t, os.WriteFile(path, text[:n], 0o600))
		l, err := OpenLog(path, f, false, time.Now)
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		whole := string(text[:n])
		whole = whole[:strings.LastIndexByte(whole, '\n')+1]
		isLeft := strings.Count(whole, `"started"`) > strings.Count(whole, `"stopped"`)
		if len(l.Tries) != strings.Count(whole, `"ended"`) || l.Starts != strings.Count(whole, `"starting"`+`,"s`) || (l.Left != nil) != isLeft {
			t.Fatalf("after %d bytes: %d tries, %d starts, left %v", n, len(l.Tries), l.Starts, l.Left)
		}
		l.Close()
	}
	os.WriteFile(path, text, 0o600)
	if l, err = OpenLog(path, f, false, time.Now); err != nil || *l.Left != (server.Identity{PID: 7, Began: "123"}) || *l.Tries[1].Answer.RateHighPerS != 11 {
		t.Fatalf("the whole journal: %+v, %v", l, err)
	}
	l.Close()
	_, err = OpenLog(path, File{Asked: Asked{Name: "chat", SHA256: "two"}}, false, time.Now)
	if !hint.IsMisuse(err) || !strings.Contains(hint.Of(err), "--restart") {
		t.Errorf("of a changed file: %v, %s", err, hint.Of(err))
	}
	if l, err = OpenLog(path, File{Asked: Asked{Name: "chat", SHA256: "two"}}, true, time.Now); err != nil || len(l.Tries) > 0 {
		t.Errorf("begun again: %v", err)
	}
	l.Close()
	if old, _ := filepath.Glob(strings.TrimSuffix(path, ".jsonl") + ".*.jsonl"); len(old) != 1 {
		t.Errorf("kept beside: %v", old)
	}
}

func TestAServerInTheFile(t *testing.T) {
	f := parsed(t, "space: {max_num_seqs: [64]}\nserver: {start: [./serve.sh, \"{flags}\", -x], base_url: \"http://127.0.0.1:8000/\", model: m, stop_within: 5s}\nbudget: {load: 1h}\n")
	if got := strings.Join(f.Server.Command([]string{"--a", "b c"}), "|"); got != "./serve.sh|--a|b c|-x" {
		t.Error(got)
	}
	if f.Budget != (Budget{time.Hour, 20}) || f.Server.ReadyWithin != 10*time.Minute || f.Server.StopWithin != 5*time.Second || f.Server.BaseURL != "http://127.0.0.1:8000" {
		t.Errorf("%+v %+v", f.Budget, f.Server)
	}
	f.Server.Start = []string{"sh", "-c", "serve {flags} | cat"}
	if got := f.Server.Command([]string{"--a", "b c"})[2]; got != "serve --a 'b c' | cat" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"server: {start: [./serve.sh], base_url: \"http://h:1\", model: m}":    "line 7: server.start: no argument is {flags}",
		"server: {start: [./serve.sh, \"{flags}\"], base_url: h, model: m}":    "server.base_url: h: not an address",
		"server: {start: [./serve.sh, \"{flags}\"], base_url: \"http://h:1\"}": "server.model",
		"budget: {starts: 0}": "budget.starts",
		"server: {start: [./s, \"{flags}\"], base_url: \"http://h\", model: m, x: 1}": "server: unknown key",
	} {
		if _, err := Parse([]byte(head + "space: {max_num_seqs: [64]}\n" + text + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
