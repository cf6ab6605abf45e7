# `make run` runs a study, `make test` runs the tests. Variables:
#   STUDY=studies/NAME.toml  the study that `make run` runs; none: quickstart.toml, or
#                            quickstart-native.toml where OkHttp and Cronet cannot be installed
#   QUICK=1                  six blocks only, the fewest for a verdict
#   SEED=7                   another seed, which gives other losses
#   JOBS=1                   one cell at a time instead of two, and in `make conformance` one driver;
#                            `make run` then takes about 9 minutes
#   STACKS="rust curl"       the stacks that `make conformance` checks; none: all
#   FUZZ_SECONDS=600         how long `make fuzz` fuzzes each parser; none: 2, built without optimisation
#   OPERATIONS=10000         how often `make sanitize` calls each interface under each sanitizer; none: 1000000
#   SERVERS=nginx,caddy      the servers of `make interop`; none: all. CHECKS, PROTOCOLS and CLIENTS select, too
#                            (interop/README.md)
#   SYSTEM=--system          installs Debian packages that stacks need without asking (needs root)

CARGO ?= cargo
STUDY ?=
QUICK ?=
SEED ?=
JOBS ?= 2
STACKS ?=
FUZZ_SECONDS ?=
OPERATIONS ?=
SERVERS ?=
CHECKS ?=
PROTOCOLS ?=
CLIENTS ?=
SYSTEM ?=
CODECS = rust jvm go mono python perl
COMMA = ,
TARGET = $(or $(CARGO_TARGET_DIR),target)
OPTIONS = --jobs $(JOBS) $(if $(QUICK),--quick) $(if $(SEED),--seed $(SEED))
OKHTTP = stacks/jvm/build/installed
CRONET = stacks/cronet/build/libshim.so
# What tests start and load. Built for all packages at once: features, and so what is shared, depend on which are.
BUILD = $(CARGO) build --workspace --lib --bins --examples
PYTHON_TESTS = stacks/python/.venv/bin/python3 -m unittest discover -s
INTEROP = $(TARGET)/debug/interop run --commute $(TARGET)/debug/commute
SELECTION = $(if $(SERVERS),--servers $(SERVERS)) $(if $(CHECKS),--checks $(CHECKS)) \
	$(if $(PROTOCOLS),--protocols $(PROTOCOLS)) $(if $(CLIENTS),--clients $(CLIENTS))

S3_VERSION = 1.8.0
S3 = $(TARGET)/tools/versitygw-$(S3_VERSION)/versitygw
VALE_VERSION = 3.21.0
VALE = $(TARGET)/tools/vale-$(VALE_VERSION)/vale
SPHINX = $(TARGET)/tools/sphinx/bin/sphinx-build
RECOMPUTE = $(TARGET)/tools/recompute
# Names of folders that builds and runs make, and of files with prose.
MADE = -name build -o -name node_modules -o -name runs -o -name target -o -name __pycache__
PROSE = -name '*.md' -o -name '*.rs' -o -name '*.go' -o -name '*.java' -o -name '*.cs' -o -name '*.h' -o -name '*.py'

# A binary that CARGO_TARGET_DIR puts elsewhere than target/ does not use the checkout unless it is named.
run codecs conformance doctor: export COMMUTE_HOME = $(CURDIR)

.PHONY: run test test-a-to-l test-m-to-r test-s-to-z apps codecs conformance remote interop interop-short interop-build okhttp android maven-lists client-packages client-alone generated answers mutants findings lint prose subjects site deny notices advisories fuzz sanitize kills slurm kubernetes control-plane bench scale size doctor stacks build clean recompute

run: build stacks apps
	@study=$(STUDY); \
	if [ -z "$$study" ]; then \
		study=studies/quickstart.toml; \
		[ -e $(OKHTTP) ] && [ -e $(CRONET) ] || study=studies/quickstart-native.toml; \
	fi; \
	set -x; $(TARGET)/release/commute run $$study $(OPTIONS)

