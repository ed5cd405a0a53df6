// Package peers measures tidemark's client beside those of others, on this
// machine, against a server whose times are known: `make bench-peers`.
//
//	setup.sh           puts each peer into a venv of its own under the cache folder
//	server_test.go     the server, a process on core 1: internal/vllmsim at fixed instants
//	tokenizer_test.go  the tokenizer that the peers load, made here: the server's own words
//	client_test.go     what a client is asked (a load) and what it must tell (a saying)
//	*_client_test.go   each client's command lines and report files
//	run_test.go        one client, one load, on core 0: its CPU, memory, output, exit code
//	figures_test.go    figures of a run: what was said beside what the server knows
//	table_test.go      the table, its footnotes and every command line, as Markdown
//
// Everything but this file needs the build tag peers. Nothing here is made up
// for a peer that is missing or cannot do a thing: its cell says so, a footnote
// says why.
package peers
