# Everything a newcomer needs: `make demo` and `make test`. Both work with Python >= 3.11 and make alone.

UV_VERSION := 0.13.9
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then command -v $$p; break; fi; done)
# Much of a test is waiting for a server or a browser, so two more than there are processors.
PYTEST_WORKERS ?= $(shell expr $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 2)
PYTEST_ARGS ?=
PYTEST_SPREAD := -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder
PORT_BASE ?=

BOOTSTRAP := .venv-bootstrap
BIN := .venv/bin
# An environment that is there already keeps its Python.
UV := UV_PYTHON_DOWNLOADS=never $(if $(wildcard $(BIN)/python),,UV_PYTHON=$(PYTHON)) $(BOOTSTRAP)/bin/uv
LOCKED := pyproject.toml uv.lock

# Without Go there is no such server, and the tests that need one say so.
WITH_KUBE = assets=$$(sh scripts/get-kube.sh) && KUBEBUILDER_ASSETS="$$assets"

.DEFAULT_GOAL := help
.PHONY: help setup demo up test ready programs check lint types imports unit e2e bench kube-assets screenshots histories format clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.for-tests ## Install everything that the tests need into .venv

demo: .venv/.for-use ## Play the whole life of a GPU lease, here, in about a minute
	@$(BIN)/lessor demo

up: .venv/.for-use ## Start everything on this machine and stay; PORT_BASE=9000 moves all its ports
	@$(BIN)/lessor up$(if $(PORT_BASE), --port-base $(PORT_BASE))

test: ready ## Lint, types, import contracts and all tests, the browser's included
	@$(WITH_KUBE) $(BIN)/pytest $(PYTEST_SPREAD) $(PYTEST_ARGS)

# What a test run needs, in parts that can be made side by side: `make -j3 ready`.
ready: check programs kube-assets

programs: .venv/.for-tests
	@sh scripts/get-browser.sh
	@sh scripts/get-prometheus.sh

check: lint types imports

lint: .venv/.for-tests ## Style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.for-tests ## Static types
	$(BIN)/mypy

imports: .venv/.for-tests ## Which package may import which
	$(BIN)/lint-imports

unit: .venv/.for-tests ## All tests that need no browser
	@sh scripts/get-prometheus.sh
	@$(WITH_KUBE) $(BIN)/pytest $(PYTEST_SPREAD) -m "not browser" $(PYTEST_ARGS)

e2e: .venv/.for-tests ## The whole story in a browser
	@sh scripts/get-browser.sh
	@sh scripts/get-prometheus.sh
	@$(WITH_KUBE) $(BIN)/pytest tests/e2e $(PYTEST_ARGS)

kube-assets: ## Build the Kubernetes API server that tests use, with Go, once; prints the folder
	@sh scripts/get-kube.sh

screenshots: e2e ## Take the pictures of the README anew
	mkdir -p docs/images
	cp tests/out/screenshots/*.png docs/images/

histories: .venv/.for-tests ## Record the workflow histories of this version, which later ones must replay
	$(BIN)/python -m tests.replay.record

bench: .venv/.for-tests ## Benchmarks against bare Temporal and bare Bolt; writes bench/out/results.json
	$(BIN)/python -m bench

format: .venv/.for-tests ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove environments, caches and what tests left
	rm -rf .venv $(BOOTSTRAP) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis tests/out bench/out dist

$(BOOTSTRAP)/bin/uv:
	@echo "Setting up uv $(UV_VERSION) in $(BOOTSTRAP) ..."
	@sh scripts/get-uv.sh "$(PYTHON)" $(BOOTSTRAP) $(UV_VERSION)

.venv/.for-use: $(LOCKED) | $(BOOTSTRAP)/bin/uv
	@echo "Installing the locked dependencies into .venv ..."
	@$(UV) sync --quiet --locked --inexact --extra sandbox
	@touch $@

.venv/.for-tests: $(LOCKED) | $(BOOTSTRAP)/bin/uv
	@echo "Installing the locked dependencies and what the tests need into .venv ..."
	@$(UV) sync --quiet --locked --all-extras --group dev
	@touch $@ .venv/.for-use