build:
	$(CARGO) build --release --package commute

# The tests run the real binary and other crates' examples, e.g. the hostile driver, so they are built first.
test: stacks
	@stacks/go/install || echo "stacks/go: not installed (see above); the test of its server will skip"
	@stacks/envoy/install || echo "stacks/envoy: not installed (see above); its test will skip"
	@npm ci --silent --prefix crates/shared/testing/axe || echo "axe-core: not installed; the tests of accessibility will skip"
	$(BUILD)
	$(CARGO) test --workspace --no-run
	$(CARGO) test --workspace $(ALONE)
	$(MAKE) --jobs 3 --output-sync=target test-a-to-l test-m-to-r test-s-to-z
	$(CARGO) test --workspace --doc

# Test programs mostly wait, so three are run at a time, but for those that compare times with physics or judge how busy
# the machine is, and the one that starts as many processes as all drivers may have.
ALONE = --test 'con*' --test 'do*' --test 'n*'

test-a-to-l:
	$(CARGO) test --workspace --test '[abe-l]*' --test 'c[!o]*' --test 'co[!n]*' --test 'd[!o]*'

test-m-to-r:
	$(CARGO) test --workspace --test '[mo-r]*'

test-s-to-z:
	$(CARGO) test --workspace --lib --bins --examples --test '[s-z]*'

# Never fails: without Python, the libcurl arms are unsupported cells that say so.
stacks:
	@stacks/curl/install || echo "stacks/curl: not installed (see above); its arms will be unsupported cells"

# OkHttp (with and without commute's client), gRPC-OkHttp and Cronet. Never fails, and gives up after a minute each.
apps:
	$(CARGO) build --release --package commute-client-jvm
	@timeout 60 stacks/jvm/install || echo "stacks/jvm: not installed (see above)"
	@timeout 60 stacks/cronet/install || echo "stacks/cronet: not installed (see above)"

# Checks that every language's codecs decode what every other's encode, to the same value. Before
# that, runs the unit tests of the code in Go and Python.
codecs:
	$(BUILD)
	$(TARGET)/debug/commute stacks install $(CODECS) $(SYSTEM)
	cd stacks/go && go test ./...
	$(PYTHON_TESTS) stacks/python/tests
	$(PYTHON_TESTS) stacks/python-engine/tests
	$(TARGET)/debug/commute codec --check --runtime $(subst $() $(),$(COMMA),$(CODECS))

# Runs the conformance suite on drivers and compares the results with docs/stacks-matrix.
conformance:
	$(BUILD)
	$(TARGET)/debug/commute stacks install $(STACKS) $(SYSTEM)
	$(TARGET)/debug/commute stacks check $(STACKS) --jobs $(JOBS) --expect docs/stacks-matrix

# Runs studies into a real S3 server, versitygw, from several machines (docs/how-to/many-machines.md).
remote: $(S3)
	$(BUILD)
	COMMUTE_S3_SERVER=$(abspath $(S3)) $(CARGO) test --workspace --test s3 -- --ignored

$(S3):
	GOBIN=$(abspath $(@D)) go install -trimpath -ldflags='-s -w' github.com/versity/versitygw/cmd/versitygw@v$(S3_VERSION)

# Runs the client against other servers, and commute serve against other clients (interop/README.md). A whole run
# writes docs/interop.md. Fails if a cell fails.
interop: interop-build
	$(INTEROP) --json target/interop/results.jsonl $(SELECTION) $(if $(strip $(SELECTION)),,--page docs/interop.md)

# nginx, Go and Node only, and of the checks the quick ones.
interop-short: interop-build
	$(INTEROP) --short

interop-build:
	$(BUILD)
	@mkdir -p target/interop && rm -f target/interop/results.jsonl

# Compares OkHttp with and without the engine, in three versions of OkHttp.
okhttp:
	bindings/okhttp/test

# Compiles the binding for Android against Android's classes, and tests what can be without a device.
android:
	bindings/android/check

