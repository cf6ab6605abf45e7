# Two commands matter: `make run` runs the main job, `make test` passes the tests.

CARGO ?= cargo
STUDY ?= studies/quickstart.toml
QUICK ?=
STACKS ?=
SYSTEM ?=
CODECS = rust jvm go mono python perl
COMMA = ,
TARGET = $(or $(CARGO_TARGET_DIR),target)
BLOCKS = $(if $(QUICK),--quick,)

.PHONY: run test codecs conformance lint bench doctor stacks build clean

run: build stacks
	$(TARGET)/release/commute run $(STUDY) $(BLOCKS)

build:
	$(CARGO) build --release --workspace --bins

# The tests run the real binaries, and a driver that lies (an example), so those are built first.
test: stacks
	$(CARGO) build --workspace --bins --examples
	$(CARGO) test --workspace

# Never fails: where Python is missing, the libcurl arms are unsupported cells that say so.
stacks:
	@stacks/curl/install || echo "stacks/curl: not installed (see above); its arms will be unsupported cells"

# Every language's codecs against every other's: what one writes, all must read to the same value.
# Before that, the tests that lie with the codecs in their own language.
# `SYSTEM=--system`: install the Debian packages they want without asking.
codecs:
	$(CARGO) build --workspace --bins
	$(TARGET)/debug/commute stacks install $(CODECS) $(SYSTEM)
	cd stacks/go && go test ./...
	stacks/python/.venv/bin/python3 stacks/python/test_codecs.py
	$(TARGET)/debug/commute codec --check --runtime $(subst $() $(),$(COMMA),$(CODECS))

# Every driver against its contract, held against what is known of it. `STACKS="rust curl"`: those.
conformance:
	$(CARGO) build --workspace --bins
	$(TARGET)/debug/commute stacks install $(STACKS)
	$(TARGET)/debug/commute stacks check $(STACKS) --expect docs/stacks-matrix

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# The link's exactness and capacity beside its peers', then the server under a crowd.
bench:
	$(CARGO) bench -p commute-pump --bench link
	$(CARGO) run --release -p commute-server --example abuse

doctor: build
	$(TARGET)/release/commute doctor

clean:
	$(CARGO) clean
	rm -rf runs stacks/*/.venv stacks/*/build
