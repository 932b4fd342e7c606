# make demo    train a small translator, score it, look inside it
# make test    every test
# make check   ruff and mypy
# make wheel   build the wheel and try it in an empty environment
# make setup   the environment alone: .venv/bin/regard

PYTHON ?= python3
READY := .venv/.ready

.PHONY: setup demo test check wheel clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Regard needs Python 3.11 or later; name one with: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[development]'
	@touch $(READY)

demo: setup
	.venv/bin/regard demo

# Two workers of one thread each: small models gain nothing from a second thread, the suite gains all of it.
test: setup
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist worksteal

check: setup
	.venv/bin/ruff check .
	.venv/bin/mypy

wheel: setup
	.venv/bin/python .ci/try_wheel.py

clean:
	rm -rf .venv demo
