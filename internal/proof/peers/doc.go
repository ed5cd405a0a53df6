// Package peers compares tidemark's client with those of other projects, on this machine, against a server whose times
// are known: `make bench-peers`.
//
//	setup.sh           installs each peer into a venv of its own under the cache folder
//	server_test.go     the server, a process on core 1: internal/vllmsim at fixed instants
//	tokenizer_test.go  the tokenizer that the peers load, made here: the server's own words
//	client_test.go     what a client is asked to do (a load) and what it must report (a saying)
//	*_client_test.go   each client's command lines and report files
//	run_test.go        one client, one load, on core 0: its CPU, memory, output, exit code
//	figures_test.go    the figures of a run: what the client reported and what the server recorded
//	table_test.go      the table, its footnotes and every command line, as Markdown
//
// Everything except this file needs the build tag peers. No figure is made up for a peer that is missing or cannot do
// something: its cell says so, and a footnote says why.
package peers
