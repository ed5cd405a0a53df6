package commandline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
)

// The scripts are written out and complete: a shell that completes does not start the program, which would take a tenth of a second for each
// Tab, and nothing of the line that is being typed is run. urfave's own scripts for bash and zsh start the program, run the words
// typed so far by eval, and know no file names; its ToFishCompletion never ends, because help is a verb below help.
var completions = map[string]func(*cli.App, io.Writer) error{"bash": bash, "zsh": zsh, "fish": fish}

// CompletionCommand is the verb that prints what makes a shell complete verbs, flags and file names.
func CompletionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the script that makes bash, zsh or fish complete",
		ArgsUsage: "bash | zsh | fish",
		Description: `For this shell only, or for each by the line in .bashrc or .zshrc:
  bash   source <(tidemark completion bash)
  zsh    source <(tidemark completion zsh)
  fish   tidemark completion fish > ~/.config/fish/completions/tidemark.fish

Example:
  tidemark completion bash`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "quiet", Usage: "no messages on stderr"}},
		Action: func(c *cli.Context) error {
			script := completions[c.Args().First()]
			if script == nil || c.NArg() != 1 {
				return hint.Misuse("completion: name one shell, not %q", strings.Join(c.Args().Slice(), " ")).Hint("bash, zsh or fish: tidemark completion bash")
			}
			return script(c.App, terminal.Product(c.App.Writer))
		},
	}
}

// verbs are the names of the verbs that people type, with those of urfave.
func verbs(app *cli.App) (names []string) {
	for _, command := range app.Commands {
		if !command.Hidden && !isBelow(command) {
			names = append(names, command.Name)
		}
	}
	return names
}

// flagNames are the flags of a verb with their dashes, and which of them take a value.
func flagNames(command *cli.Command) (all, valued []string) {
	for _, flag := range command.Flags {
		name := "--" + flag.Names()[0]
		all = append(all, name)
		if documented, is := flag.(cli.DocGenerationFlag); is && documented.TakesValue() {
			valued = append(valued, name)
		}
	}
	if !slices.Contains(all, "--help") {
		all = append(all, "--help")
	}
	return all, valued
}

// words are what the first argument of a verb may be, where these are words in its usage: list | keys | show NAME, or [fit | kv].
func words(app *cli.App, command *cli.Command) (found []string) {
	if command.Name == help {
		return verbs(app)
	}
	for part := range strings.SplitSeq(command.ArgsUsage, "|") {
		if word, _, _ := strings.Cut(strings.Trim(part, "[] "), " "); word != "" && word == strings.ToLower(word) && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			found = append(found, word)
		}
	}
	return found
}

// filesInUsage are the words of a usage that a file may stand for; of a verb without one, such as runs, no file is offered.
var filesInUsage = []string{"FILE", "PATH", "PLAN", "PROFILE", "TRACE", "diff A B"}

func takesFiles(command *cli.Command) bool {
	return slices.ContainsFunc(filesInUsage, func(word string) bool { return strings.Contains(command.ArgsUsage, word) })
}

// help is the verb of urfave whose argument is a verb.
const help = "help"

// bash completes the verb, then a flag of it, and otherwise a word of its usage or a file.
func bash(app *cli.App, w io.Writer) error {
	var cases strings.Builder
	for _, command := range app.Commands {
		all, valued := flagNames(command)
		offered, files := words(app, command), ""
		if takesFiles(command) {
			files = "yes"
		}
		fmt.Fprintf(&cases, "        %s)\n            flags='%s'\n            valued='%s'\n            words='%s'\n            files='%s' ;;\n",
			joined(command), strings.Join(all, " "), strings.Join(valued, " "), strings.Join(offered, " "), files)
	}
	_, err := fmt.Fprintf(w, `# bash completion of %[1]s
_%[1]s() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= flags= valued= words= files= word
    local verbs='%[2]s' below='%[4]s'
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -z $verb && " $verbs " == *" $word "* ]]; then
            verb=$word
        elif [[ " $below " == *" $verb/$word "* ]]; then
            verb=$verb/$word
            break
        fi
    done
    COMPREPLY=()
    if [[ -z $verb ]]; then
        COMPREPLY=($(compgen -W "$verbs --help --version" -- "$cur"))
        return
    fi
    case $verb in
%[3]s    esac
    if [[ " $valued " == *" $prev "* ]]; then
        words= files=yes
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
        return
    fi
    local IFS=$'\n'
    COMPREPLY=($(IFS=' '; compgen -W "$words" -- "$cur"))
    if [[ -n $files ]]; then
        COMPREPLY+=($(compgen -f -- "$cur"))
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _%[1]s %[1]s
`, app.Name, strings.Join(verbs(app), " "), cases.String(), allBelow(app))
	return err
}

