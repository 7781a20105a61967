# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
# Another package index, for another torch build: make INDEX=https://... TORCH=2.13.0+cu130 demo
INDEX ?=
TORCH ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -q $(if $(INDEX),--extra-index-url $(INDEX))

CONSTRAINTS := constraints.txt
ifneq ($(TORCH),)
CONSTRAINTS := $(VENV)/constraints.txt
endif

# How long the fuzzer runs, and from which case on: make fuzz SECONDS=600 SEED=100000
SECONDS ?= 3600
SEED ?= 0

.PHONY: demo test fuzz docs lint types layers package bench reproduction screenshots clean help

help:  ## say what each target does
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /: /'

demo: $(VENV)/.installed  ## install, then run the main job
	$(BIN)/windward demo

# Bytecode is kept: each of the three processes, and every one that they start, would compile the same files.
test: $(VENV)/.installed-test  ## install what the tests need, then run them
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadfile

fuzz: $(VENV)/.installed-test  ## random studies with an oracle of what must hold, for an hour
	$(BIN)/python tests/fuzz.py --seconds $(SECONDS) --seed $(SEED)

docs: $(VENV)/.installed-docs  ## build the documentation into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: $(VENV)/.installed-dev  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev  ## types, strict on the package
	$(BIN)/mypy

layers: $(VENV)/.installed-dev  ## imports point downward
	$(BIN)/lint-imports

package: $(VENV)/.installed-dev  ## wheel and sdist: built, checked, used in an environment of their own
	$(BIN)/python .ci/package.py --constraints $(CONSTRAINTS) $(if $(INDEX),--index $(INDEX))

bench: $(VENV)/.installed-test  ## measure, beside peers
	$(BIN)/python benchmarks/suggest.py methods
	$(BIN)/python benchmarks/suggest.py peers

reproduction: $(VENV)/.installed-test  ## write docs/reproduction.md and its figures again, from the records kept
	$(BIN)/windward bench report benchmarks/records --page docs/reproduction.md

screenshots: $(VENV)/.installed-test  ## draw the figures, the report and the page again, for the docs
	$(BIN)/python docs/figures/gallery.py
	$(BIN)/python docs/figures/screenshots.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Windward needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1); name another: make PYTHON=python3.11 demo"; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/constraints.txt: constraints.txt $(VENV)/.created
	sed 's/^torch==.*/torch==$(TORCH)/' constraints.txt > $@

$(VENV)/.installed: pyproject.toml $(CONSTRAINTS) $(VENV)/.created
	@echo "installing windward into $(VENV) (torch is large: this can take a few minutes)"
	$(PIP) -c $(CONSTRAINTS) -e '.[plots]'
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "installing what the tests need"
	$(PIP) -c $(CONSTRAINTS) -e '.[test]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "installing what the documentation needs"
	$(PIP) -c $(CONSTRAINTS) -e '.[docs]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	@echo "installing what development needs"
	$(PIP) -c $(CONSTRAINTS) -e '.[dev]'
	touch $@
