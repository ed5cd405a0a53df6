package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
)

// Of 141 lines of the help of replay a terminal showed the last 24. Of a verb 23 are shown, so that the prompt below does not move the first one away.
func TestHelpFitsAScreen(t *testing.T) {
	app := newApp(nil, io.Discard, io.Discard)
	asked := [][]string{{"help"}}
	for _, command := range app.Commands {
		asked = append(asked, []string{command.Name, "--help"}, []string{"help", command.Name}, []string{command.Name, "--help-all"})
	}
	for _, args := range asked {
		text := printed(t, args...)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if most := map[bool]int{true: 48, false: 23}[len(args) == 1]; len(lines) > most && !slices.Contains(args, "--help-all") {
			t.Errorf("%v: %d lines, want at most %d", args, len(lines), most)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%v: a line of %d columns: %s", args, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// The help shows the flags that are used most and says how to see the others.
func TestHelpAllShowsEveryFlag(t *testing.T) {
	for _, command := range newApp(nil, io.Discard, io.Discard).Commands {
		short, all := printed(t, command.Name, "--help"), printed(t, command.Name, "--help-all")
		for _, flag := range command.Flags {
			if name := "   --" + flag.Names()[0]; name != "   --help-all" && !strings.Contains(all, name) {
				t.Errorf("%s --help-all has no%s", command.Name, name)
			}
		}
		if most := mostUsed[command.Name]; most != "" && !strings.Contains(short, "more flags: tidemark "+command.Name+" --help-all\n") {
			t.Errorf("%s --help does not say how to see the rest:\n%s", command.Name, short)
		} else if first := "FLAGS:\n   --" + strings.Join(strings.Fields(most)[:min(1, len(most))], ""); !strings.Contains(all, first) {
			t.Errorf("%s --help-all does not begin with %q", command.Name, first)
		}
	}
}

// The words of a command may stand before the wish for its help.
func TestHelpOfACommandWithArguments(t *testing.T) {
	for _, args := range [][]string{{"k8s", "manifest", "--help"}, {"k8s", "manifest", "plan.jsonl.zst", "-h"}, {"help", "k8s", "manifest"}, {"k8s", "--image", "x", "manifest", "--help"}} {
		if got := printed(t, args...); got != printed(t, "k8s", "--help") {
			t.Errorf("%v: got %s", args, got)
		}
	}
}

// The old names of verbs work as the new ones, and say so once.
func TestOldNamesOfVerbsSayTheNewOnes(t *testing.T) {
	for old, now := range map[string]string{
		"fit": "predict fit", "kv": "predict kv", "queue": "predict queue", "judge": "runs",
		"check": "warehouse check", "upgrade": "warehouse upgrade", "publish": "warehouse publish", "purge": "warehouse purge",
	} {
		want := printed(t, append(strings.Fields(now), "--help")...)
		for _, args := range [][]string{{old, "--help"}, {"--quiet", old, "--help"}, {"help", old}} {
			var out, said bytes.Buffer
			if code := run(append([]string{"tidemark"}, args...), strings.NewReader(""), &out, &said); code != 0 || out.String() != want {
				t.Errorf("%v: exit code %d and not the help of %s:\n%s", args, code, now, out.String())
			}
			says := "tidemark: " + old + " is now \"tidemark " + now + "\"; the next version no longer knows the old name\n"
			if isQuiet := args[0] == "--quiet"; isQuiet && said.Len() > 0 || !isQuiet && said.String() != says {
				t.Errorf("%v: said %q, want %q", args, said.String(), says)
			}
		}
	}
	if got, want := printed(t, "kv", "--layers", "80", "--heads", "8", "--head-dim", "128", "--csv"), printed(t, "predict", "--csv", "kv", "--layers", "80", "--heads", "8", "--head-dim", "128"); got != want {
		t.Errorf("kv prints\n%s, predict kv\n%s", got, want)
	}
}

// A verb below another is in the usage of that one, which is what people and shells see of it.
func TestVerbsBelowAreInTheUsage(t *testing.T) {
	app := newApp(nil, io.Discard, io.Discard)
	for _, command := range app.Commands {
		if verb, word, isBelow := strings.Cut(command.Name, " "); isBelow && !strings.Contains(" "+app.Command(verb).ArgsUsage+" ", " "+word+" ") && !slices.Contains(strings.Fields(strings.Trim(app.Command(verb).ArgsUsage, "[]")), word) {
			t.Errorf("%s has no %s in its usage: %s", verb, word, app.Command(verb).ArgsUsage)
		}
	}
}

// The overview has each verb once, about twenty of them with what they are for.
func TestHelpNamesEachVerbOnce(t *testing.T) {
	text, lines := printed(t, "help"), 0
	for _, command := range newApp(nil, io.Discard, io.Discard).VisibleCommands() {
		if strings.Contains(command.Name, " ") {
			continue
		}
		shown := strings.Count(text, "\n   "+command.Name+" ")
		lines += shown
		_, others, _ := strings.Cut(text, "\nAlso: ")
		if others = strings.Join(strings.Fields(others), " "); slices.Contains(strings.Split(others, ", "), command.Name) {
			shown++
		}
		if shown != 1 {
			t.Errorf("%s is there %d times:\n%s", command.Name, shown, text)
		}
	}
	if lines < 18 || lines > 25 {
		t.Errorf("%d lines of verbs, want 18 to 25: put the verb that fewest look for under \"\" in verbs() of main.go, or below another verb", lines)
	}
}

func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(append([]string{"tidemark"}, args...), strings.NewReader(""), &out, &said); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, said.String())
	}
	return out.String()
}

