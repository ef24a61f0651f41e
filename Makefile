# Every target sets up what it needs in .venv and reuses it; only Python 3.11+ and pip are assumed.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: help demo test test-slow test-oldest lint format bench bench-quick reproduce guarantees clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         the library at work, on simulated and real data; ends with a report"
	@echo "make test         the tests"
	@echo "make test-slow    the slow tests (about a quarter of an hour)"
	@echo "make test-oldest  the tests with the oldest dependencies that are supported"
	@echo "make lint         ruff and mypy"
	@echo "make format       let ruff rewrite the code"
	@echo "make bench        the benchmark against other solvers and learners (long)"
	@echo "make bench-quick  a small version of it (three minutes)"
	@echo "make reproduce    the paper's tables and figures into experiments/results (under an hour)"
	@echo "make guarantees   coverage, noise floor, radii and stability into experiments/guarantees (a quarter of an hour)"
	@echo "make clean        remove the environments"

# A stamp per set of packages, renewed when pyproject.toml changes; the demo needs no test tools.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,lint]"
	touch $@

$(VENV)/installed-app: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[app]"
	touch $@

demo: $(VENV)/installed-app
	$(BIN)/python -m minimaxrisk demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m "not slow" --numprocesses auto

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m slow

$(VENV)-oldest/installed: pyproject.toml tests/oldest.txt
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint tests/oldest.txt --editable ".[test]"
	touch $@

test-oldest: $(VENV)-oldest/installed
	$(VENV)-oldest/bin/python -m pytest -m "not slow" --numprocesses auto

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

# BENCH_FLAGS="--resume" goes on where an interrupted run stopped; benchmarks/make_mrcpy_env.sh adds a rival.
bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks run $(BENCH_FLAGS)
	$(BIN)/python -m benchmarks files

bench-quick: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks run --quick --out benchmarks/results-quick $(BENCH_FLAGS)

$(VENV)/installed-reproduce: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[reproduce]"
	touch $@

# Both go on where an interrupted run stopped.
reproduce: $(VENV)/installed-reproduce
	$(BIN)/python -m minimaxrisk reproduce all --out experiments/results $(REPRODUCE_FLAGS)

guarantees: $(VENV)/installed-reproduce
	$(BIN)/python -m minimaxrisk reproduce guarantees --out experiments/guarantees $(REPRODUCE_FLAGS)

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-mrcpy
