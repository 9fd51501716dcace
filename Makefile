# make run, make test and make prove do all the set-up themselves and are quick the second time.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test fast check sbom dist-editors check-editors format-editors docs prove model editors pictures lock version dist clean

run: model
	@$(BIN)/python examples/run.py

test: check model editors
	@$(BIN)/python -m tests.suite

# The suite without the model, in some minutes.
fast: $(READY)
	@$(BIN)/python -m pytest -n 2 -m "not model and not prove" --ignore tests/e2e

check: $(READY) check-editors
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q

# The documents, in build/site.
docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q

# What is not Python: StyLua and luacheck for Lua, tsc and Biome for TypeScript, actionlint for the workflows.
check-editors: $(READY)
	@$(BIN)/python -m tests.e2e.lint

format-editors: $(READY)
	@$(BIN)/python -m tests.e2e.lint --write

# The long proofs. `make prove PART=identity` runs one part; tests/prove.py lists them.
prove: model editors
	@TORCH_FROM="$(TORCH_FROM)" $(BIN)/python -m tests.prove $(PART)

# Neovim 0.10, 0.11 and 0.12, Helix, Emacs, Vim, VS Code in a browser with the extension, and clients of other completion servers,
# for the end-to-end tests: unpacked in the cache, in at most 5 minutes each. What cannot be had is said, and counts as not run. Screenshots go to build/screens.
editors: $(READY)
	-@$(BIN)/python -m tests.e2e.neovim.provide
	-@$(BIN)/python -m tests.e2e.helix.provide
	-@$(BIN)/python -m tests.e2e.emacs.provide
	-@$(BIN)/python -m tests.e2e.vim.provide
	-@$(BIN)/python -m tests.e2e.vscode.provide
	-@$(BIN)/python -m tests.e2e.clients.provide

# The README's pictures, from real runs of the editors and the model.
pictures: model editors
	@$(BIN)/python -m tests.e2e.pictures

model: $(READY)
	@$(BIN)/dlsp model pull

# The locked packages, each accepted by its hash; PyTorch by its version only, from where TORCH_FROM says (docs/contributing.md).
$(READY): pyproject.toml requirements/dev.txt requirements/torch.txt
	@command -v $(PYTHON) >/dev/null || { echo "dlsp needs Python 3.11 or newer: install it, or say which one by 'make PYTHON=...'."; exit 1; }
	@echo "Setting up $(VENV): about 3 minutes the first time."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --progress-bar on --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --progress-bar on --disable-pip-version-check $(TORCH_FROM) -r requirements/torch.txt
	@$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The packages that requirements/*.txt name, newer ones where pyproject.toml allows; `make lock UPGRADE=` keeps what is there.
UPGRADE ?= --upgrade
LOCKED := $(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header -c requirements/torch.txt pyproject.toml
LOCK := $(LOCKED) --no-emit-package torch $(UPGRADE)
lock: $(READY)
	@$(LOCK) -o requirements/light.txt
	@$(LOCK) --extra engine -o requirements/engine.txt
	@$(LOCKED) --no-config -c requirements/engine.txt --extra engine -o requirements/local.txt
	@$(LOCK) --extra dev -o requirements/dev.txt

# The version of dlsp/__init__.py into the extension's manifest.
version: $(READY)
	@cd editors/vscode && PATH="$(abspath $(BIN)):$$PATH" npm version --no-git-tag-version --allow-same-version \
		"$$($(abspath $(BIN))/python -c 'import dlsp; print(dlsp.__version__)')"

# The wheels of dlsp and of its adapters, in dist/.
dist: $(READY)
	@for each in . packages/adapter-0.5b packages/adapter-1.5b; do \
		$(BIN)/python -m build -q --wheel --no-isolation --outdir dist $$each || exit 1; done
	@ls dist

# The Neovim plugin and the VS Code extension as files to install, in dist/.
dist-editors: $(READY)
	@$(BIN)/python editors/pack.py dist
	@$(BIN)/python -c 'from tests.e2e.vscode.provide import vsix; import shutil; print(shutil.copy(vsix(), "dist"))'

# What the packages and the extension bring, in CycloneDX's form, in dist/: the list of requirements/local.txt and npm's.
sbom: $(READY)
	@mkdir -p dist
	@$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --output-reproducible -o dist/dlsp.cdx.json requirements/local.txt
	@cd editors/vscode && PATH="$(abspath $(BIN)):$$PATH" npm sbom --sbom-format cyclonedx --omit dev --package-lock-only >../../dist/dlsp-vscode.cdx.json
	@ls dist/*.cdx.json

clean:
	rm -rf $(VENV)
