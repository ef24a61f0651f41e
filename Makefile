# Every target sets up what it needs in .venv and reuses it; only Python 3.11+ and pip are assumed.
PYTHON ?= python3
VENV ?= .venv
# Where an environment keeps its programs.
ifeq ($(OS),Windows_NT)
SCRIPTS = Scripts
else
SCRIPTS = bin
endif
BIN = $(VENV)/$(SCRIPTS)

.PHONY: help demo test test-slow test-oldest test-nightly coverage mutants lint format docs bench bench-quick bench-gpu reproduce \
	guarantees accuracy dist check-dist version changelog release-notes clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         a report from a table, then studies that show what its numbers are worth"
	@echo "make test         the tests"
	@echo "make test-slow    the slow tests: larger sizes, more random problems (many minutes)"
	@echo "make test-oldest  the tests with the oldest dependencies that are supported"
	@echo "make test-nightly the tests with the scikit-learn, SciPy and NumPy that are to come"
	@echo "make coverage     which lines and branches of the core the tests leave out"
	@echo "make mutants      which changes of the core the tests do not notice (long)"
	@echo "make lint         ruff and mypy"
	@echo "make format       let ruff rewrite the code"
	@echo "make docs         the documentation as a site into docs/_build/html, with every example of the gallery run"
	@echo "make bench        the benchmark against other solvers and learners (long)"
	@echo "make bench-quick  a small version of it (a few minutes)"
	@echo "make bench-gpu    what an accelerator brings; needs PyTorch with CUDA in the environment"
	@echo "make reproduce    the tables and figures of two papers into experiments/results (hours)"
	@echo "make guarantees   coverage, noise floor, radii, stability into experiments/results/guarantees (a quarter of an hour)"
	@echo "make accuracy     errors beside other classifiers into experiments/results/accuracy (hours)"
	@echo "make dist         wheel and source archive into dist/, checked"
	@echo "make check-dist   the wheel alone in empty environments, with the oldest and the newest dependencies"
	@echo "make changelog    what a release would write to CHANGELOG.md; make release-notes writes it"
	@echo "make clean        remove the environments, the site and dist/"

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

$(VENV)/installed-check-tests: $(VENV)/installed-dev
	$(BIN)/python $(INSTALL) --editable ".[all]" --group check-tests
	touch $@

$(VENV)/installed-app: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[app]"
	touch $@

$(VENV)/installed-reproduce: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[plot]" --group reproduce
	touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python $(INSTALL) --editable ".[all]" --group bench
	touch $@

# An environment of its own: nothing that is built may lean on what is installed for the tests.
$(VENV)-release/installed: pyproject.toml
	test -x $(VENV)-release/$(SCRIPTS)/python || $(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/$(SCRIPTS)/python $(INSTALL) --upgrade "pip>=25.1"
	$(VENV)-release/$(SCRIPTS)/python $(INSTALL) --group release
	touch $@

# Tests start many processes; without its bytecode each would compile the library anew.
unexport PYTHONDONTWRITEBYTECODE
# Neighbours share what a module sets up: each process has a run of them, and takes from the other's end.
PARALLEL = --numprocesses auto --dist worksteal

demo: $(VENV)/installed-app
	$(BIN)/python -m minimaxrisk demo
	@echo "With a table of your own: $(BIN)/minimaxrisk fit TABLE.csv --target COLUMN --report report.html"

# What takes longest is listed at the end, so that it does not grow unseen.
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m "not slow" $(PARALLEL) --durations 15 --durations-min 2

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m slow --timeout 3600

$(VENV)-oldest/installed: pyproject.toml tests/oldest.txt
	test -x $(VENV)-oldest/$(SCRIPTS)/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/$(SCRIPTS)/python $(INSTALL) --upgrade "pip>=25.1"
	$(VENV)-oldest/$(SCRIPTS)/python $(INSTALL) --constraint tests/oldest.txt --editable ".[all]" --group test
	touch $@

test-oldest: $(VENV)-oldest/installed
	$(VENV)-oldest/$(SCRIPTS)/python -m pytest -m "not slow" $(PARALLEL)

# Nightly wheels change without a change of ours, so that there is no stamp: each run takes the newest.
NIGHTLY = https://pypi.anaconda.org/scientific-python-nightly-wheels/simple
test-nightly:
	test -x $(VENV)-nightly/$(SCRIPTS)/python || $(PYTHON) -m venv $(VENV)-nightly
	$(VENV)-nightly/$(SCRIPTS)/python $(INSTALL) --upgrade "pip>=25.1"
	$(VENV)-nightly/$(SCRIPTS)/python $(INSTALL) --editable ".[all]" --group test
	$(VENV)-nightly/$(SCRIPTS)/python $(INSTALL) --upgrade --pre --extra-index-url $(NIGHTLY) numpy scipy scikit-learn
	$(VENV)-nightly/$(SCRIPTS)/python -m pytest -m "not slow" $(PARALLEL)

coverage: $(VENV)/installed-check-tests
	$(BIN)/python -m pytest -m "not slow" $(PARALLEL) --cov --cov-report=term

# What has not changed since the last run is not tried again.
mutants: $(VENV)/installed-check-tests
	$(BIN)/mutmut run
	$(BIN)/python tests/mutant_table.py

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

# The same source gives the same bytes: hatchling dates all files alike, or by SOURCE_DATE_EPOCH where it is set.
dist: $(VENV)-release/installed
	rm -rf dist
	$(VENV)-release/$(SCRIPTS)/python -m build
	$(VENV)-release/$(SCRIPTS)/python -m twine check --strict dist/*

# More interpreters are named by WHEEL_FLAGS="--python python3.12 --python python3.13".
check-dist: dist
	$(PYTHON) release/check_wheel.py dist $(WHEEL_FLAGS)

VERSION = $(shell $(PYTHON) -c "import tomllib; print(tomllib.load(open('pyproject.toml', 'rb'))['project']['version'])")

version:
	@echo $(VERSION)

changelog: $(VENV)-release/installed
	$(VENV)-release/$(SCRIPTS)/towncrier build --version $(VERSION) --draft

release-notes: $(VENV)-release/installed
	$(VENV)-release/$(SCRIPTS)/towncrier build --version $(VERSION) --yes

# Each goes on where an interrupted run stopped; a setting is REPRODUCE_FLAGS="--set folds=3". Quick runs have a
# folder of their own. experiments/rivals/make_mrcpy_env.sh adds a rival to the benchmark.
reproduce: $(VENV)/installed-reproduce
	$(BIN)/python -m experiments paper $(REPRODUCE_FLAGS)
	$(BIN)/python -m experiments second-paper $(REPRODUCE_FLAGS)

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
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-nightly $(VENV)-release $(VENV)-mrcpy dist \
		docs/_build docs/auto_examples docs/reference/generated docs/sg_execution_times.rst
