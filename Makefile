# `make test` and `make demo` each work alone on a machine with nothing but Python 3.11 or newer (with venv) and make:
# the first run makes .venv, later runs need no network.

BIN := .venv/bin
READY := .venv/ready
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11

.PHONY: test demo clean

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest

demo: $(READY)
	$(BIN)/ctxarc demo

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find ctxarc tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@set -e; \
	for python in $(PYTHONS); do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	            || $$python -m venv --clear .venv; \
	        $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
	        $(BIN)/python -m compileall -q ctxarc; \
	        touch $@; \
	        exit 0; \
	    fi; \
	done; \
	echo 'ctxarc needs Python 3.11 or newer with the venv module (on Debian: apt-get install python3-venv)' >&2; \
	exit 1