# Builds the client's packages without optimisation (release/client/build), and a sample app with each.
client-packages:
	PROFILE=dev DIST=$(abspath $(TARGET))/client-packages/dist release/client/build
	COMMUTE_CLIENT_PACKAGES=$(abspath $(TARGET))/client-packages/dist \
		$(CARGO) test --workspace --test packages -- --ignored

# Copies the client and what it needs into a folder without the lab, and builds and tests it there.
client-alone:
	release/client/alone $(abspath $(TARGET))/client-alone

# Writes the hashes of all that Maven loads in its four builds (stacks/maven/verified), after a change to a pom.xml.
# Downloads 350 MB, and takes ten minutes.
maven-lists:
	rm -rf stacks/jvm/build
	COMMUTE_MAVEN_RECORD=1 stacks/jvm/install
	COMMUTE_MAVEN_RECORD=1 bindings/okhttp/test
	COMMUTE_MAVEN_RECORD=1 bindings/android/check
	COMMUTE_MAVEN_RECORD=1 PROFILE=dev DIST=$(abspath $(TARGET))/client-packages/dist release/client/build
	git diff --stat -- '*/maven.sha256'

# Regenerating the committed code must change nothing.
generated:
	stacks/codegen/generate --check

# Compares what the client makes of generated responses with what they are, with other seeds than the gate.
answers:
	COMMUTE_SEED=$$(date +%s) COMMUTE_CASES=50000 $(CARGO) test -p commute-client --test generated -- --nocapture
	COMMUTE_SEED=$$(date +%s) COMMUTE_CASES=5000 $(CARGO) test -p commute-client-c --test generated -- --nocapture

# Runs cargo-mutants on the client and lists the mutants that no test catches. SHARD=3/40 does a fortieth.
mutants:
	cargo mutants --version >/dev/null 2>&1 || $(CARGO) install cargo-mutants --locked
	$(CARGO) mutants --package commute-route --package commute-h3 --package commute-client \
		--package commute-client-jvm --output $(TARGET) $(if $(SHARD),--shard $(SHARD))

# Makes the pages of findings/ from the claims, published figures and kept values there.
findings:
	$(CARGO) run --quiet --bin commute -- findings

# Recomputes the figures of findings/ with NumPy and SciPy, by other code, and compares them with the pages. Then
# changes copies of the pages and of the values, and fails if a change is not found. Takes ten seconds.
recompute: $(RECOMPUTE)/installed
	$(RECOMPUTE)/bin/python3 findings/recompute/recompute.py
	$(RECOMPUTE)/bin/python3 findings/recompute/recompute.py --self-test

$(RECOMPUTE)/installed: findings/recompute/requirements.txt
	python3 -m venv --clear $(RECOMPUTE)
	$(RECOMPUTE)/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
		--requirement findings/recompute/requirements.txt
	@touch $@

lint:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --all --check --manifest-path fuzz/Cargo.toml
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# Checks the words of docs and comments (docs/style) with Vale, and the blocks of code in docs. Vale is built once, in
# about a minute and a half of CPU time, and then takes ten seconds.
prose: $(VALE)
	$(VALE) --output=line $$(find . -name '.?*' -prune -o \( $(MADE) \) -prune -o -path ./crates/lab/findings/tests -prune \
		-o -path ./crates/lab/report/tests/golden -prune -o -type f \( $(PROSE) \) -print)
	docs/style/check-blocks

$(VALE):
	GOBIN=$(abspath $(@D)) go install -trimpath -ldflags='-s -w' github.com/vale-cli/vale/v3/cmd/vale@v$(VALE_VERSION)

# Checks that the subjects of the last commits have at most 72 characters.
subjects:
	@git log -100 --no-merges --format='%h %s' | awk 'length($$0) > length($$1) + 73 { print "longer than 72: " $$0; bad = 1 } END { exit bad }'

