# The one entry: `make run` shows the product, `make test` is what CI runs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# RocksDB takes 20 minutes to compile on 2 cores, and `cargo run` and `cargo test` may want it with other features.
# With ccache's compilers first in PATH the second build is a copy. (Setting CC and CXX would do it too, but Cargo
# notes them, and a build outside make would then start over.)
CCACHE := $(firstword $(wildcard /usr/lib/ccache /usr/lib64/ccache /opt/homebrew/opt/ccache/libexec))
ifneq ($(CCACHE),)
export PATH := $(CCACHE):$(PATH)
endif

# Arguments of the demo, e.g. make run ARGS='--listen 127.0.0.1:9000'.
ARGS ?=
# Restricts `make test`'s tests, e.g. make test-only TESTS=muhash.
TESTS ?=
# Which fuzz target to run and for how long, e.g. make fuzz TARGET=blocks SECONDS=600; all of them otherwise.
TARGET ?=
SECONDS ?= 60
# How the package is compiled: release or dist.
PROFILE ?= release
# How long the soak takes, e.g. make soak MINUTES=600.
MINUTES ?= 60
# Tests that miss something (data, a tool) add their name to this file; the end of the run prints it.
SKIPPED := $(or $(CARGO_TARGET_DIR),target)/skipped-tests.txt
export CAIRN_SKIPPED_FILE := $(abspath $(SKIPPED))

# One profile everywhere: see [profile.release] in Cargo.toml.
CARGO := cargo
FLAGS := --locked --release

.PHONY: help run test lint deny test-only interop package package-check bench fuzz soak setup setup-test

help: ## Shows this list.
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1	/p' $(MAKEFILE_LIST)

setup: ## Installs what the build needs, where it is missing.
	@.ci/install-tools.sh build

setup-test:
	@.ci/install-tools.sh test

run: setup ## Builds Cairn and serves the demo chain (ARGS='--listen …').
	$(CARGO) run $(FLAGS) --bin cairn -- demo $(ARGS)

test: setup-test lint deny test-only ## Formatting, lints, licences and advisories, every test: what CI runs.

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings

deny:
	@.ci/check-dependencies.sh

# The runner's summary stays the last line of a green run, so the skipped tests are named before it.
test-only: setup-test ## Only the tests (TESTS=substring).
	@tests/run.sh $(TESTS)

interop: setup-test ## The clients that we did not write.
	@tests/interop/run.sh

package: setup ## The Debian package, into target/package (PROFILE=dist: smaller, and slower to build).
	@deploy/debian/build.sh target/package $(PROFILE)

package-check: package ## Installs, upgrades and purges the package on a fresh Debian, and runs its image (needs root).
	@tests/interop/package.sh target/package
	@tests/interop/container.sh target/package

bench: setup-test ## The benches (benches/RESULTS.md keeps results; criterion's lie in target/criterion).
	$(CARGO) bench --locked --profile release --workspace --bench mempool --bench overhead --bench decode --bench index --bench inputs --bench onchain --bench labels --bench clusters --bench http --bench pages --bench latency --bench streams --bench alerts --bench wallets --bench risk --bench timestamps --bench access --bench export --bench checkpoint --bench silent_payments
	benches/instructions.sh
	$(CARGO) bench --locked --profile release --workspace --bench side_by_side

fuzz: setup ## Every parser over bytes that libFuzzer finds (TARGET=…; SECONDS=… for each, 60 otherwise).
	@tests/fuzz/guided/run.sh "$(TARGET)" "$(SECONDS)"

soak: setup-test ## An hour of load, reorganizations and kills; memory has to stay flat (MINUTES=…).
	CAIRN_SOAK_MINUTES="$(MINUTES)" $(CARGO) test $(FLAGS) --workspace --test soak -- --nocapture
