# gluster-ml-agent: `make help` lists what can be done here. All but `help` and `clean` is for root.
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
# What the lab, the tests and the apt repository need of Debian; installed only where it is missing.
PACKAGES := python3-venv glusterfs-server glusterfs-client iproute2 nftables util-linux procps \
	systemd-container debootstrap dbus e2fsprogs logrotate strace git dpkg-dev reprepro gnupg man-db \
	groff-base mandoc lintian
PYTEST := $(BIN)/pytest

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: packages
packages: ## install what is needed of Debian, where it is missing
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

# The tests in the lab wait more than they work, so two rows of them run beside each other: about
# mounts, and about all else.
ASIDE := $(addprefix tests/system/test_,caches.py client_log.py environment.py layout.py \
	layout_hostile.py purge_script.py sandbox.py unit.py unit_trouble.py)
.PHONY: test
test: lint types ## all that a commit must pass
	@echo "Two rows of tests run beside each other, for half an hour; each tells of its parts when they end."
	$(MAKE) --jobs=2 --output-sync=line about-mounts about-all-else

.PHONY: about-mounts
about-mounts: venv
	$(PYTEST) tests/system $(ASIDE:%=--ignore=%)

.PHONY: about-all-else
about-all-else: venv deb
	$(PYTEST) tests/unit
	$(PYTEST) tests/package --package build/deb/$(RUNNING)/*.deb
	$(PYTEST) $(ASIDE) tests/lab

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

# Ten times what `make unit` makes of it, with other seeds each time; 40 minutes.
.PHONY: soak-retention
soak-retention: venv ## the cleaner against a model of writers, users and crashes: 1,000,000 steps
	MODEL_STEPS=1000000 MODEL_SEEDS="$$(shuf --input-range=1000000-9999999 --head-count=2 | paste -sd' ')" \
		$(PYTEST) -s tests/unit/retention/test_model.py

.PHONY: lab
lab: facts system ## tests on a real cluster, with real systemd hosts

.PHONY: facts
facts: venv ## the lab's own tests, and what GlusterFS, FUSE and systemd really do
	$(PYTEST) tests/lab

.PHONY: system
system: venv ## the whole behaviour of the agent in the lab
	$(PYTEST) tests/system

.PHONY: test-trash
test-trash: venv ## two cleaners at once, the trash on two kinds of volumes; half an hour
	$(PYTEST) -m long tests/unit/retention tests/system/test_trash.py

# What the frameworks need that is not used here is left out: some want versions that exclude each other.
build/frameworks/.ready: tests/frameworks/requirements.txt
	rm -rf build/frameworks
	$(PYTHON) -m venv build/frameworks
	build/frameworks/bin/pip install --quiet --no-cache-dir --constraint $< torch
	build/frameworks/bin/pip install --quiet --no-cache-dir --no-deps --requirement $<
	touch $@

.PHONY: test-frameworks
test-frameworks: venv build/frameworks/.ready ## checkpoints of the frameworks themselves; RECORD=1: for make unit
	$(PYTEST) tests/frameworks

.PHONY: deb
deb: ## the Debian package, in build/deb; RELEASE=trixie or bookworm: in a clean tree of that release
	packaging/deb/deb $(RELEASE)

RUNNING := $(shell . /etc/os-release && echo $$VERSION_CODENAME)

.PHONY: test-package
test-package: venv deb ## the package, installed by apt on fresh hosts of this Debian release
	$(PYTEST) tests/package --package build/deb/$(RUNNING)/*.deb

.PHONY: test-installed
test-installed: venv deb ## what `make lab` tests of the agent, with the package's
	$(PYTEST) tests/system --package build/deb/$(RUNNING)/*.deb

.PHONY: test-trixie
test-trixie: venv deb-trixie ## both on Debian 13, as far as they are about hosts with systemd
	$(PYTEST) tests/package tests/system --release trixie --package build/deb/trixie/*.deb

.PHONY: lock
lock: venv ## pin the libraries that the package bundles, with their hashes
	$(BIN)/pip-compile --quiet --no-header --no-annotate --no-emit-options --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --strip-extras --generate-hashes \
		--constraint requirements.txt --output-file packaging/deb/requirements.txt pyproject.toml
	sed -i '1i # The libraries that the package bundles, at the versions of /requirements.txt; by: make lock' \
		packaging/deb/requirements.txt

.PHONY: demo
demo: venv ## real faults and recoveries on a real cluster, told as they happen; 1 minute
	$(BIN)/python -m tests.demo

.PHONY: bench
bench: venv ## figures against the native tools, with bounds; 20 minutes; docs/benchmarks.md
	$(BIN)/python -m tests.bench

# The Debian releases that `make apt-repo` and `make release` are about.
RELEASES := bookworm trixie
# What `make release` builds, once the version is committed and tagged.
RELEASE_BUILD := $(MAKE) release-build

.PHONY: apt-repo
apt-repo: $(RELEASES:%=build/deb/%) ## a signed apt repository in build/apt, of the packages; KEY=FINGERPRINT
	$(PYTHON) packaging/deb/aptrepo.py --key="$$KEY" $(RELEASES)

# A package that is there is taken as it is; one of another version is refused.
build/deb/%:
	packaging/deb/deb $*

.PHONY: release
release: ## VERSION=0.2.0: commit, tag, build both packages and the repository; KEY=FINGERPRINT
	@test -n "$$KEY" || { echo "release: no KEY=FINGERPRINT, of the key that signs the repository;" \
		"gpg --list-secret-keys shows yours" >&2; exit 1; }
	$(PYTHON) packaging/deb/release.py "$$VERSION" -- $(RELEASE_BUILD)

.PHONY: release-build
release-build: $(RELEASES:%=deb-%)
	$(MAKE) apt-repo

deb-%:
	$(MAKE) deb RELEASE=$*

.PHONY: clean
clean: ## remove what the above made in this folder
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find agent tests -name __pycache__ -prune -exec rm -rf {} +
