// Package soak lets the built program replay for minutes while everything around it goes wrong, and report on a year: `make soak`.
//
//	main_test.go     SOAK_MINUTES (10), SOAK_SEED, SOAK_OUTPUT, SOAK_LANES; lanes of episodes, and the summary
//	episode_test.go  one episode: a server, a proxy, a client, one trouble chosen by the seed
//	trouble_test.go  the troubles, and what each must lead to
//	proxy_test.go    a proxy that refuses, cuts, resets and delays
//	server_test.go   the server: internal/vllmsim at fixed instants, in a process that can be frozen and killed
//	folder_test.go   what a run's folder must contain whatever happened
//	long_test.go     one client that lives through all of it and must not grow
//	kills_test.go    SOAK_KILLS (1000) of ingests, publications and purges
//	readers_test.go  SOAK_OPENS (10000) of the snapshots, while their writers are killed
//	year_test.go     SOAK_WEEK_REQUESTS (10 million) after a year of a service: time and memory of the week's report
//
// Everything except this file needs the build tag soak.
package soak
