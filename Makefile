# make demo: install, train and export a classifier, and predict new reports.
# make test: run the tests. make docs: build the documentation site. All of them create .venv.

PYTHON ?= python3.11
BIN := .venv/bin
# One process per core. The JAX tests run while other tests wait for servers.
PARALLEL := --numprocesses $(shell nproc) --maxprocesses 4 --dist loadscope --no-loadscope-reorder
# Groups of folders: those that read files and published weights, those that run exports and servers, and those that
# share finished pipelines. Each group has its own processes, because memory grows with every test.
READING := $(addprefix tests/,litert preprocessing pretrained recipes runs samples sharing tasks trained vectors)
SERVING := $(addprefix tests/,serving export cli)
RUNNING := $(addprefix tests/,documents end_to_end attention)
# JAX compiles each operation by itself: here as quickly as it can, and what it compiles is kept in build.
WITH_JAX := KERAS_BACKEND=jax JAX_DISABLE_MOST_OPTIMIZATIONS=1 JAX_COMPILATION_CACHE_DIR=$(CURDIR)/build/jax \
  XLA_FLAGS="--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1" \
  JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1

.PHONY: demo test test-tensorflow test-jax lint docs lock browser slow clean

demo: .venv/installed
	$(BIN)/tfattn sample factory_reports data/factory_reports.csv
	$(BIN)/tfattn run pipelines/factory_reports.yaml
	@printf '%s\n' \
	  'Coolant is pooling underneath sorter.' \
	  'Sorter blows fuses at start up.' \
	  'There are some very loud rattling sounds coming from the assembler.' \
	  | $(BIN)/tfattn predict factory_reports --input -

# The JAX tests run at low priority next to the other tests.
test: .venv/installed lint
	$(MAKE) --jobs 2 --no-print-directory test-tensorflow test-jax

test-tensorflow: export ONCE := $(CURDIR)/build/once
test-tensorflow:
	rm -rf $(ONCE)
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(addprefix --ignore=,$(READING) $(SERVING) $(RUNNING))
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(READING)
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not alone" $(SERVING)
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(RUNNING)
	$(BIN)/python -m pytest -m "alone and not slow" $(shell grep --recursive --files-with-matches --include='*.py' mark.alone tests)

test-jax:
	$(WITH_JAX) nice -n 19 $(BIN)/python -m pytest -m every_backend tests/ops tests/layers tests/models tests/decoding

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# Build the documentation site. `.venv/bin/mkdocs serve` shows it while pages are written.
docs: export NO_MKDOCS_2_WARNING := 1
docs: .venv/installed
	$(BIN)/mkdocs build --quiet
	@echo "The documentation is in build/site: open build/site/index.html"

# Install Chromium for the tests of the server's page (Debian, as root). Without it these tests are skipped with a message.
browser:
	command -v chromium || (apt-get -qq update && apt-get -qq install -y chromium > /dev/null)

# Tests that take minutes: all models with JAX, repeated kills and resumes, long server load, many seeds.
slow: .venv/installed
	$(BIN)/python -m pytest -m slow
	$(WITH_JAX) $(BIN)/python -m pytest $(PARALLEL) tests/ops tests/layers tests/models tests/decoding/test_greedy.py

# Write the exact versions of the requirements of setup.cfg, with the hashes of their files. Locked versions are kept if
# setup.cfg allows; `make lock UPGRADE=--upgrade` selects the newest versions. Packages come from pip's package index.
LOCKED := pretrained pretrained_tiny beam chinese docs test
# Requirements of packages of which only the weights are read, and of parts of ai-edge-litert for Python before 3.11.
UNUSED := torch transformers backports.strenum
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	printf '%s; sys_platform == "none"\n' $(UNUSED) > build/lock/unused.txt
	UV_DEFAULT_INDEX=$${PIP_INDEX_URL:-$$($(PYTHON) -m pip config get global.index-url 2> /dev/null)} \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" \
	  build/lock/bin/uv pip compile --quiet setup.cfg $(LOCKED:%=--extra %) --generate-hashes --no-annotate $(UPGRADE) \
	  --overrides build/lock/unused.txt \
	  --python-version 3.11 --python-platform linux --output-file requirements.lock

.venv/installed: requirements.lock setup.cfg setup.py pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf .venv build *.egg-info
