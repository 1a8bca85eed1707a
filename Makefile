# Two commands for a new machine: `make demo` and `make test`. Both set up what they need.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# Processes of pytest: one for each processor, and one for the tests of the device, which wait most of the time.
TEST_PROCESSES ?= $(shell expr $$(nproc) + 1)
VENV := .venv
BIN := $(VENV)/bin
# A stamp is newer than what it was made from.
STAMPS := $(VENV)/.stamps
# Modules are compiled when they are first imported, which most never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes
PYTHON_SOURCES := python papers crosscheck tests docs benches packaging examples fuzz
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
CARGO := cargo --locked
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Of `make wheels`: Rust's names.
WHEELS := $(foreach library,gnu musl,$(foreach machine,x86_64 aarch64,$(machine)-unknown-linux-$(library)))
# One Cargo profile for all that is tested, so that it shares its crates: .ci/run sets "ci". Without one, Rust's tests have Cargo's
# profile "test", and extension module and sojournd the profile "native"; both build again in seconds.
PROFILE ?=
CHECKED := $(if $(PROFILE),--profile $(PROFILE))
CHECKED_DIR := $(TARGET)/$(or $(PROFILE),debug)
BUILT := --profile $(or $(PROFILE),native)
BUILT_DIR := $(TARGET)/$(or $(PROFILE),native)
# The extension module is selected together with sojournd and with the tests because Cargo gives a shared crate the features that
# all selected packages ask for.
DEVICE := -p sojourn-device -p sojourn-python
NATIVE := $(STAMPS)/native$(addprefix -,$(PROFILE))
# The build of sojournd with DPDK in it, beside the one without.
SOJOURND_DPDK := $(abspath $(TARGET))/dpdk/sojournd

.PHONY: help demo sojournd test web-checked native venv instructions test-service fuzz quick lint types deny sanitize soak mutations docs site bench bench-device web wheel wheels sdist completions deb release format clean system-demo system-test system-fuzz system-service

help:
	@echo 'make demo    five schemes on a home network; prints a conclusion and the path of a report'
	@echo 'make sojournd  the forwarder, which `sojourn shell`, `--world real` and `sojourn doctor` need'
	@echo 'make test    every test, installing what they need'
	@echo 'make test-service  the Debian package under systemd in a virtual machine; as root, some minutes'
	@echo 'make fuzz    algorithms, device, documents and stores under input that a fuzzer chooses, for FUZZ_SECONDS (60)'
	@echo 'make quick   formats, ruff and the rules of the house: what needs no build, in a minute'
	@echo 'make lint    these, clippy and type checks'
	@echo 'make deny    licences, sources and advisories of the crates'
	@echo 'make sanitize  tests and program under the address and thread sanitizers, and Miri; needs a nightly toolchain'
	@echo 'make soak    sojournd under random changes, link failures and kills for SOAK_S (3600) seconds, as root'
	@echo 'make mutations  breaks one equation of each algorithm, and says which tests notice'
	@echo 'make instructions  instructions a packet beside the recorded ones; needs valgrind'
	@echo 'make bench   speed and cost, beside ns-2 and DPDK where they are installed; what a plan costs beside its runs'
	@echo 'make bench-device  sojournd on real packets beside kernel bridge, testpmd (dpdk-dev) and simulator; as root, on a quiet machine'
	@echo 'make docs    regenerate the generated pages'
	@echo 'make site    the documentation site in out/site'
	@echo 'make web     the simulator as a page for the browser, one file: out/web/sojourn.html; needs Node.js and the target wasm32-unknown-unknown'
	@echo 'make wheel   a wheel with sojournd in dist/, for Linux with glibc 2.28 or later'
	@echo 'make wheels  those for every Linux: x86-64 and ARM, glibc and musl'
	@echo 'make sdist   a source distribution in dist/'
	@echo 'make completions  completion for bash, zsh and fish and manual pages, in out/share'
	@echo 'make deb     a Debian package of sojournd in dist/'
	@echo 'make release  what a release needs, checked, in dist/; DRY_RUN=1 prints what is still open'

demo: native
	$(BIN)/sojourn demo $(DEMO_OPTIONS)
	@test -x $(TARGET)/release/sojournd || echo 'For real programs behind an emulated link (`sojourn shell`): make sojournd'

sojournd: system-demo
	$(CARGO) build --release --quiet -p sojourn-device

test: test-rust test-python

test-rust: system-test
	$(CARGO) test --quiet --no-fail-fast $(CHECKED) --workspace --exclude 'sojourn-bench-*'
	$(CARGO) test --quiet $(CHECKED) $(DEVICE) --features sojourn-device/dpdk --test dpdk --test dpdk_cores
	install -D $(CHECKED_DIR)/sojournd $(SOJOURND_DPDK)

test-python: native $(STAMPS)/dev web-checked
	$(CARGO) build --quiet $(BUILT) $(DEVICE) --bin sojournd
	SOJOURN_WASM=$(abspath $(WASM_CHECKED)) SOJOURN_TEST_BROWSER=1 SOJOURND=$(abspath $(BUILT_DIR))/sojournd SOJOURND_DPDK=$(SOJOURND_DPDK) $(BIN)/python -m pytest -q --durations=15 -n $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder tests

# The simulator of the page, whose reports are compared with the native library's: not optimised, which changes no report.
WASM_CHECKED := $(TARGET)/wasm32-unknown-unknown/debug/sojourn_web.wasm

