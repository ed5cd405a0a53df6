package tune

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/yamlfile"
)

// Server is how a candidate's server is started, and where it answers.
type Server struct {
	Start       []string // a program and its arguments, with {flags} among them
	Stop        []string // a program that ends what does not end with its process, as a container; nil: SIGTERM does
	BaseURL     string
	Model       string // as it is served
	ReadyWithin time.Duration
	StopWithin  time.Duration
	Dir         string // of the file: the program runs there
}

// Budget bounds stage two.
type Budget struct {
	Load   time.Duration // in which load is sent, all candidates together
	Starts int
}

// flagsHere is where a candidate's flags go. As an argument of its own it becomes one for each; within another, as in a line of shell, it
// becomes their text.
const flagsHere = "{flags}"

func (f *File) readServer(where string, node *yamlfile.Node) error {
	s := &Server{ReadyWithin: 10 * time.Minute, StopWithin: time.Minute}
	err := yamlfile.Fields{
		"start": yamlfile.Each(func(where string, node *yamlfile.Node) error {
			var argument string
			err := yamlfile.Text(&argument)(where, node)
			s.Start = append(s.Start, argument)
			if err == nil && strings.HasPrefix(argument, "-") {
				err = refuseUnmodelled(where, node, argument)
			}
			return err
		}),
		"stop":         yamlfile.Texts(&s.Stop),
		"base_url":     yamlfile.Text(&s.BaseURL),
		"model":        yamlfile.Text(&s.Model),
		"ready_within": yamlfile.Duration(&s.ReadyWithin),
		"stop_within":  yamlfile.Duration(&s.StopWithin),
	}.Read(where, node)
	if err == nil {
		err = yamlfile.Require(where, node, "start", "base_url", "model")
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.Start[1:], func(argument string) bool { return strings.Contains(argument, flagsHere) }) {
		return hint.Wrap(yamlfile.Errorf(node, "%s.start: no argument is %s, so that every candidate would be the same server", where, flagsHere)).
			Hint(`start: ["./serve.sh", "{flags}"]`)
	}
	if u, err := url.Parse(s.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return hint.Wrap(yamlfile.Errorf(node, "%s.base_url: %s: not an address", where, s.BaseURL)).Hint("base_url: http://127.0.0.1:8000")
	}
	s.BaseURL = strings.TrimSuffix(s.BaseURL, "/")
	f.Server = s
	return nil
}

// refuseUnmodelled refuses a flag whose technique the model that chooses the candidates does not have.
func refuseUnmodelled(where string, node *yamlfile.Node, flag string) error {
	flag, _, _ = strings.Cut(flag, "=")
	if technique := hint.Unmodelled(flag); technique != "" {
		return hint.Wrap(yamlfile.Errorf(node, "%s: %s: %s is not modelled", where, flag, technique)).Hint(hint.MeasureUnmodelled)
	}
	return nil
}

// Command starts the server with a candidate's flags.
func (s Server) Command(flags []string) (args []string) {
	for _, argument := range s.Start {
		if argument == flagsHere {
			args = append(args, flags...)
			continue
		}
		args = append(args, strings.ReplaceAll(argument, flagsHere, escape.ShellWords(flags)))
	}
	return args
}
