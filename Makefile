# Everything is built with the driver's Arrow interface.
TAGS    := duckdb_arrow
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)
GO      := go
FUZZTIME ?= 30s
# A test needs no symbols for a debugger, and lint vets: linking takes half as long, and less with gold. A panic still says where.
LEAN    := '-ldflags=-s $(if $(shell command -v ld.gold),-extldflags=-fuse-ld=gold)' -vet=off
# Targets that are fuzzed at the same time, each on one core.
FUZZERS  := $(shell nproc 2>/dev/null || echo 2)
# Tools that a target sets up for itself are kept here and used again.
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tidemark

# The packed empty warehouse that the program contains: internal/store/warehouse/empty/README.md.
EMPTY   := internal/store/warehouse/empty/made.s2

# Only this target names a file that it makes.
.PHONY: $(filter-out $(EMPTY),$(shell sed -nE 's/^([a-z-]+):.*/\1/p' Makefile))

help: ## what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(EMPTY): $(wildcard queries/*.go queries/*/*.sql queries/seeds/* internal/store/warehouse/*.go internal/store/warehouse/makeempty/*.go)
	rm -f internal/store/warehouse/empty/*.s2 # else the new one would begin as a copy of the old one
	$(GO) run -tags $(TAGS) ./internal/store/warehouse/makeempty
	@touch $@

# Without symbols and DWARF, as in a release: 23 MB, most of them names of DuckDB's. A panic still names function, file and line.
build: $(EMPTY) ## ./tidemark
	$(GO) build -tags $(TAGS) -ldflags "-s -w -X tidemark/internal/cli/kit.Version=$(VERSION)" -o tidemark ./cmd/tidemark

demo: build ## the whole journey on what is built in: trace, simulated vLLM, report, and the Monday report of a service
	rm -rf tidemark-demo
	./tidemark demo --output tidemark-demo

test: $(EMPTY) ## every test that needs Go and a C compiler alone
	@echo "make test: the tests of all $$($(GO) list -tags $(TAGS) ./... | wc -l) packages, with Go and a C compiler alone: about ten minutes on two cores; longer the first time, when modules are downloaded and DuckDB is linked"
	@test -d "$${TIDEMARK_SHARED:-../shared}/traces" || echo "LEFT OUT: checks on real traces; say where they are in TIDEMARK_SHARED"
	$(GO) test -tags $(TAGS) $(LEAN) -timeout 40m ./...

lint: $(EMPTY) ## formatting and vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet -tags $(TAGS) ./...

test-examples: $(EMPTY) ## every example of the help, typed as it stands there
	$(GO) test -tags "$(TAGS) examples" ./cmd/tidemark -run TestExamples -count=1 -v -timeout 10m

race: ## the load engine and the simulator under the race detector
	$(GO) test -race ./replay/... ./internal/engine/... ./internal/vllmsim

fuzz: $(EMPTY) ## each fuzz target for FUZZTIME (30s; 5s in ci)
	@set -e; for package in internal/jsonscan ingest ingest/read ingest/runs ingest/traces internal/privacy internal/vllmsim replay replay/profile; do .ci/fuzz $$package $(FUZZTIME) $(FUZZERS) $(CACHE); done

test-pages: $(EMPTY) ## the report, the page of serve and that of --watch in headless Chromium, network off (installs Chromium where it is missing)
	./reports/pages_setup.sh $(CACHE)
	AXE_CORE_JS=$(CACHE)/axe-core-4.14.1/axe.min.js $(GO) test -tags "$(TAGS) pages" ./reports ./reports/week ./internal/serve ./internal/cli/watch -run Pages -count=1 -v -timeout 30m

test-series: $(EMPTY) ## whole series of what make test does once: kills, seeds, statistics
	TIDEMARK_PROOF=1 $(GO) test -tags $(TAGS) $(LEAN) $(SERIES) -count=1 -timeout 60m
	TIDEMARK_PROOF=1 $(GO) test -tags $(TAGS) $(LEAN) ./cmd/tidemark -run 'TestScripts/(what-if|gate)$$' -count=1 -timeout 10m

test-python: $(EMPTY) ## every view and every example in pip's DuckDB, which is newer than the driver's, and every figure of the Monday page worked out anew (a venv in the cache folder)
	./queries/python_setup.sh $(CACHE)
	DUCKDB_PYTHON=$(CACHE)/duckdb-python/bin/python $(GO) test -tags "$(TAGS) python" ./queries ./cmd/tidemark -run InPython -count=1 -v

test-spark: $(EMPTY) ## every figure of the Monday page by the same SQL on DuckDB and on Spark, over the published lake of two services and five weeks; traces made into the lake by Spark (a venv of 700 MB in the cache folder; Java)
	./queries/spark_setup.sh $(CACHE)
	SPARK_PYTHON=$(CACHE)/spark/bin/python PYSPARK_PYTHON=$(CACHE)/spark/bin/python SPARK_SUBMIT=$(CACHE)/spark/bin/spark-submit $(GO) test -tags "$(TAGS) spark" ./cmd/tidemark -run OnSpark -count=1 -v -timeout 30m

test-notebooks: build ## the notebooks and the dashboard of docs, against a live serve and a published folder (a venv of 1.1 GB in the cache folder); BOOKS_OUTPUT=DIR keeps the plots
	./internal/proof/books/setup.sh $(CACHE)
	BOOKS_TIDEMARK=$(CURDIR)/tidemark BOOKS_PYTHON=$(CACHE)/notebooks/bin/python $(GO) test -tags "$(TAGS) notebooks" ./internal/proof/books -count=1 -v

accuracy: $(EMPTY) ## the built-in kernel times beside their tables, predictions beside public measurements that nothing was fitted to; UPDATE=1 writes docs/accuracy.md anew
	$(if $(UPDATE),,TIDEMARK_KERNEL_CURVES=compare $(GO) test -tags $(TAGS) ./ingest -run TestKernelCurvesAreOfTheTables -count=1 -v -timeout 5m)
	$(GO) test -tags "$(TAGS) accuracy" ./internal/proof/accuracy -count=1 -v -timeout 40m $(if $(UPDATE),-args -update)

capacity-knees: $(EMPTY) ## rehearsed capacity beside knees that others measured (a minute of CPU); UPDATE=1 writes docs/capacity-knees.md anew
	$(GO) test -tags "$(TAGS) knees" ./internal/proof/accuracy -run TestKnees -count=1 -v -timeout 30m $(if $(UPDATE),-args -update-knees)

coverage-intervals: ## how often the intervals of an SLO and of a comparison hold the truth: runs in virtual time (half an hour of CPU)
	$(GO) test -tags "$(TAGS) coverage" ./internal/proof/accuracy -run TestIntervals -count=1 -v -timeout 60m

capacity-coverage: ## how often the interval of a capacity holds the truth: 250 searches in virtual time (half an hour of CPU)
	$(GO) test -tags "$(TAGS) coverage" ./analysis/capacity -run 'TestCoverage|TestWrongSettings' -count=1 -v -timeout 120m

forecast-backtest: ## forecasts of weekly peaks against what came: 150 seeded services of each of sixteen kinds (five minutes of CPU); prints the table of docs/forecast.md
	TIDEMARK_PROOF=1 $(GO) test ./analysis/week/forecast -run TestBackTest -count=1 -v -timeout 60m

headroom-coverage: $(EMPTY) ## how often the interval of a week's headroom holds the truth: 200 seeded services (half an hour of CPU)
	$(GO) test -tags "$(TAGS) coverage" ./analysis/week/fleet -run TestHeadroomCoverage -count=1 -v -timeout 180m

tuning: $(EMPTY) ## tune beside a grid, random search and Optuna, over 240 candidates on servers whose law differs from the model's: 20 seeds in virtual time (an hour of CPU; a venv with Torch in the cache folder); prints the table of docs/tune.md
	./internal/proof/tuning/setup.sh $(CACHE)
	OMP_NUM_THREADS=1 TUNING_PYTHON=$(CACHE)/tuning/bin/python $(GO) test -tags "$(TAGS) coverage" ./internal/proof/tuning -run TestStudy -count=1 -v -timeout 300m

drift-weeks: $(EMPTY) ## does drift tell a system that changed from a workload that did: 80 seeded services of two to four weeks (a minute of CPU); prints the table of docs/drift.md
	TIDEMARK_PROOF=1 $(GO) test -tags $(TAGS) ./internal/proof/drift -run TestDriftOnSeededServices -count=1 -v -timeout 30m

twelve-weeks: build ## the verdicts of twelve Monday pages of services whose traffic does not change, and of one that grows; pages of real traces beside what-if (twenty minutes of CPU)
	TIDEMARK=$(CURDIR)/tidemark TIDEMARK_SHARED=$${TIDEMARK_SHARED:-$(CURDIR)/../shared} $(GO) test -tags "$(TAGS) coverage" ./internal/proof/weeks -count=1 -v -timeout 90m

kernel-curves: ## the built-in kernel times, thinned anew from the tables in TIDEMARK_SHARED/data/kernels
	TIDEMARK_KERNEL_CURVES=remake $(GO) test -tags $(TAGS) ./ingest -run TestKernelCurvesAreOfTheTables -count=1 -v -timeout 10m

test-vllm: ## the real path against a real vLLM on the CPU (a venv of 5 GB in the cache folder), or VLLM_BASE_URL
	./internal/proof/realvllm/setup.sh
	$(GO) test -tags "$(TAGS) vllm" ./internal/proof/realvllm -skip "TestCapacity|TestTune" -count=1 -v -timeout 30m

vllm-capacity: ## the capacity of that vLLM, held to runs outside of its interval: docs/coverage.md says how it stands
	./internal/proof/realvllm/setup.sh
	$(GO) test -tags "$(TAGS) vllm" ./internal/proof/realvllm -run TestCapacity -count=1 -v -timeout 30m

vllm-tune: ## tune over two knobs of that vLLM, held to a grid of all nine settings (half an hour, on a machine that does nothing else)
	./internal/proof/realvllm/setup.sh
	$(GO) test -tags "$(TAGS) vllm" ./internal/proof/realvllm -run TestTune -count=1 -v -timeout 60m

test-prometheus: $(EMPTY) ## collect against Debian's Prometheus (20 MB in the cache folder), which scrapes two simulated vLLM
	./internal/proof/realprometheus/setup.sh $(CACHE)
	PROMETHEUS_FOLDER=$(CACHE)/prometheus/usr/bin $(GO) test -tags "$(TAGS) prometheus" ./internal/proof/realprometheus -count=1 -v -timeout 15m

test-objects: build ## publish into a bucket and serve from it, against a real S3 server (versitygw, built in the cache folder, 84 MB)
	sh internal/proof/realobjects/setup.sh $(CACHE)
	OBJECTS_SERVER=$(CACHE)/versitygw-v1.8.0/versitygw OBJECTS_TIDEMARK=$(CURDIR)/tidemark $(GO) test -tags "$(TAGS) objects" ./internal/proof/realobjects -count=1 -v -timeout 15m

release: $(EMPTY) ## dist/: static binaries for Linux on amd64 and arm64, archives, .deb, .rpm, images, SBOM, licences, checksums (on Debian amd64)
	sh internal/proof/release/setup.sh $(CACHE)
	$(GO) run ./internal/proof/release -version $(VERSION) -cache $(CACHE)

test-release: RELEASE := $(CACHE)/release-test
test-release: $(EMPTY) ## a release made and looked at: the same twice, static, its packages and its image run, arm64 in an emulator; RELEASE_FRESH=1 builds the second time without a build cache
	sh internal/proof/release/setup.sh $(CACHE)
	$(GO) run ./internal/proof/release -version 0.0.0 -cache $(CACHE) -output $(RELEASE)
	RELEASE_VERSION=0.0.0 RELEASE_CACHE=$(CACHE) RELEASE_FOLDER=$(RELEASE) $(GO) test -tags "$(TAGS) release" ./internal/proof/release -count=1 -v -timeout 30m

bench: $(EMPTY) ## the figures of docs/benchmarks.md, side by side in one run
	$(GO) test -tags $(TAGS) ./ingest ./replay ./internal/engine/... ./internal/vllmsim ./internal/serve ./analysis ./analysis/tune ./reports/... ./cmd/tidemark -run '^$$' -bench . -benchtime 1x -timeout 30m

bench-peers: build ## ours beside AIPerf, GuideLLM, inference-perf and vLLM's two, each in a venv of its own (some GB in the cache folder)
	./internal/proof/peers/setup.sh
	PEERS_TIDEMARK=$(CURDIR)/tidemark $(GO) test -tags "$(TAGS) peers" ./internal/proof/peers -run TestPeers -v -count=1 -timeout 90m

soak: build ## SOAK_MINUTES (10) of kills, freezes and storms against the load engine; SOAK_KILLS (1000) of ingests, publications and purges while snapshots are opened SOAK_OPENS (10000) times; attacks on serve; secrets; a day of replay in fake time; a year of a service in the warehouse, SOAK_WEEK_REQUESTS (10 million) in its last week
	TIDEMARK_TEST_KILLS=200 $(GO) test -tags $(TAGS) ./ingest -run 'TestKilled$$' -v -count=1 -timeout 20m
	SOAK_TIDEMARK=$(CURDIR)/tidemark $(GO) test -tags "$(TAGS) soak" ./internal/proof/soak -run TestSoak -v -count=1 -timeout 60m
	SOAK_KILLS=$${SOAK_KILLS:-1000} SOAK_OPENS=$${SOAK_OPENS:-10000} SOAK_TIDEMARK=$(CURDIR)/tidemark $(GO) test -tags "$(TAGS) soak" ./internal/proof/soak -run TestKilledAnywhere -v -count=1 -timeout 120m
	TIDEMARK_PROOF=1 $(GO) test -tags "$(TAGS)" ./internal/serve -run TestAttacks -v -count=1 -timeout 20m
	$(GO) test -tags "$(TAGS)" ./replay/... -run 'TheKey|AKey|Address|Scrub' -v -count=1 -timeout 10m
	$(GO) test -tags "$(TAGS) soak" ./replay -run TestADayOfReplay -v -count=1 -timeout 60m
	SOAK_TIDEMARK=$(CURDIR)/tidemark $(GO) test -tags "$(TAGS) soak" ./internal/proof/soak -run TestYear -v -count=1 -timeout 120m
	$(GO) test -tags "$(TAGS) soak" ./internal/privacy -run TestDictionary -v -count=1 -timeout 10m

# Proofs take minutes. Each is a target above. It is due when a file under its paths has changed since it last passed, as docs/proofs.csv has it.
ALONE        := test-vllm
# The packages whose tests ask internal/proof how often to repeat.
SERIES       := ./analysis ./analysis/capacity ./analysis/gate ./analysis/week/... ./ingest ./internal/engine ./internal/privacy ./replay ./internal/serve
PROOFS       := accuracy capacity-knees fuzz test-series test-python test-spark test-examples test-notebooks test-objects test-release test-prometheus drift-weeks $(ALONE)
# These take from half an hour to hours: CI never runs them, and says when they last passed.
LONG_PROOFS  := vllm-capacity vllm-tune coverage-intervals capacity-coverage headroom-coverage tuning twelve-weeks soak

paths-accuracy           := queries/macros queries/seeds queries/warehouse analysis internal/stat ingest/hardware internal/proof/accuracy internal/engine docs/accuracy.md docs/evidence.md docs/evidence.html
paths-capacity-knees     := queries/macros queries/seeds queries/warehouse analysis/capacity internal/proof/accuracy internal/engine docs/capacity-knees.md
paths-fuzz               := ingest internal/jsonscan internal/privacy internal/vllmsim replay .ci/fuzz
paths-test-series        := analysis ingest internal/store/warehouse internal/engine internal/privacy replay internal/serve cmd/tidemark/testdata/script/what-if.txtar cmd/tidemark/testdata/script/gate.txtar docs/gate queries/marts/run_statistics.sql queries/marts/run_pairs.sql internal/proof/proof.go
paths-test-python        := queries analysis/week cmd/tidemark/recompute_test.go cmd/tidemark/testdata/recompute.py
paths-test-spark         := queries/portable queries/staging queries/spark_setup.sh internal/store/published analysis/week cmd/tidemark/spark_test.go cmd/tidemark/testdata/portable.py docs/spark
paths-test-examples      := cmd/tidemark internal/cli/commandline internal/deployment
paths-test-notebooks     := docs/notebooks docs/grafana internal/proof/books internal/serve internal/store/published
paths-test-objects       := internal/store/objects internal/store/published internal/proof/realobjects
paths-test-release       := internal/proof/release go.mod
paths-test-prometheus    := ingest/collect internal/proof/realprometheus ingest/metrics docs/tidemark-rules.yaml
paths-drift-weeks        := analysis/changepoint analysis/week/changed.go analysis/week/steps.go internal/proof/drift docs/drift.md
paths-test-vllm          := internal/proof/realvllm replay analysis/capacity ingest/runs
paths-vllm-capacity      := internal/proof/realvllm analysis/capacity
paths-vllm-tune          := internal/proof/realvllm analysis/tune
paths-coverage-intervals := internal/proof/accuracy queries/macros/intervals.sql queries/macros/resampling.sql analysis/regression
paths-capacity-coverage  := analysis/capacity analysis/regression internal/engine
paths-headroom-coverage  := analysis/week/fleet analysis/capacity internal/engine
paths-tuning             := internal/proof/tuning analysis/tune analysis/capacity internal/engine
paths-twelve-weeks       := analysis reports/week queries/macros queries/seeds queries/portable internal/engine internal/proof/weeks
paths-soak               := replay ingest internal/store/warehouse internal/store/published internal/serve internal/privacy internal/proof/soak

proof: $(EMPTY) ## every proof, due or not, and a record of each that passes (an hour)
	$(MAKE) -k -j2 -Otarget $(patsubst %,proof/%,$(filter-out $(ALONE),$(PROOFS)))
	$(MAKE) $(patsubst %,proof/%,$(ALONE))

due: ## which proofs CI would run now, and when each last passed
	@$(foreach proof,$(PROOFS) $(LONG_PROOFS),.ci/proof say $(proof) $(paths-$(proof));)

# One proof, and its record.
proof/%: $(EMPTY)
	@.ci/proof run $* $(paths-$*)

due/%: $(EMPTY)
	@.ci/proof due $* $(paths-$*)

proof/fuzz due/fuzz: export FUZZTIME := 5s

ci: test ci-rest ## all that CI runs: tests, lint, race, pages, and the proofs that are due

# Two at a time, each on one core. A real vLLM measures how much it can take, so that nothing runs beside it.
ci-rest: $(EMPTY)
	$(MAKE) -k -j2 -Otarget lint race test-pages $(patsubst %,due/%,$(filter-out $(ALONE),$(PROOFS)))
	$(MAKE) $(patsubst %,due/%,$(ALONE))
	@$(foreach proof,$(LONG_PROOFS),echo "LEFT OUT: takes too long for CI: $$(.ci/proof say $(proof) $(paths-$(proof)))";)
