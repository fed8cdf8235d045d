# Everything works from a fresh clone with Python 3.11 or later and make; `make demo` and `make test` need nothing before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test lint format typecheck bench ui clean

help:
	@echo "make demo       install the core and run the demo sweep: ten WEATs on two models"
	@echo "make test       install everything the tests need; ruff, mypy, pytest"
	@echo "make ui         open the MLflow UI on the recorded runs"
	@echo "make bench      measure speed and calibration, as ratios against named references"
	@echo "make lint | format | typecheck | clean"

$(VENV)/core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the core into $(VENV) (a minute or two, once)"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/dev: $(VENV)/core
	@echo "installing what the tests need into $(VENV) (once)"
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(VENV)/core
	@$(BIN)/harness run experiment=demo
	@$(BIN)/harness audit last
	@echo "compare the runs in the MLflow UI:  make ui"

test: lint typecheck
	$(BIN)/pytest -n 2 --dist worksteal

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

typecheck: $(VENV)/dev
	$(BIN)/mypy

bench: $(VENV)/dev
	$(BIN)/python -m tests.benchmarks

ui: $(VENV)/core
	@$(BIN)/harness ui

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
