// Package tuning holds the proof that tune finds better settings in fewer GPU-minutes than a grid, random search and Optuna do: over 240 candidates
// on servers whose law differs from the model's, in virtual time. `make tuning`.
//
//	study_test.go     the study: seeds, the race, the table
//	server_test.go    a seed: its traffic, its twist, what a load on a candidate gives, what a candidate truly takes
//	peers_test.go     grid, random search and the grid of eight, and the conversation with Optuna
//	setup.sh          a venv with Optuna and moocore, in the cache folder
//	testdata/*.py     what runs in the venv: Optuna's samplers, and the hypervolumes
//
// Everything except this file needs the build tag coverage.
package tuning
