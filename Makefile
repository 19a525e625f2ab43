# Commands of the house: `make test` checks everything, `make demo` runs the main job.
# Each target makes the virtual environment it needs; nothing but python3 (3.11 or later) and make is assumed.

PYTHON ?= python3
JOBS   ?= 2
VENV   := .venv
BIN    := $(VENV)/bin

# Stamps: an environment is installed again only after pyproject.toml or the compiled passes changed.
SETUP  := pyproject.toml setup.py $(wildcard src/oodometer/kernels/passes*.[ch])
DEV    := $(VENV)/.installed-dev
RUN    := $(VENV)/.installed-report
# Live models are tested with this release; named first, so that no other library chooses a build for the GPU.
TORCH  ?= torch==2.13.0

# Data for reproductions and long tests, where they stand beside the checkout.
ifndef OODOMETER_DATA
ifneq ($(wildcard ../shared/data/.),)
export OODOMETER_DATA := $(abspath ../shared/data)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help test lint types imports unit demo docs tutorials papers readme samples pictures schema bench coverage wheel format clean

help:
	@echo "make test      lint, types, import contracts, then every test"
	@echo "make demo      run the main job on real data and print the path of its report"
	@echo "make docs      build the documentation; warnings are errors"
	@echo "make tutorials  run the notebooks of docs/tutorials again and keep what they print"
	@echo "make papers    write docs/papers.md from the committed results of the recipes"
	@echo "make readme    run what README and first steps show, and write the answers again"
	@echo "make samples   run the commands of every page of docs, and write what they print again"
	@echo "make pictures   draw the pictures of the documentation again"
	@echo "make schema    write the JSON Schema of the results again"
	@echo "make bench     measure speed and quality, write the tables"
	@echo "make coverage  tests with a coverage report"
	@echo "make wheel     build archive and wheels, and try each in an environment of its own"
	@echo "make format    put the code into its format"
	@echo "make clean     remove what the other targets made, the virtual environment too"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oodometer needs Python 3.11 or later; name one with: make PYTHON=python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "python3 cannot make a virtual environment; run: sudo apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# pip compiles modules one after another; compileall takes every core, and leaves out the tests that libraries bring.
$(DEV): $(SETUP) | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --no-compile '$(TORCH)'
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[report,dev,hf,text,energy,image,onnx,ray,spark,postgres]' '$(TORCH)'
	@$(BIN)/python -W ignore -m compileall -q -j 0 -x '/tests?/' $(VENV)/lib >/dev/null 2>&1 || true
	@touch $(DEV) $(RUN)

# The demo needs less; an environment that has the development tools has it already.
$(RUN): $(SETUP) | $(BIN)/python
	@echo "installing oodometer and the libraries of its report into $(VENV): some 30 packages, 550 MB, a minute or two"
	@began=$$(date +%s); $(BIN)/python -m pip install --quiet --editable '.[report]' || exit 1; \
	  echo "installed: $$($(BIN)/python -m pip list --format=freeze | wc -l) packages," \
	    "$$(du -sm $(VENV) | cut -f1) MB in $$(( $$(date +%s) - began )) s"
	@touch $(RUN)

# One after another, whatever -j says, but for types and imports: they take one core for a minute or two, and stand beside
# the tests. What they find is told behind these; else the summary of pytest is the last line.
.NOTPARALLEL:
test: lint
	@found=$$(mktemp); \
	  $(MAKE) --no-print-directory types imports >"$$found" 2>&1 & checks=$$!; \
	  trap 'kill $$checks 2>/dev/null; rm -f "$$found"; exit 130' INT TERM; \
	  $(MAKE) --no-print-directory unit; tests=$$?; \
	  wait $$checks || { cat "$$found" >&2; tests=1; }; \
	  rm -f "$$found"; exit $$tests

lint: $(DEV)
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .

types: $(DEV)
	@$(BIN)/python -m mypy

imports: $(DEV)
	@$(BIN)/lint-imports

# Each process begins with one end of the list and takes from the other where it is done, so that both end together and
# what a file prepares is seldom made twice. Compiled modules are kept, or each of some hundred processes compiles them.
unit: export PYTHONDONTWRITEBYTECODE =
unit: $(DEV)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

coverage: $(DEV)
	@$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term

demo: $(RUN)
	@$(BIN)/oodometer demo --out demo
	@echo "report: $$(ls $(CURDIR)/demo/*.html)"

docs: $(DEV)
	@$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html
	@echo "documentation: $(CURDIR)/docs/_build/html/index.html"

tutorials: $(DEV)
	@$(BIN)/python scripts/tutorials.py

papers: $(DEV)
	@$(BIN)/python scripts/papers.py

readme: $(DEV)
	@$(BIN)/python scripts/console.py README first_steps
	@$(BIN)/python scripts/readme.py

samples: $(DEV)
	@$(BIN)/python scripts/console.py

pictures: $(DEV)
	@$(BIN)/python docs/pictures.py

schema: $(DEV)
	@$(BIN)/python docs/schema.py

wheel: $(BIN)/python
	@$(BIN)/python -m pip install --quiet build
	@$(BIN)/python scripts/wheels.py --out dist

bench: $(DEV)
	@if [ -f benchmarks/run.sh ]; then PATH="$(CURDIR)/$(BIN):$$PATH" bash benchmarks/run.sh; \
	  elif [ -f benchmarks/run.py ]; then $(BIN)/python benchmarks/run.py speed; \
	  else echo "there is no benchmarks/run.sh" >&2; exit 1; fi

format: $(DEV)
	@$(BIN)/python -m ruff check --fix-only --quiet .
	@$(BIN)/python -m ruff format .

clean:
	rm -rf $(VENV) build dist demo htmlcov .coverage .coverage.* docs/_build docs/generated
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf src/*.egg-info src/oodometer/kernels/*.so
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
