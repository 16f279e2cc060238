# Every target works from a clean clone on a machine with Python 3.11 or newer and nothing else:
# `.venv` is made on first use and renewed when pyproject.toml changes.

SHELL  := /bin/bash
VENV   := .venv
BIN    := $(VENV)/bin
PY     := $(BIN)/python
READY  := $(VENV)/.installed
RESULTS := build/test-results.xml

N      ?= 100000
PEER   ?=
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-clients lint bench soak soak-messaging powercut damage abuse fuzz proto completions docs wheel

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml .ci/make-venv
	@.ci/make-venv $(VENV)
	@touch $@

demo: $(READY) ## the main job on real input, start to end, in under two minutes
	@$(PY) demo/demo.py $(ARGS)

test: $(READY) ## the whole test suite (ARGS='tests/wire -k frame' for a part of it)
	@mkdir -p build
	@$(PY) -m pytest -n 2 --dist loadgroup --junitxml $(RESULTS) $(ARGS)

test-clients: $(READY) ## the official Java, Go and Node clients (needs mvn, java, go, node; ARGS='--only go')
	@$(PY) -m tests.clients.run $(ARGS)

lint: $(READY) wheel ## ruff, formatting, mypy --strict, import rules, and a wheel that installs cleanly
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

wheel: $(READY)
	@$(PY) .ci/check_wheel.py

bench: $(READY) ## one table of speed, memory and start-up (PEER=pulsar://host:port for another broker beside ours)
	@$(PY) -m tests.bench $(if $(PEER),--peer $(PEER)) $(ARGS)

soak: ROUNDS ?= 200
soak: $(READY) ## kill -9 under load and restart (ROUNDS=200)
	@$(PY) -m tests.soak --rounds $(ROUNDS) $(ARGS)

soak-messaging: ROUNDS = 50
soak-messaging: ROUNDS ?= 50
soak-messaging: $(READY) ## order per key while consumers move; kill -9 under dedup, delays, compaction (ROUNDS=50)
	@$(PY) -m tests.soak_messaging --rounds $(ROUNDS) $(ARGS)

powercut: $(READY) ## rebuild the disk after every call of a recorded load and open it
	@$(PY) -m tests.powercut $(ARGS)

damage: TRIALS ?= 300
damage: $(READY) ## injure every kind of file of a data directory and read what is left (TRIALS=300)
	@$(PY) -m tests.damage --trials $(TRIALS) $(ARGS)

abuse: MINUTES ?= 30
abuse: $(READY) ## hostile input against a live broker, beside a well-behaved client (MINUTES=30)
	@$(PY) -m tests.abuse --minutes $(MINUTES) $(ARGS)

fuzz: $(READY) ## N mutations of recorded sessions through the frame decoder
	@$(PY) -m tests.wire.fuzz --count $(N) $(ARGS)

proto: $(READY) ## the protobuf module, from proto/pulsar_api.proto
	@$(PY) proto/generate.py

completions: $(READY) ## shell completions, from the commands
	@$(PY) completions/generate.py

docs: $(READY) ## docs/cli.md and conf/, from the commands and the configuration
	@$(PY) docs/generate.py