// What bash offers, asked of a real bash.
func TestBashCompletes(t *testing.T) {
	t.Chdir(t.TempDir())
	script := printed(t, "completion", "bash")
	for _, name := range []string{"slow trace.csv", "slo.yaml", "show.txt"} {
		must.Do(t, os.WriteFile(name, nil, 0o600))
	}
	must.Do(t, os.WriteFile("completion", []byte(script), 0o600))
	for _, c := range []struct{ typed, want string }{
		{"re", "replay rehearse report"},
		{"--v", "--version"},
		{"replay --base", "--base-url"},
		{"--quiet replay --base", "--base-url"},
		{"--warehouse slo.yaml replay --base", "--base-url"},
		{"replay slo.yaml --max-l", "--max-lateness"},
		{"runs --base", ""},
		{"replay sl", "slo.yaml slow trace.csv"},
		{"replay --slo sl", "slo.yaml slow trace.csv"},
		{"profile sh", "show show.txt"},
		{"profile --yaml show --dr", "--draw"},
		{"completion z", "zsh"},
		{"completion s", ""},
		{"runs s", ""},
		{"runs --warehouse sl", "slo.yaml slow trace.csv"},
		{"help re", "replay rehearse report"},
		{"predict ", "fit kv queue"},
		{"predict fit --mem", "--memory"},
		{"warehouse p", "publish purge"},
		{"warehouse purge --bef", "--before"},
		{"kv --heads", ""},
		{"replay --help-", "--help-all"},
	} {
		words := strings.Split(c.typed, " ")
		ask := `. ./completion; complete -p tidemark | grep -q _tidemark || exit 1; COMP_WORDS=(tidemark "$@"); COMP_CWORD=$#; _tidemark; IFS=' '; echo "${COMPREPLY[*]}"`
		out, err := exec.Command("bash", append([]string{"-c", ask, "bash"}, words...)...).CombinedOutput()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != c.want {
			t.Errorf("%q: got %q, want %q (%v)", c.typed, got, c.want, err)
		}
	}
	out, err := exec.Command("bash", "-c", `. ./completion; COMP_WORDS=(tidemark replay ''); COMP_CWORD=2; _tidemark; echo ${#COMPREPLY[@]}`).CombinedOutput()
	if err != nil || string(out) != "4\n" { // a name with a space in it is one
		t.Errorf("files after a verb: %q, %v", out, err)
	}
}

// zsh and fish are asked where they are installed. Otherwise their scripts are read as far as quotes and parentheses go, and must name every flag.
func TestZshAndFishComplete(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		script := printed(t, "completion", shell)
		if path, err := exec.LookPath(shell); err == nil {
			command := exec.Command(path, "-n")
			command.Stdin = strings.NewReader(script)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s -n: %v\n%s", shell, err, out)
			}
		}
		if err := balanced(script, shell == "fish"); err != "" {
			t.Errorf("%s: %s", shell, err)
		}
		for _, command := range newApp(nil, io.Discard, io.Discard).Commands {
			for _, flag := range command.Flags {
				name := flag.Names()[0]
				if name != "help-all" && !strings.Contains(script, "'--"+name+"[") && !strings.Contains(script, " -l "+name+" ") {
					t.Errorf("%s: no --%s of %s", shell, name, command.Name)
				}
			}
		}
	}
	if _, err := exec.LookPath("fish"); err == nil {
		for typed, want := range map[string]string{"help rep": "replay report", "predict k": "kv", "warehouse purge --bef": "--before", "completion z": "zsh", "runs h": "", "replay --base-": "--base-url"} {
			out, err := exec.Command("fish", "--no-config", "-c", printed(t, "completion", "fish")+"\ncomplete -C 'tidemark "+typed+"' | cut -f1").CombinedOutput()
			if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
				t.Errorf("fish, %q: got %q, want %q (%v)", typed, got, want, err)
			}
		}
	}
	var out, said bytes.Buffer
	if code := run([]string{"tidemark", "completion", "tcsh"}, strings.NewReader(""), &out, &said); code != kit.ExitMisuse || !strings.Contains(said.String(), "hint: bash, zsh or fish") {
		t.Errorf("another shell: exit code %d: %s", code, said.String())
	}
}

// balanced finds a quote or a parenthesis that is not closed. In fish a backslash escapes within quotes.
func balanced(script string, escapes bool) string {
	quote, depth := rune(0), 0
	isEscaped, isComment := false, false
	for i, r := range script {
		switch {
		case isComment:
			isComment = r != '\n'
		case isEscaped:
			isEscaped = false
		case r == '\\' && (quote == 0 || escapes || quote == '"'):
			isEscaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '#' && (i == 0 || script[i-1] == '\n'):
			isComment = true
		case r == '(':
			depth++
		case r == ')' && !escapes && strings.HasPrefix(script[strings.LastIndex(script[:i], "\n")+1:], "        "+strings.TrimSpace(script[strings.LastIndex(script[:i], "\n")+1:i])+")\n"):
			// of a case
		case r == ')':
			depth--
		}
		if depth < 0 {
			return "a parenthesis is closed that was not opened: " + script[max(0, i-80):i+1]
		}
	}
	if quote != 0 || depth != 0 {
		return "a quote or a parenthesis is not closed"
	}
	return ""
}
