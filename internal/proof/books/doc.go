// Package books runs what docs offers to copy: the notebooks of docs/notebooks in real Jupyter kernels, and the queries of the
// dashboard docs/grafana/tidemark.json. `make test-notebooks`.
//
//	setup.sh             a venv with Jupyter, marimo and the libraries, in the cache folder
//	live_test.go         a warehouse with two runs, its published folder and a live "tidemark serve", all made by the program
//	notebooks_test.go    each notebook has no failing cell, a picture, and the figure that "tidemark sql" gives
//	grafana_test.go      the query of each panel gives the columns that the panel names
//	figures_test.go      figures worked out by polars from the lake, against the marts
//	testdata/*.py        what runs in the venv
//
// Everything except this file needs the build tag notebooks. It refuses to judge how fast anything is: a run that a busy machine
// made invalid serves as well.
package books
