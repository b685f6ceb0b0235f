# Everything runs in .venv, which `make` creates; `make clean` removes it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Waiting OpenMP threads must not spin: the tests and the demo share the cores with other processes.
export OMP_WAIT_POLICY := PASSIVE

.PHONY: demo test test-oldest lint hooks torture bench results architecture docs clean

demo: $(READY)
	$(BIN)/lond demo --out runs/demo

# Coverage is printed, and must not fall below the floor in pyproject.toml; doctests are among the tests.
test: $(READY) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --cov --cov-report=term

# The part of the tests that touches the dependencies most, with their lowest allowed versions.
OLDEST := .venv-oldest
test-oldest: $(OLDEST)/.ready
	OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest tests/data tests/nets tests/train tests/results tests/evaluate \
		tests/test_config.py tests/test_estimator.py tests/cli/test_results.py

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet -c constraints-oldest.txt torch
	$(OLDEST)/bin/python -m pip install --quiet -c constraints-oldest.txt -e '.[tables,plots,test]'
	touch $@

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks tools examples
	$(BIN)/ruff format --check src tests benchmarks tools examples
	$(BIN)/mypy

# Let git run the checks of .pre-commit-config.yaml before every commit.
hooks: $(READY)
	$(BIN)/pre-commit install

# Kill commands, processes and nodes, damage files, fill the disk, for half an hour; `make test` runs a short version.
torture: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.torture.run --out results/torture.json

# Ratios of CPU seconds beside other programs; --large adds the large sizes. Names what has become worse by a tenth.
bench: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks.bench --root data --out results/bench.json

# The page of what results/store holds beside the paper's figures; a test keeps the two the same.
results: $(READY)
	$(BIN)/python -m tools.reproduced.page

# The drawing of the rooms and their imports; a test keeps it the same as the source.
architecture: $(READY)
	$(BIN)/python -m tools.architecture

# The variable drops a banner of the theme that is no finding.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "documentation: site/index.html"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[tables,hf,pretrained,pretrained-large,timm,plots,audit,int8,export,ray,test,lint,docs]'
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
