# Every target works in a clean clone with Python 3.11 or newer and nothing else.
# The first one creates `.venv`, and a change of pyproject.toml updates it. Spark, which is a download of 450 MB, Java, and
# the generator of the site are installed when a target first needs them.

SHELL  := /bin/bash
VENV   := .venv
BIN    := $(VENV)/bin
PY     := $(BIN)/python
READY  := $(VENV)/.installed
FULL   := $(VENV)/.full
RESULTS := build/test-results.xml

N      ?= 100000
PEER   ?=
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-clients ready lint static coverage lowest newest release bench soak soak-messaging soak-scalable offload-kills lake-kills stream-kills replication-kills failover powercut damage abuse crowd fuzz authorization openapi sbom audit proto completions docs wheel

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml .ci/make-venv
	@.ci/make-venv $(VENV) test,demo
	@touch $@

$(FULL): $(READY)
	@.ci/make-venv $(VENV) test,demo,spark,java,docs
	@touch $@

ENGINE ?= spark
demo: export ENGINE := $(ENGINE)
demo: $(if $(filter local,$(ENGINE)),$(READY),$(FULL)) ## run the main job on real data, in under two minutes (ENGINE=local: without Spark)
	@$(PY) demo/demo.py $(ARGS)

# Tests start hundreds of processes. Without the compiled modules, each of them would compile the program again, and so
# would each start that is measured.
test test-clients quick ready coverage bench: export PYTHONDONTWRITEBYTECODE =

test: $(FULL) ## run the test suite (ARGS='tests/unit -k frame' for a part)
	@mkdir -p build
	@$(PY) -m pytest -n 2 --dist loadfile --junitxml $(RESULTS) $(ARGS)

test-clients: $(FULL) ## run the tests with Java, Go, Node, and Python clients (needs mvn, java, go, node, npm; ARGS='--only go')
	@$(PY) -m tests.clients.run $(ARGS)

# What needs no broker's process, and the rules of the project.
QUICK := tests/unit tests/test_layers.py tests/test_suite.py

# One process more than there are processors, since tests also wait for the disk.
.PHONY: quick
quick: $(READY) ## run the unit tests, which start no broker (ARGS as for test)
	@$(PY) -m pytest -q -n $$($(PY) -c 'import os; print(os.cpu_count() + 1)') --dist loadfile --hypothesis-profile quick -m 'not slow and not spark and not real_pulsar' $(QUICK) $(ARGS)

ready: $(FULL) ## prepare a commit: format, regenerate, check, and run the quick tests (ARGS as for test)
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .
	@$(MAKE) --no-print-directory completions docs static
	@$(PY) -m pytest -q -n 2 --dist loadfile -m 'not slow and not spark and not real_pulsar' $(ARGS)

lint: static wheel ## check with ruff, mypy --strict, and import-linter; build and install the wheel

static: $(FULL)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

coverage: $(FULL) ## run the test suite with branch coverage, and fail below the floor in pyproject.toml
	@mkdir -p build
	@$(PY) -m pytest -n 2 --dist loadfile --cov --cov-report term:skip-covered --cov-report html:build/coverage \
	  --cov-report xml:build/coverage.xml $(ARGS); status=$$?; \
	echo "lines and branches covered: $$($(BIN)/coverage report --format=total --fail-under=0) %, file by file in build/coverage/index.html"; \
	exit $$status

lowest: ## test with the oldest dependencies that pyproject.toml allows, in build/lowest
	@.ci/test-dependencies lowest $(ARGS)

newest: ## test with the newest dependencies, in build/newest
	@.ci/test-dependencies newest $(ARGS)

release: ## set the version and close the changelog for a release (VERSION=X.Y.Z)
	@python3 .ci/release.py prepare $(VERSION)

wheel: $(READY) ## build the wheel and install it into a clean environment
	@$(PY) .ci/check_wheel.py

.PHONY: image
image: $(READY) ## build the root filesystem of the container image in build/image, without a container runtime
	@$(PY) .ci/image.py

build/dev/.installed: pyproject.toml
	@python3 -m venv build/dev && build/dev/bin/pip install --quiet --disable-pip-version-check build -e '.[security,dev]'
	@touch $@

.PHONY: release-rehearsal
REPOSITORY ?= https://example.com/pulsarctl
PREVIOUS ?= $(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD~1)
release-rehearsal: build/dev/.installed ## rehearse a release in build/rehearsal: build, check, install each extra, upgrade (REPOSITORY=URL PREVIOUS=COMMIT)
	@build/dev/bin/python .ci/rehearsal.py $(REPOSITORY) $(PREVIOUS) build/rehearsal

