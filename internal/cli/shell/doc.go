// Package shell asks a user's own questions: one of them for "tidemark sql QUERY", and many in a terminal, with a line editor,
// history, completion and commands.
//
// ask.go confines a question (memory, files, time) and says in the user's words what stopped it. shell.go reads statements
// and runs them; commands.go has the commands that begin with a dot; keys.go reads the keyboard and knows what Ctrl-C means at
// the moment; complete.go finds what a word may become, with what catalogue.go has read from the warehouse; history.go
// keeps what was typed.
//
// The warehouse is opened for each question and closed after it, by the function that the caller gives: a shell that waits for a person
// holds no lock. The line editor is golang.org/x/term.
//
// The package writes no SQL of its own about runs or traces, and changes nothing but its history.
package shell
