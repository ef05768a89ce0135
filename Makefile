# Language Models by Hand. `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.

PYTHON ?= python3
# Run as a module everywhere: a console script's first line breaks in a path with spaces.
VENV_PYTHON = .venv/bin/python
COURSEKIT = $(VENV_PYTHON) -m coursekit
# One thread a process: the parallelism here is over processes.
export OMP_NUM_THREADS = 1
# Hundreds of processes read the same modules: they are compiled once, whatever the machine is set to.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check lint book release bench coverage browser clean
# Half of a test's time is waiting (for limits, kernels, browsers): two workers a core keep it busy.
WORKERS ?= $(shell echo $$(( 2 * $$(getconf _NPROCESSORS_ONLN) )))
# The longest first, by tests/durations.json (see tests/conftest.py).
PYTEST = $(VENV_PYTHON) -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

.venv/.installed: requirements.txt pyproject.toml coursekit/cli/bootstrap.py
	@$(PYTHON) coursekit/cli/bootstrap.py

demo: .venv/.installed  ## set up, build the book, grade a sample class, say where to look
	@$(COURSEKIT) demo

test: .venv/.installed  ## set up, then lint, types and every test
	@$(MAKE) --no-print-directory -j3 lint book browser
	@$(PYTEST) $(TESTS)

check: .venv/.installed  ## the inner loop: lint, types, and the tests that are not slow
	@$(MAKE) --no-print-directory lint
	@$(PYTEST) -m "not slow" $(TESTS)

lint: .venv/.installed  ## ruff and mypy
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy

browser: .venv/.installed
	@$(VENV_PYTHON) -m coursekit.cli.bootstrap browser

book: .venv/.installed  ## build the book into _build/html
	@$(COURSEKIT) book

release: .venv/.installed  ## solutions/ -> notebooks/
	@$(COURSEKIT) release

bench: .venv/.installed  ## measure the ratios of benchmarks/ and write their table
	@$(VENV_PYTHON) -m benchmarks

coverage: .venv/.installed  ## which lines no quick test runs, file by file
	@$(VENV_PYTHON) -m coverage run --source=coursekit -m pytest -m "not slow" -p no:xdist
	@$(VENV_PYTHON) -m coverage report --show-missing --skip-covered

clean:  ## remove what the build made (not .venv)
	@rm -rf _build build dist *.egg-info
