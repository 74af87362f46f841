# Waypost needs Python 3.11 or newer with pip and venv, and make. Everything else lands in .venv.
#
#   make up       start everything on this machine: make up ARGS="--port 8810 --data-dir /some/dir"
#   make test     run every test: make test ARGS="tests/unit -k gate"
#   make check    what continuous integration runs: format, lint, types, imports, then every test
#   make chaos    pull plugs at random for two minutes and count: make chaos ARGS="--sends 50000 --seed 7"
#   make properties  write and read back thousands of messages: make properties EXAMPLES=20000
#   make fmt      format the code and sort its imports
#   make bench    measure beside references on this machine: make bench ARGS="email claim", ARGS=--quick to try
#   make docs     write the pages that are made from the code
#   make pictures take the console's pictures in docs/images anew (needs Chromium)
#   make wheel    build dist/waypost-….whl
#   make pins     resolve requirements/*.in again (needs uv; UPGRADE=1 takes newer versions)
#   make clean    remove .venv and everything built, but no data

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
WORKERS ?= 2
EXAMPLES ?= 5000

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PINS := requirements/build.txt requirements/base.txt

.PHONY: help up bench test check format lint types imports browser peers fmt docs pictures wheel pins clean chaos properties
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

up: $(VENV)/.installed
	@exec $(BIN)/waypost up $(ARGS)

test: $(VENV)/.installed-dev browser peers
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

check: format lint types imports test

format: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev
	$(BIN)/basedpyright

imports: $(VENV)/.installed-dev
	$(BIN)/lint-imports

chaos: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.chaos $(ARGS)

properties: $(VENV)/.installed-dev
	WAYPOST_PROPERTY_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n0 tests/unit/render/test_mail_properties.py

fmt: $(VENV)/.installed-dev
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed
	$(BIN)/python docs/generate.py

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks $(ARGS)

pictures: $(VENV)/.installed-dev browser
	$(BIN)/python docs/make_screenshots.py

wheel: $(VENV)/.installed
	$(BIN)/hatchling build -t wheel

COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --annotation-style line $(if $(UPGRADE),--upgrade)

# dev holds everything, so it is resolved first and the other two may not differ from it.
pins:
	@command -v uv >/dev/null || { echo "make pins needs uv on the PATH" >&2; exit 1; }
	cd requirements && $(COMPILE) dev.in -o dev.txt
	cd requirements && $(COMPILE) base.in -c dev.txt -o base.txt
	cd requirements && $(COMPILE) build.in -c dev.txt -o build.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Tests that need a browser use the system's Chromium and are skipped by name where there is none.
browser:
ifneq ($(wildcard tests/surfaces/console/test_*.py),)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium || true; \
	fi
endif

# Tests of publishers and consumers talk to real servers and are skipped by name where there are none.
peers:
	@PATH=$$PATH:/usr/sbin; for server in redis-server nats-server; do \
		command -v $$server >/dev/null || \
		if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
			apt-get update -qq && apt-get install -qq -y --no-install-recommends $$server || true; \
		fi; \
	done

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Waypost needs Python 3.11 or newer: make … PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A second call installs Waypost itself: pip refuses a folder among hashed requirements.
define install
	$(PIP) install --quiet --require-hashes $(addprefix -r ,$(1))
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@
endef

$(VENV)/.installed: $(PINS) pyproject.toml | $(BIN)/python
	$(call install,$(PINS))

$(VENV)/.installed-dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(call install,requirements/dev.txt)
	@touch $(VENV)/.installed
