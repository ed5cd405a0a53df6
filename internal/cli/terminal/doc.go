// Package terminal is how the program speaks to a person: a console that escapes and queues what is printed, the width of
// the terminal, lines that fit it, and a progress line that replaces itself.
//
// console.go is the way of every printed byte; line.go fits text into columns. Verbs print to Console.Stdout and
// Console.Stderr and need not know whether a person or a program reads: Product passes bytes on unchanged where a program does.
// The package knows nothing of what is printed.
package terminal
