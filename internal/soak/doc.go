// Package soak lets the built program replay for minutes while everything around
// it goes wrong: `make soak`.
//
//	main_test.go     SOAK_MINUTES (10), SOAK_SEED, SOAK_OUTPUT, SOAK_LANES; lanes of episodes, and the summary
//	episode_test.go  one episode: a server, a proxy, a client, one trouble drawn from the seed
//	trouble_test.go  the troubles and what each must lead to
//	proxy_test.go    refuses, cuts, resets, dribbles
//	server_test.go   the server: internal/vllmsim at fixed instants in a process that can be stopped and killed
//	folder_test.go   what a run's folder must hold whatever happened
//	long_test.go     one client that lives through all of it, and must not grow
//
// Everything but this file needs the build tag soak.
package soak
