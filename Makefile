# make demo, make test: each sets up all that it needs first.
BIN := .venv/bin
READY := .venv/.set-up
SHELL_FILES = $(filter-out .ci/packages,$(wildcard .ci/*)) bench/run $(shell find bench/ examples/ tests/ -name '*.sh' -not -path 'tests/golden/*' -not -path 'tests/convert/*')
# Empty assignments, `A && B || break`, words that a list is split into (globbing is off), `export "$$1"` of a
# NAME=value, and `ulimit -l`, which is not in POSIX but in every shell that the wrapper is tested under, are meant.
WRAPPER = --shell=sh --exclude=SC1007,SC2015,SC2086,SC2163,SC3045

.PHONY: demo test test-fast test-sandbox lint wheel bench setup clean
.DELETE_ON_ERROR:

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/hello-mpi/demo.sh

test: test-fast test-sandbox

# Plans, scripts and everything else that needs no Slurm. Some wait for sshd or a server: three go at once.
test-fast: $(READY)
	@.ci/tier "fast tests" 25m $(BIN)/pytest -q -m 'not sandbox' -n 3 --dist loadfile

# Rendered scripts run under a real Slurm, which the tests start and end. They wait for it most of the time, so
# three go at once, each with clusters of its own.
test-sandbox: $(READY)
	@.ci/tier "sandbox tests" 30m $(BIN)/pytest -q -m sandbox -n 3 --dist loadfile

lint: SHELL := /bin/bash
lint: .SHELLFLAGS := -o pipefail -c
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	shellcheck $(SHELL_FILES)
	$(BIN)/python -c 'from hpclaunch.rank import *; print(wrapper_text([each for _, needed in PARTS for each in needed]))' | \
	  shellcheck $(WRAPPER) -
	for text in 'launcher_text(["mpi=openmpi", "hosts=", "ssh="])' 'launcher_text(["hosts=", "ssh="])' 'launcher_text(["mpi=none"], True)' 'stage_in_text()' 'worker_text(["kit="])' 'read("pod/inside", "run")'; do \
	  $(BIN)/python -c "from hpclaunch.rank.pod import *; print($$text)" | shellcheck $(WRAPPER),SC2034,SC2154 - || exit; done

wheel: $(READY)
	$(BIN)/python -m build --wheel

# Ratios within one run; see bench/.
bench: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" bench/run

setup: $(READY)

$(READY): pyproject.toml hatch_build.py .ci/packages .ci/set-up .ci/install-packages
	@.ci/set-up
	@touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
