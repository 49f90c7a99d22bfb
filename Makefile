# Everything runs from one environment, .venv, which grows in three steps: demo, test, check.
# Needed on the machine: python3 (3.11+), pip, make, git. uv is used silently if it is there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo
export OMP_NUM_THREADS ?= 1

.PHONY: help demo test check env docs docs-quick bench bench-full clean
help:
	@echo "make demo | test | check | docs | docs-quick | bench | bench-full | env | clean"

demo: $(VENV)/.demo
	@$(BIN)/gradsift demo --out $(OUT)

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n 2

check: $(VENV)/.check
	@$(BIN)/ruff check src tests benchmarks examples docs
	@$(BIN)/ruff format --check src tests benchmarks examples docs
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

# Every example is run; a warning is an error; then every link inside the pages is followed.
docs: $(VENV)/.docs
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@$(BIN)/python docs/check_links.py docs/_build/html
	@echo "docs/_build/html/index.html"

# The same without running the examples.
docs-quick: $(VENV)/.docs
	@$(BIN)/python -m sphinx -q -W --keep-going -D plot_gallery=0 -b html docs docs/_build/quick
	@echo "docs/_build/quick/index.html"

# All evidence, ours beside others: minutes with small counts, or under three hours. A stopped run goes on.
bench: $(VENV)/.test
	@$(BIN)/python -m benchmarks.bench

bench-full: $(VENV)/.test
	@$(BIN)/python -m benchmarks.bench --full

env: $(VENV)/.demo $(VENV)/.test $(VENV)/.check

# The stamps hang on pyproject.toml: a changed dependency reinstalls, an unchanged one starts at once.
# --group needs pip 25.1, hence the upgrade inside the environment.
$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gradsift needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@echo "making $(VENV) (once; about half a minute)"
	@if command -v uv >/dev/null 2>&1; then uv venv -q --seed --python $(PYTHON) $(VENV); else $(PYTHON) -m venv $(VENV); fi
	@$(BIN)/python -m pip install -q --upgrade pip --disable-pip-version-check
	@touch $@

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/.pip
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e . --group demo
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/.demo
	@echo "installing the test tools (once; one to two minutes)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e . --group demo --group test
	@touch $@

$(VENV)/.check: pyproject.toml constraints.txt | $(VENV)/.test
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --group check
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.test
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --group docs
	@touch $@

clean:
	rm -rf $(VENV) demo figures bench docs/_build docs/_generated docs/auto_examples .mypy_cache .ruff_cache .hypothesis
