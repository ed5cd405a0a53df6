// Package commandline makes urfave/cli behave as users expect: flags may stand behind arguments (args.go), help keeps to a
// screen of 80 columns (help.go), a shell completes verbs and flags (completion.go), and a wrong flag, value or verb gets an error that names the right one, in the words of other tools
// too (mistakes.go).
//
// It knows the flags of a verb only from the verb itself and does none of its work.
package commandline
