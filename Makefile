# make run, make test and make prove do all the set-up themselves and are quick the second time.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test fast check prove model editors pictures clean

run: model
	@$(BIN)/python examples/run.py

test: check model editors
	@$(BIN)/python -m pytest -m "not prove"

# The suite without the model, in some minutes.
fast: $(READY)
	@$(BIN)/python -m pytest -m "not model and not prove" --ignore tests/e2e

check: $(READY)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright

# 200 real gaps under every kind of draft, in float32: about half an hour on two cores.
prove: model editors
	@$(BIN)/python -m pytest -m prove
	@$(BIN)/python -m bench.identity --gaps 200

# Neovim 0.10 and 0.12, Helix, Emacs, and VS Code in a browser with the extension, for the end-to-end tests: unpacked in
# the cache, in at most 5 minutes each. What cannot be had is said, and counts as not run. Screenshots go to build/screens.
editors: $(READY)
	-@$(BIN)/python -m tests.e2e.neovim.provide
	-@$(BIN)/python -m tests.e2e.helix.provide
	-@$(BIN)/python -m tests.e2e.emacs.provide
	-@$(BIN)/python -m tests.e2e.vscode.provide

# The README's pictures, from real runs of the editors and the model.
pictures: model editors
	@$(BIN)/python -m tests.e2e.pictures

model: $(READY)
	@$(BIN)/dlsp model pull

$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "dlsp needs Python 3.11 or newer: install it, or say which one by 'make PYTHON=...'."; exit 1; }
	@echo "Setting up $(VENV): about 3 minutes the first time."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --progress-bar on --disable-pip-version-check $(TORCH_FROM) -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV)