sbom: build/dev/.installed ## build the wheel and its bill of materials (CycloneDX) in dist/
	@build/dev/bin/python -m build --wheel --outdir dist . > build/dev/build.log
	@build/dev/bin/python .ci/sbom.py dist/*.whl

audit: build/dev/.installed ## look for known vulnerabilities of the dependencies (needs an index with advisories)
	@build/dev/bin/python .ci/audit.py

bench: $(FULL) ## measure speed, memory, and start time (PEER=pulsar://host:port compares with another broker)
	@$(PY) -m tests.long.bench $(if $(PEER),--peer $(PEER)) $(ARGS)

soak: ROUNDS ?= 200
soak: $(READY) ## kill the broker under load and restart it (ROUNDS=200)
	@$(PY) -m tests.long.soak --rounds $(ROUNDS) $(ARGS)

soak-messaging: ROUNDS = 50
soak-messaging: ROUNDS ?= 50
soak-messaging: $(READY) ## test key order, deduplication, delays, compaction, and transactions through kill -9 (ROUNDS=50)
	@$(PY) -m tests.long.soak_messaging --rounds $(ROUNDS) $(ARGS)

soak-scalable: MESSAGES ?= 1000000
soak-scalable: $(READY) ## check the order of keys while segments split and consumers are killed (MESSAGES=1000000; ARGS=--kill-broker)
	@$(PY) -m tests.long.soak_scalable --messages $(MESSAGES) $(ARGS)

.PHONY: scalable-kills
scalable-kills: $(READY) ## kill the broker at each change on disk that a split, merge, migration, or collection makes
	@SCALABLE_KILL_STRIDE=1 $(PY) -m pytest -q tests/broker/scalable/test_kills.py $(ARGS)

offload-kills: ROUNDS ?= 25
offload-kills: $(READY) ## kill the broker at each step of an offload to S3 (ROUNDS=25 of 4 steps)
	@OFFLOAD_ROUNDS=$(ROUNDS) $(PY) -m pytest -q tests/broker/offload/test_kill.py $(ARGS)

.PHONY: restore-loop
restore-loop: CYCLES ?= 1000
restore-loop: $(READY) ## publish, offload, and restore in a loop, with and without kill -9 (CYCLES=1000)
	@RESTORE_CYCLES=$(CYCLES) $(PY) -m pytest -q tests/broker/offload/test_restore_loop.py $(ARGS)

lake-kills: ROUNDS ?= 30
lake-kills: $(FULL) ## kill -9 `ops lake --follow` while it commits (ROUNDS=30)
	@LAKE_KILLS=$(ROUNDS) $(PY) -m pytest -q tests/cli/iceberg/test_topic_lake.py -k killed_again $(ARGS)

stream-kills: ROUNDS ?= 30
stream-kills: $(FULL) ## kill -9 the driver and executors of a streaming query on a Spark cluster (ROUNDS=30)
	@STREAM_KILLS=$(ROUNDS) $(PY) -m pytest -q -s tests/cli/spark/test_stream_kills.py $(ARGS)

.PHONY: import-kills
import-kills: ROUNDS ?= 10
import-kills: $(FULL) ## kill -9 `ops import --engine spark` while it sends (ROUNDS=10)
	@IMPORT_KILLS=$(ROUNDS) $(PY) -m pytest -q tests/cli/spark/test_import.py -k command_that_was_killed $(ARGS)

replication-kills: ROUNDS ?= 50
replication-kills: $(READY) ## kill -9 clusters that replicate, and cut and slow their network (ROUNDS=50 of 5 faults)
	@REPLICATION_ROUNDS=$(ROUNDS) $(PY) -m pytest -q -s --timeout 7200 tests/broker/replication/test_kills.py $(ARGS)

.PHONY: replication-volume replication-latency
replication-volume: N = 1000000
replication-volume: VOLUME = $(if $(REAL),tests/long/real_pulsar/test_replication_volume.py,tests/broker/replication/test_volume.py)
replication-volume: $(READY) ## replicate messages of all kinds in a ring of three clusters, and compare (N=1000000; REAL=1: with Apache Pulsar)
	@REPLICATION_MESSAGES=$(N) $(PY) -m pytest -q -s $(VOLUME) $(ARGS)

replication-latency: $(READY) ## compare the latency of publishing while another cluster is away (N=100000)
	@REPLICATION_PUBLISHES=$(N) $(PY) -m pytest -q -s tests/broker/replication/test_latency.py $(ARGS)

failover: ROUNDS ?= 20
failover: $(READY) ## move a consumer between clusters, and kill -9 the one it leaves (ROUNDS=20)
	@FAILOVER_ROUNDS=$(ROUNDS) $(PY) -m pytest -q -s --timeout 3600 tests/broker/replication/test_failover.py $(ARGS)

.PHONY: migration-kills
migration-kills: ROUNDS ?= 20
migration-kills: TOPICS ?= 100
migration-kills: MB ?= 1000
migration-kills: $(FULL) ## kill -9 a migration again and again, with clients that move (ROUNDS=20 TOPICS=100 MB=1000)
	@MIGRATION_ROUNDS=$(ROUNDS) MIGRATION_TOPICS=$(TOPICS) MIGRATION_MB=$(MB) \
	  $(PY) -m pytest -q -s --timeout 7200 tests/cli/migration/test_kills.py $(ARGS)

powercut: $(READY) ## rebuild the disk as it was after each recorded call, and open it
	@$(PY) -m tests.long.powercut $(ARGS)

damage: TRIALS ?= 300
damage: $(READY) ## damage every kind of file and check what the broker serves and reports (TRIALS=300)
	@$(PY) -m tests.long.damage --trials $(TRIALS) $(ARGS)

abuse: MINUTES ?= 30
abuse: $(READY) ## send hostile input to a live broker next to a well-behaved client (MINUTES=30)
	@$(PY) -m tests.long.abuse --minutes $(MINUTES) $(ARGS)

crowd: LOGINS ?= 1000000
crowd: CONNECTIONS ?= 2000
crowd: AT_ONCE ?= 10000
crowd: $(READY) ## fail to log in and hold slow connections next to a well-behaved client (LOGINS=1000000, CONNECTIONS=2000, AT_ONCE=10000)
	@$(PY) -m tests.long.abuse.crowd --logins $(LOGINS) --connections $(CONNECTIONS) --at-once $(AT_ONCE) $(ARGS)

fuzz: $(READY) ## mutate frames, TLS records, authentication data, and HTTP requests (N=100000)
	@$(PY) -m tests.long.fuzz --count $(N) $(ARGS)

authorization: $(FULL) ## compare who may do what with a real Apache Pulsar, cell by cell (needs mvn and java)
	@$(PY) -m tests.long.real_pulsar.authorization

.PHONY: walk
walk: $(FULL) ## compare pulsar-admin and pulsarctl on Apache Pulsar and here (needs mvn and java; ARGS='--only topics')
	@$(PY) -m tests.long.walk $(ARGS)

openapi: EXAMPLES ?= 50
openapi: $(READY) ## send requests generated from the OpenAPI document to a broker (EXAMPLES=50)
	@$(PY) -m tests.broker.admin.generated --examples $(EXAMPLES) $(ARGS)

proto: $(READY) ## generate the protobuf modules from proto/
	@$(PY) proto/generate.py

completions: $(READY) ## write the completion scripts of bash, zsh, and fish
	@$(BIN)/pulsarctl completion bash > completions/pulsarctl.bash
	@$(BIN)/pulsarctl completion zsh > completions/_pulsarctl
	@$(BIN)/pulsarctl completion fish > completions/pulsarctl.fish

docs: $(FULL) ## generate docs/reference (commands, configuration, REST, pulsar-admin), conf/, and parts of README.md and docs/reference/compatibility.md
	@$(PY) .ci/docs/generate.py
	@$(PY) -m tests.long.walk.page

.PHONY: site
site: $(FULL) ## build the documentation as a site in build/site/html
	@$(PY) .ci/docs/site.py build/site

.PHONY: pictures
pictures: BEFORE ?= 00716f42
pictures: $(FULL) ## draw every picture of the documentation from a real broker (needs chromium)
	@$(PY) .ci/docs/picture.py
	@$(PY) .ci/docs/screens.py
	@$(PY) .ci/docs/screens.py $(BEFORE)
	@PULSARCTL_WRITE_SCREENSHOTS=1 $(PY) -m pytest -q -n 0 tests/broker/console/test_in_chromium.py tests/cli/backlog/test_page.py

.PHONY: site-pictures
site-pictures: site ## draw four pages of the site, light, dark, and on a phone, in build/site/pictures (needs chromium)
	@$(PY) .ci/docs/screenshots.py build/site/html build/site/pictures
