# Language Models by Hand. `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.

PYTHON ?= python3
# Run as a module everywhere: a console script's first line breaks in a path with spaces.
VENV_PYTHON = .venv/bin/python
COURSEKIT = $(VENV_PYTHON) -m coursekit
# One thread a process: the parallelism here is over processes.
export OMP_NUM_THREADS = 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint book release bench browser clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

.venv/.installed: requirements.txt pyproject.toml coursekit/bootstrap.py
	@$(PYTHON) coursekit/bootstrap.py

demo: .venv/.installed  ## set up, build the book, grade a sample class, say where to look
	@$(COURSEKIT) demo

test: .venv/.installed browser  ## set up, then lint, types and every test
	@$(MAKE) --no-print-directory lint
	@$(VENV_PYTHON) -m pytest -n auto --dist worksteal

lint: .venv/.installed  ## ruff and mypy
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy

browser: .venv/.installed
	@$(VENV_PYTHON) -m coursekit.bootstrap browser

book: .venv/.installed  ## build the book into _build/html
	@$(COURSEKIT) book

release: .venv/.installed  ## solutions/ -> notebooks/
	@$(COURSEKIT) release

bench: .venv/.installed  ## measure the ratios of benchmarks/ and write their table
	@$(VENV_PYTHON) -m benchmarks

clean:  ## remove what the build made (not .venv)
	@rm -rf _build build dist *.egg-info
