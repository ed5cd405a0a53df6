// Package kit is what the verbs of the command line share.
//
//	answer.go       printing: tables, lines, remarks for a person, forms for programs
//	call.go         one call of a verb, with the flags that nearly every verb has
//	arguments.go    checks of arguments and flags
//	choices.go      flags that choose what is sent of a source
//	target.go       flags that say where and how it is sent
//	deployment.go   flags and files that name a deployment
//	engine.go       flags of a modelled engine
//	open.go         how a verb opens the warehouse, and how it waits for it
//	published.go    how verbs read and write the published copy of the warehouse
//	takein.go       a run is taken in and judged
//	errors.go       exit codes, and how an error is printed
//	signals.go      the first signal asks a verb to end, the second to leave at once
//	about.go        the version
//	app.go          a verb that runs another verb in this process
//
// It refuses to know a single verb.
package kit
