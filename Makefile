# gluster-ml-agent: `make help` lists what can be done here. All but `help` and `clean` is for root.
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
# What the lab and the tests need of Debian; installed only where it is missing.
PACKAGES := python3-venv glusterfs-server glusterfs-client iproute2 nftables util-linux procps \
	systemd-container debootstrap dbus e2fsprogs logrotate strace
PYTEST := $(BIN)/pytest

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: packages
packages: ## install what the lab needs of Debian, where it is missing
	@dpkg-query -W -f '$${Status}\n' $(PACKAGES) 2>&1 | grep -qv '^install ok installed$$' || exit 0; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PACKAGES)

$(VENV)/.ready: pyproject.toml requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --use-pep517 --constraint requirements.txt \
		--editable '.[dev]'
	touch $@

.PHONY: venv
venv: packages $(VENV)/.ready ## .venv with the agent and the tools for its tests

.PHONY: test
test: lint types unit lab ## all that a commit must pass

.PHONY: lint
lint: venv ## ruff, and the floors of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

.PHONY: types
types: venv ## mypy, strict
	$(BIN)/mypy

.PHONY: unit
unit: venv ## tests without a cluster
	$(PYTEST) tests/unit

.PHONY: lab
lab: venv ## tests on a real cluster, with real systemd hosts
	$(PYTEST) tests/lab tests/system

.PHONY: demo
demo: venv ## real faults and recoveries on a real cluster, told as they happen; 2 minutes
	$(BIN)/python -m tests.demo

.PHONY: bench
bench: venv ## figures against the native tools, with bounds; 20 minutes; docs/benchmarks.md
	$(BIN)/python -m tests.bench

.PHONY: clean
clean: ## remove what the above made in this folder
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find agent tests -name __pycache__ -prune -exec rm -rf {} +
