package proof_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// .ci/proof is tried in a repository of its own, whose Makefile has two proofs: one that passes and says that it ran, one that fails.
const makefile = `
good:
	@echo ran >>ran
bad:
	@false
`

// repository is a folder under git with the script and the Makefile.
func repository(t *testing.T) (folder string, proof func(environment string, words ...string) string) {
	t.Helper()
	script := must.Get(os.ReadFile(filepath.Join("..", "..", ".ci", "proof")))(t)
	folder = t.TempDir()
	for name, content := range map[string]string{
		".ci/proof": string(script), "Makefile": makefile, "go.mod": "module m\n", "part/a.go": "package a\n", "other/b.go": "package b\n",
		"docs/text.md": "text\n", ".gitignore": "ran\n",
	} {
		path := filepath.Join(folder, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(content), 0o755))
	}
	run := func(environment string, words ...string) string {
		t.Helper()
		command := exec.Command(words[0], words[1:]...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", environment)
		said, err := command.CombinedOutput()
		if err != nil {
			return string(said) + err.Error()
		}
		return string(said)
	}
	run("", "git", "init", "-q")
	run("", "git", "add", ".")
	run("", "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
	return folder, func(environment string, words ...string) string {
		t.Helper()
		return run(environment, append([]string{".ci/proof"}, words...)...)
	}
}

// A proof is due until it has passed, and again when a file under its paths has changed.
func TestAProofIsDueWhenItsFilesHaveChanged(t *testing.T) {
	folder, proof := repository(t)
	write := func(name, content string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
	runs := func() int {
		content, _ := os.ReadFile(filepath.Join(folder, "ran"))
		return strings.Count(string(content), "ran")
	}
	must.Say(t, proof("", "say", "good", "part"), "due; never passed")
	must.Say(t, proof("", "due", "good", "part"), "passed in")
	must.Say(t, proof("", "due", "good", "part"), "LEFT OUT: good: nothing that it proves has changed; last passed on ")
	write("docs/text.md", "other text\n")
	write("other/b.go", "package c\n")
	must.Say(t, proof("", "due", "good", "part"), "LEFT OUT")
	if runs() != 1 {
		t.Errorf("it ran %d times, want once", runs())
	}
	for i, change := range []func(){
		func() { write("part/a.go", "package changed\n") },
		func() { write("part/new.go", "package changed\n") },
		func() { os.Remove(filepath.Join(folder, "part/new.go")) },
		func() { write("go.mod", "module m\n\ngo 1.27\n") },
	} {
		change()
		must.Say(t, proof("", "due", "good", "part"), "passed in")
		if runs() != i+2 {
			t.Errorf("after change %d it ran %d times, want %d", i, runs(), i+2)
		}
	}
}

// What failed stays due, and what passed before keeps its line.
func TestAProofThatFailsIsNotRecorded(t *testing.T) {
	folder, proof := repository(t)
	proof("", "run", "good", "part")
	must.Say(t, proof("", "run", "bad", "part"), "exit status")
	must.Say(t, proof("", "say", "bad", "part"), "due; never passed")
	records := must.Get(os.ReadFile(filepath.Join(folder, "docs", "proofs.csv")))(t)
	lines := strings.Split(strings.TrimSpace(string(records)), "\n")
	if len(lines) != 2 || lines[0] != "proof,passed_on,commit,seconds,inputs" || !strings.HasPrefix(lines[1], "good,") {
		t.Errorf("docs/proofs.csv has %q", lines)
	}
}

// CI leaves out what would not end in time, and says so; no path, or one without a file, is an error, because the proof would never be due again.
func TestAProofThatCannotRunSaysSo(t *testing.T) {
	_, proof := repository(t)
	must.Say(t, proof("CI_ENDS_AT=1000", "due", "good", "part"), "LEFT OUT: good: due, but time is short")
	must.Say(t, proof("", "due", "good"), "add paths-good to the Makefile")
	must.Say(t, proof("", "due", "good", "nowhere"), "no file in git matches nowhere")
}
