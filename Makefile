# gluster-ml-agent: `make help` lists what can be done here.
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: pyproject.toml requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint requirements.txt --editable '.[dev]'
	touch $@

.PHONY: venv
venv: $(VENV)/.ready ## .venv with the agent and the tools for its tests
