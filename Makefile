# make demo: from nothing to a trained, exported classifier that answers new reports.
# make test: the tests. Both set up .venv by themselves.

PYTHON ?= python3.11
BIN := .venv/bin
# A process for each core: while tests wait for servers, those with JAX go on.
PARALLEL := --numprocesses $(shell nproc) --maxprocesses 4 --dist loadscope --no-loadscope-reorder
# Rooms whose tests run pipelines, exports and servers. They get processes of their own, because processes grow with every test.
RUNNING := $(addprefix tests/,serving documents end_to_end export attention cli)
WITH_JAX := KERAS_BACKEND=jax JAX_DISABLE_MOST_OPTIMIZATIONS=1

.PHONY: demo test test-tensorflow test-jax lint lock browser slow clean

demo: .venv/installed
	$(BIN)/tfattn sample factory_reports data/factory_reports.csv
	$(BIN)/tfattn run pipelines/factory_reports.yaml
	@printf '%s\n' \
	  'Coolant is pooling underneath sorter.' \
	  'Sorter blows fuses at start up.' \
	  'There are some very loud rattling sounds coming from the assembler.' \
	  | $(BIN)/tfattn predict factory_reports --input -

# With JAX in what the others leave of the machine.
test: .venv/installed lint
	$(MAKE) --jobs 2 --no-print-directory test-tensorflow test-jax

test-tensorflow:
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(addprefix --ignore=,$(RUNNING))
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not alone" $(RUNNING)
	$(BIN)/python -m pytest -m "alone and not slow" tests/serving

test-jax:
	$(WITH_JAX) nice -n 19 $(BIN)/python -m pytest -m every_backend tests/ops tests/layers tests/models tests/decoding

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# Chromium, to test the server's page in (Debian, as root); without it those tests are skipped and say so.
browser:
	command -v chromium || (apt-get -qq update && apt-get -qq install -y chromium > /dev/null)

# Tests that take minutes: all models with JAX, many kills and resumes, long load on the server, many seeds.
slow: .venv/installed
	$(BIN)/python -m pytest -m slow
	$(WITH_JAX) $(BIN)/python -m pytest $(PARALLEL) tests/ops tests/layers tests/models tests/decoding/test_greedy.py

# The exact versions of all that setup.cfg asks for, with the hashes of their files. Versions stay as they are where
# setup.cfg allows; `make lock UPGRADE=--upgrade` takes the newest. Packages come from where pip takes them.
LOCKED := pretrained beam chinese test
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	UV_DEFAULT_INDEX=$${PIP_INDEX_URL:-$$($(PYTHON) -m pip config get global.index-url 2> /dev/null)} \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" \
	  build/lock/bin/uv pip compile --quiet setup.cfg $(LOCKED:%=--extra %) --generate-hashes --no-annotate $(UPGRADE) \
	  --python-version 3.11 --python-platform linux --output-file requirements.lock

.venv/installed: requirements.lock setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf .venv build *.egg-info
