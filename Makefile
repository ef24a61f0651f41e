# Every target sets up what it needs in .venv and reuses it; only Python 3.11+ and pip are assumed.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: help demo test test-slow test-oldest lint format docs bench bench-quick bench-gpu reproduce guarantees accuracy clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         the library at work, on simulated and real data; ends with a report"
	@echo "make test         the tests"
	@echo "make test-slow    the slow tests: larger sizes, more random problems (many minutes)"
	@echo "make test-oldest  the tests with the oldest dependencies that are supported"
	@echo "make lint         ruff and mypy"
	@echo "make format       let ruff rewrite the code"
	@echo "make docs         the documentation as a site into docs/_build/html, with every example of the gallery run"
	@echo "make bench        the benchmark against other solvers and learners (long)"
	@echo "make bench-quick  a small version of it (a few minutes)"
	@echo "make bench-gpu    what an accelerator brings; needs PyTorch with CUDA in the environment"
	@echo "make reproduce    the paper's tables and figures into experiments/results/paper (under an hour)"
	@echo "make guarantees   coverage, noise floor, radii, stability into experiments/results/guarantees (a quarter of an hour)"
	@echo "make accuracy     errors beside other classifiers into experiments/results/accuracy (hours)"
	@echo "make clean        remove the environments and the site"

# A stamp per set of packages, renewed when pyproject.toml changes; the demo needs no test tools. The groups
# of pyproject.toml need pip 25.1.
INSTALL = -m pip install --quiet --disable-pip-version-check

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) --upgrade "pip>=25.1"
	$(BIN)/python $(INSTALL) --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[all]" --group test --group lint
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[all]" --group docs
	touch $@

$(VENV)/installed-app: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[app]"
	touch $@

$(VENV)/installed-reproduce: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[data,plot]" --group reproduce
	touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[all]" --group bench
	touch $@

# Tests start many processes; without its bytecode each would compile the library anew.
unexport PYTHONDONTWRITEBYTECODE
# Neighbours share what a module sets up: each process has a run of them, and takes from the other's end.
PARALLEL = --numprocesses auto --dist worksteal

demo: $(VENV)/installed-app
	$(BIN)/python -m minimaxrisk demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m "not slow" $(PARALLEL)

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m slow

$(VENV)-oldest/installed: pyproject.toml tests/oldest.txt
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python $(INSTALL) --upgrade "pip>=25.1"
	$(VENV)-oldest/bin/python $(INSTALL) --constraint tests/oldest.txt --editable ".[all]" --group test
	touch $@

test-oldest: $(VENV)-oldest/installed
	$(VENV)-oldest/bin/python -m pytest -m "not slow" $(PARALLEL)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A warning, which a link that leads nowhere is too, fails the build after all of them have been shown.
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --builder html docs docs/_build/html

# Each goes on where an interrupted run stopped; a setting is REPRODUCE_FLAGS="--set folds=3". Quick runs have a
# folder of their own. experiments/rivals/make_mrcpy_env.sh adds a rival to the benchmark.
reproduce: $(VENV)/installed-reproduce
	$(BIN)/python -m experiments paper $(REPRODUCE_FLAGS)

guarantees: $(VENV)/installed-reproduce
	$(BIN)/python -m experiments guarantees $(REPRODUCE_FLAGS) $(GUARANTEES_FLAGS)

accuracy: $(VENV)/installed-reproduce
	$(BIN)/python -m experiments accuracy $(REPRODUCE_FLAGS) $(ACCURACY_FLAGS)

bench: $(VENV)/installed-bench
	$(BIN)/python -m experiments rivals $(BENCH_FLAGS)
	$(BIN)/python -m experiments scale $(BENCH_FLAGS)

bench-quick: $(VENV)/installed-bench
	$(BIN)/python -m experiments rivals --quick $(BENCH_FLAGS)
	$(BIN)/python -m experiments scale --quick $(BENCH_FLAGS)

# PyTorch comes with the device's own drivers, so that it is not installed here: VENV names an environment that
# has it, and the extra array-api.
bench-gpu:
	$(BIN)/python -m experiments.accelerators $(BENCH_FLAGS)

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-mrcpy docs/_build docs/auto_examples docs/reference/generated docs/sg_execution_times.rst
