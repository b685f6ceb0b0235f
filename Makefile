# Everything runs in .venv, which `make` creates; `make clean` removes it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Waiting OpenMP threads must not spin: the tests and the demo share the cores with other processes.
export OMP_WAIT_POLICY := PASSIVE

.PHONY: demo test lint bench results docs clean

demo: $(READY)
	$(BIN)/lond demo --out runs/demo

test: $(READY) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/robust_step.py --root data --out runs/bench/robust_step.json

# The page of what results/store holds beside the paper's figures; a test keeps the two the same.
results: $(READY)
	$(BIN)/python -m tools.reproduced.page

# The variable drops a banner of the theme that is no finding.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "documentation: site/index.html"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[tables,hf,pretrained,timm,plots,audit,test,lint,docs]'
	touch $@

clean:
	rm -rf $(VENV) build site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