# Builds the documentation as a site, target/site/docs/README.html. Links and anchors that do not resolve fail, and so do
# pages that no table of contents names.
site: $(SPHINX)
	$(SPHINX) --quiet --fail-on-warning --keep-going --fresh-env --jobs 2 --conf-dir docs/site \
		--doctree-dir $(TARGET)/doctrees . $(TARGET)/site

$(SPHINX): docs/site/requirements.txt
	python3 -m venv --clear $(TARGET)/tools/sphinx
	$(TARGET)/tools/sphinx/bin/pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt
	@touch $@

# Checks the licences and sources of all dependencies, and that none is banned (deny.toml).
deny:
	$(CARGO) deny check licenses bans sources

# Checks that there is a licence text of everything that is linked into the command and the two libraries, and that what
# is packed has these texts.
notices:
	release/check-notices

# Checks all dependencies against the RustSec advisories, which are fetched from GitHub. A check by hand elsewhere, with
# a copy of the database, changes the two dates in .ci/allowed-skips.
advisories:
	$(CARGO) deny check advisories

# Fuzzes every parser with coverage feedback and AddressSanitizer, beginning with the inputs in fuzz/corpus. Builds
# everything a second time. `make test` runs the same targets in the ordinary build (crates/fuzz-targets).
fuzz:
	fuzz/run $(if $(FUZZ_SECONDS),--release $(FUZZ_SECONDS),2)

# Calls the C and JNI interfaces at random from several threads, under AddressSanitizer and ThreadSanitizer. Builds
# everything twice more.
sanitize:
	fuzz/sanitize $(OPERATIONS)

# Ends a run, its bench or its driver at 60 moments, with two cells at a time, and resumes the run: no cell is lost, doubled
# or recorded by half. `make test` does it seven times.
kills:
	COMMUTE_KILLS=60 COMMUTE_KILLS_JOBS=2 $(CARGO) test -p commute --test kills -- --nocapture

# Runs the array job on a Slurm of its own, kills and requeues a task, and compares the cells with those of a run without
# Slurm. Needs the Debian packages munge and slurm-wlm. Takes six to eight minutes.
slurm: build
	deploy/slurm/test $(TARGET)/release/commute

# Renders the manifests for Kubernetes, decodes them strictly and runs their script, also through an eviction. Runs commute
# with their privileges, and without each of them. Needs root and runc.
kubernetes: build
	cd deploy/kubernetes/check && go vet ./... && COMMUTE=$(abspath $(TARGET))/release/commute go test -count=1 -v ./...

# Has a control plane of Kubernetes, built from its Go modules, run the manifests: the API server, the controllers and the
# scheduler, with nodes that are objects only. The first build takes six minutes of CPU time, the test 20 seconds.
control-plane:
	deploy/kubernetes/control-plane/build $(TARGET)/tools/control-plane
	cd deploy/kubernetes/check && CONTROL_PLANE=$(abspath $(TARGET))/tools/control-plane \
		go test -count=1 -v -run TestAControlPlane ./...

# Measures the link's accuracy and capacity (docs/explanation/link-accuracy.md), then the server under load and reports on
# a million requests.
bench:
	$(CARGO) bench -p commute-explain --bench walk
	$(CARGO) bench -p commute-pump --bench link
	$(CARGO) run --release -p commute-server --example abuse
	$(CARGO) bench -p commute --bench scale

# Plans a million cells and reports on a hundred million synthetic requests, and prints time and memory
# (docs/explanation/many-machines.md). Fails beyond 10 s and 1 GB, or 10 minutes and 4 GB. Needs two cores.
scale:
	$(CARGO) bench -p commute --bench scale -- --full

# The sizes of the client as apps would ship it; fails if one is 5 % above what docs/reference/client-limits.md says.
size:
	crates/client/client-size/measure --check

doctor: build
	$(TARGET)/release/commute doctor

clean:
	$(CARGO) clean
	rm -rf fuzz/target runs stacks/*/.venv stacks/*/build bindings/okhttp/*/target