// joined is the name of a verb as one word of a shell: predict/fit.
func joined(command *cli.Command) string { return strings.Replace(command.Name, " ", "/", 1) }

// allBelow are the names of the verbs below others.
func allBelow(app *cli.App) string {
	var names []string
	for _, command := range app.Commands {
		if isBelow(command) {
			names = append(names, joined(command))
		}
	}
	return strings.Join(names, " ")
}

// zsh completes as bash does, with what each verb and flag is for.
func zsh(app *cli.App, w io.Writer) error {
	var described, cases strings.Builder
	for _, command := range app.Commands {
		if command.Hidden {
			continue
		}
		if !isBelow(command) {
			fmt.Fprintf(&described, "        %s\n", quoted(command.Name+":"+command.Usage))
		}
		fmt.Fprintf(&cases, "        %s)\n            _arguments", joined(command))
		for _, flag := range command.Flags {
			documented, is := flag.(cli.DocGenerationFlag)
			if !is {
				continue
			}
			value, usage := valueName(documented)
			argument := fmt.Sprintf("--%s[%s]", flag.Names()[0], strings.NewReplacer("[", "(", "]", ")", ":", " -").Replace(usage))
			if documented.TakesValue() {
				argument += ":" + strings.NewReplacer(":", " ", "'", "").Replace(value) + ":_files"
			}
			fmt.Fprintf(&cases, " \\\n                %s", quoted(argument))
		}
		found := words(app, command)
		switch {
		case len(found) > 0 && takesFiles(command):
			fmt.Fprintf(&cases, " \\\n                %s", quoted(`1: :{_alternative "words:word:(`+strings.Join(found, " ")+`)" "files:file:_files"}`))
		case len(found) > 0:
			fmt.Fprintf(&cases, " \\\n                %s", quoted("1:word:("+strings.Join(found, " ")+")"))
		}
		if takesFiles(command) {
			fmt.Fprintf(&cases, " \\\n                %s", quoted("*:file:_files"))
		}
		fmt.Fprint(&cases, " ;;\n")
	}
	_, err := fmt.Fprintf(w, `#compdef %[1]s
_%[1]s() {
    local -a verbs
    verbs=(
%[2]s    )
    if (( CURRENT == 2 )); then
        _describe 'verb' verbs
        return
    fi
    local verb=$words[2]
    shift words
    (( CURRENT-- ))
    if [[ " %[4]s " == *" $verb/$words[2] "* ]]; then
        verb=$verb/$words[2]
        (( CURRENT-- )); shift words
    fi
    case $verb in
%[3]s    esac
}
compdef _%[1]s %[1]s
`, app.Name, described.String(), cases.String(), allBelow(app))
	return err
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// fish completes as bash does, with what each verb and flag is for.
func fish(app *cli.App, w io.Writer) error {
	var b strings.Builder
	quoted := func(text string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "`", "").Replace(text) + "'"
	}
	for _, command := range app.Commands {
		if command.Hidden {
			continue
		}
		if !isBelow(command) {
			fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f -a %s -d %s\n", app.Name, command.Name, quoted(command.Usage))
		}
		chosen := quoted("__fish_seen_subcommand_from " + strings.Replace(command.Name, " ", "; and __fish_seen_subcommand_from ", 1))
		offered := words(app, command)
		if !takesFiles(command) {
			fmt.Fprintf(&b, "complete -c %s -n %s -f\n", app.Name, chosen)
		}
		for _, word := range offered {
			fmt.Fprintf(&b, "complete -c %s -n %s -a %s\n", app.Name, chosen, word)
		}
		for _, flag := range command.Flags {
			documented, is := flag.(cli.DocGenerationFlag)
			if !is {
				continue
			}
			takes := ""
			if documented.TakesValue() {
				takes = " -r"
			}
			fmt.Fprintf(&b, "complete -c %s -n %s -l %s%s -d %s\n", app.Name, chosen, flag.Names()[0], takes, quoted(documented.GetUsage()))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