web-checked:
	@.ci/system nodejs wasm32 || echo 'The reports of the page are not compared with those of the native library.'
	@! .ci/system nodejs wasm32 2>/dev/null || CARGO_PROFILE_DEV_DEBUG=0 $(WASM_LINKER) $(CARGO) build --quiet --target wasm32-unknown-unknown -p sojourn-web

test-service: system-service
	$(CARGO) build --release --quiet -p sojourn-device
	packaging/test-vm $(TARGET)/release/sojournd $(abspath $(TARGET))/test-vm

fuzz: system-fuzz native
	fuzz/run

lint: quick types

# What needs a build, or every dependency: clippy, types, licences, and whether the mutations still apply.
types: deny native $(STAMPS)/dev
	$(CARGO) clippy $(CHECKED) --workspace --all-targets --quiet -- -D warnings
	$(BIN)/mypy
	$(BIN)/python tests/mutations/run.py --check

# What needs no build: formats, ruff, and the rules of the house. It installs ruff and pytest alone.
quick: $(STAMPS)/quick
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/python -m pytest -q --noconftest tests/house

deny: $(STAMPS)/dev
	.ci/deny

sanitize: system-test system-fuzz native
	.ci/sanitize

soak: system-test native
	$(CARGO) build --quiet --release -p sojourn-device
	$(BIN)/python tests/device/soak.py --seconds $(or $(SOAK_S),3600)

mutations: native
	$(BIN)/python tests/mutations/run.py

format: $(STAMPS)/dev
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format $(PYTHON_SOURCES)

docs: native
	$(BIN)/python docs/generate.py

# Instructions a packet beside the recorded ones; valgrind counts them.
instructions:
	$(PYTHON) benches/guard.py --brief

bench: $(STAMPS)/dev
	$(MAKE) PROFILE=release native
	$(PYTHON) benches/guard.py
	$(PYTHON) benches/speed.py
	$(PYTHON) benches/cost.py
	$(PYTHON) benches/path.py
	$(BIN)/python benches/plan.py
	$(BIN)/python benches/place.py

bench-device: system-test native
	$(CARGO) build --quiet --release -p sojourn-device --features dpdk
	install -D $(TARGET)/release/sojournd $(SOJOURND_DPDK)
	$(CARGO) build --quiet --release -p sojourn-device
	SOJOURND_DPDK=$(SOJOURND_DPDK) $(BIN)/python benches/device/run.py

site: native $(STAMPS)/dev web
	$(BIN)/python docs/site.py

# The simulator compiled for a page.
WASM := $(TARGET)/wasm32-unknown-unknown/web/sojourn_web.wasm

# Debian's compiler brings no linker for WebAssembly, rustup's does.
WASM_LINKER := $(if $(shell command -v rustup),,CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld)

$(WASM): $(RUST_SOURCES)
	.ci/system nodejs npm wasm32
	$(WASM_LINKER) $(CARGO) build --quiet --profile web --target wasm32-unknown-unknown -p sojourn-web
	touch $@

web/node_modules: web/package-lock.json
	npm ci --prefix web --no-audit --no-fund --silent
	touch $@

web: $(WASM) web/node_modules
	node web/build.mjs $(WASM) out/web/sojourn.html

wheel: native $(STAMPS)/dev
	$(BIN)/python packaging/wheel.py

wheels: native $(STAMPS)/dev
	rustup target add $(WHEELS)
	for target in $(WHEELS); do $(BIN)/python packaging/wheel.py --target $$target; done

sdist: $(STAMPS)/dev
	$(BIN)/python packaging/wheel.py --sdist

completions: native
	$(CARGO) build --release --quiet -p sojourn-device
	$(BIN)/python packaging/wheel.py --beside $(TARGET)/release/sojournd --out out

deb:
	$(CARGO) build --release --quiet -p sojourn-device
	packaging/deb $(TARGET)/release/sojournd

release: wheels sdist deb
	$(BIN)/python packaging/release.py $(if $(DRY_RUN),--dry-run)

clean:
	rm -rf target fuzz/target $(VENV) dist out python/sojourn/_native*.so

# What the machine must have. As root, missing Debian packages are installed; otherwise they are listed.
system-demo:
	@.ci/system python3-venv gcc cargo

system-test:
	@.ci/system python3-venv gcc cargo chromium chromium-driver tshark iproute2 iputils-ping iperf3 curl ethtool strace fish zsh pkg-config libdpdk-dev

system-service:
	@.ci/system gcc cargo qemu-system-x86 mmdebstrap e2fsprogs binutils

system-fuzz:
	@.ci/system g++ cargo

$(VENV)/bin/python: | system-demo
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)

$(STAMPS)/quick: requirements-dev.lock | $(VENV)/bin/python
	awk '/^[a-z]/ { taken = /^(ruff|pytest|pluggy|iniconfig|packaging|pygments)==/ } taken' $< >$@.txt
	$(PIP) -r $@.txt
	touch $@

$(STAMPS)/venv: requirements.lock | $(VENV)/bin/python
	$(PIP) -r requirements.lock
	touch $@

venv: $(STAMPS)/dev

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/venv
	$(PIP) -r requirements-dev.lock
	touch $@

# The compiled module and the command `sojourn`, from the sources in this folder; one profile's replaces another's.
native: $(NATIVE)

$(NATIVE): $(RUST_SOURCES) pyproject.toml README.md $(STAMPS)/dev
	PATH="$(abspath $(BIN)):$$PATH" VIRTUAL_ENV="$(abspath $(VENV))" $(BIN)/maturin develop $(BUILT) --locked --quiet
	rm -f $(STAMPS)/native*
	touch $@
