# agentjob
#
#   make demo    build everything, then do the main job three times over a socket: Python, C, Rust
#                against the emulator, or: make demo JOB=job_123 with AGENTJOB_BASE_URL, AGENTJOB_API_KEY, AGENTJOB_PROJECT_ID
#   make test    what to run after every change: Rust, C, C++, Python, the vectors through all three, the README's examples
#   make check   what must pass before a change lands: make test, and installing, packaging, types, the C ABI from other languages,
#                memory, the journal's model, and what a message costs
#   make faults  the proof of the delivery verdict and of the journal: 20,000 messages through every fault, and a batch that is killed
#                at every step, hundreds of times, against the ledger
#   make bench   the race against the peers on this machine, which writes tests/bench/RESULTS.md (QUICK=1: a first look)
#   make help    this text, and the parts
#
# Needs a Rust toolchain, a C and C++ compiler, make and Python 3.9 or newer. The rest is set up below `build/`.

PYTHON  ?= python3
CARGO   ?= cargo
CC      ?= cc
BUILD   := $(CURDIR)/build
TARGET  := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
VENV    := $(BUILD)/venv
BIN     := $(VENV)/bin
SHARED  := $(TARGET)/release/libagentjob.so
EMULATOR := $(TARGET)/debug/agentjob-emulator
CORES   := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# What is tested does not depend on who tests it.
ifeq ($(filter demo,$(MAKECMDGOALS)),)
unexport AGENTJOB_BASE_URL AGENTJOB_API_KEY AGENTJOB_API_KEY_FILE AGENTJOB_PROJECT_ID AGENTJOB_TIMEOUT AGENTJOB_CA_FILE AGENTJOB_LOG
unexport PYTHONUNBUFFERED
endif

.PHONY: help demo test check test-rust test-c test-install test-memory test-model test-python test-vectors test-readme test-types test-packaging
.PHONY: test-wheels
.PHONY: wheels check-wheels gallery faults bench bench-check sizes fmt lint clean

help:
	@sed -n '3,13s/^# \{0,1\}//p' Makefile
	@echo "  test's parts:  $(TEST_PARTS)"
	@echo "  check's parts: these and $(CHECK_PARTS)"
	@echo "  besides:       library wheels lint fmt clean"

demo: $(BUILD)/wheel.stamp library
	$(CARGO) build --quiet --release -p agentjob-core --example follow_up
	PATH="$(BIN):$$PATH" TARGET="$(TARGET)" BUILD="$(BUILD)" CC="$(CC)" JOB="$(JOB)" bash tests/demo.sh

# Each part alone is a target, too. The table at the end says what ran, what was skipped, and how long it took.
TEST_PARTS := sizes test-rust test-c test-python test-vectors test-readme
CHECK_PARTS := test-install test-types test-memory test-model gallery test-packaging test-wheels bench-check
test:
	@MAKE="$(MAKE)" $(PYTHON) tests/parts.py $(TEST_PARTS)
check:
	@MAKE="$(MAKE)" $(PYTHON) tests/parts.py $(TEST_PARTS) $(CHECK_PARTS)

# One selection for everything that is built to be tested: with another one, cargo would build the crates below it again. Most Rust
# tests wait more than they work, so several run at a time.
DEV := --workspace --exclude agentjob-python --features agentjob-emulator/tls
test-rust:
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-8} $(CARGO) test $(DEV)

test-c: library emulator
	$(MAKE) -j $(CORES) -C tests/c check LIBDIR="$(TARGET)/release" EMULATOR="$(EMULATOR)" OUT="$(BUILD)/c" CC="$(CC)"

# A C and a C++ program, built and run four ways from an installed tree, which is then moved.
test-install: library emulator
	$(MAKE) -C ffi-c check-install EMULATOR="$(EMULATOR)"

# The C programs under valgrind and the sanitizers; what is not installed is a visible skip.
test-memory: MEMORY := -C tests/c LIBDIR="$(TARGET)/debug" EMULATOR="$(EMULATOR)" OUT="$(BUILD)/c-debug" CC="$(CC)"
test-memory: emulator
	$(MAKE) -s -j $(CORES) $(MEMORY) build
	$(MAKE) $(MEMORY) check-valgrind check-sanitize check-threads

# The batch's journal as a model, explored to its last state, and each mistake that it must not make; without spin a visible skip.
test-model:
	CC="$(CC)" tests/model/check.sh

# With the wheel of this machine's own linker, which `make demo` built.
test-python: $(BUILD)/wheel.stamp
	$(BIN)/python -m pytest -q -rs -n 6 tests/python

# With the wheels that ship, on every Python that is here: another linker makes another module.
ifeq ($(shell uname -s),Linux)
test-wheels: wheels
	$(PYTHON) tests/packaging/interpreters.py --dist "$(BUILD)/dist" --build "$(BUILD)/pythons"
else
test-wheels:
	@echo "SKIPPED: the wheels that ship are built on Linux"
endif

# What type checkers see of the installed package: the stub is the module's, no exceptions listed, and every public name has a type.
# Modules with an underscore are nobody's interface.
ifeq ($(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 10))'),False)
test-types:
	@echo "SKIPPED: the type checkers need Python 3.10 or newer; set PYTHON=…"
else
test-types: $(BUILD)/types.stamp
	cd "$(BUILD)/types" && venv/bin/python -m mypy.stubtest agentjob
	cd "$(BUILD)/types" && PATH="$$PWD/venv/bin:$$PATH" pyright --verifytypes agentjob --ignoreexternal
	"$(BUILD)/types/venv/bin/mypy" --strict --cache-dir "$(BUILD)/types/cache" python/agentjob/__init__.py python/agentjob/[a-z]*.py
endif

# The wheels and the sdist as a user meets them: what they hold, where they run, and pip install from a clone and from the sdist.
test-packaging: wheels
	$(PACKAGING) tests/packaging

# For wheels from elsewhere: make check-wheels DIST=folder PLATFORMS=all fails unless every wheel of a release is there.
PLATFORMS ?= here
check-wheels: $(BUILD)/packaging.stamp
	$(PACKAGING) tests/packaging/test_wheels.py --platforms "$(PLATFORMS)"

test-vectors: library emulator $(BUILD)/wheel.stamp
	mkdir -p "$(BUILD)/c"
	$(CC) -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -pthread -Iinclude tests/drivers/c/driver.c -o "$(BUILD)/c/driver" \
		-L"$(TARGET)/release" -Wl,-rpath,"$(TARGET)/release" -lagentjob
	$(PYTHON) tests/vectors/run.py --emulator "$(EMULATOR)" --driver rust="$(TARGET)/debug/agentjob-driver-rust" \
		--driver c="$(BUILD)/c/driver" --driver python="$(BIN)/python tests/drivers/python/driver.py"

test-readme: library emulator $(BUILD)/wheel.stamp
	$(PYTHON) tests/readme.py --python "$(BIN)/python" --emulator "$(EMULATOR)" --target "$(TARGET)"

# The C ABI from nine other languages: installs what it can, and says what it skips.
gallery: library emulator
	$(PYTHON) tests/drivers/gallery.py --emulator "$(EMULATOR)" --library "$(SHARED)" --build "$(BUILD)/gallery"

SENDS ?= 20000
faults:
	$(CARGO) build --quiet --release -p agentjob-faults
	$(CARGO) run --quiet --release -p agentjob-faults -- $(SENDS)

# The race against the peers writes tests/bench/RESULTS.md; those that are not there are named and left out. QUICK=1 is a first look
# and writes below build/bench/quick; SECTIONS=warm,tls does these alone and keeps the rest.
BENCH := $(BUILD)/bench
BENCH_RUST := cd tests/bench/rust && CARGO_TARGET_DIR="$(BENCH)/target" $(CARGO) build --quiet --release --locked
bench: library bench-c $(BUILD)/wheel.stamp
	$(CARGO) build --quiet --release -p agentjob-emulator --features tls
	$(BENCH_RUST) --features peers
	mkdir -p "$(BENCH)/rust" && cp $(foreach program,raw core reqwest ureq_stock fixed batch,"$(BENCH)/target/release/$(program)") "$(BENCH)/rust"
	@rm -f "$(BENCH)/c/libcurl"; $(CC) -O2 -pthread tests/bench/c/libcurl.c -o "$(BENCH)/c/libcurl" -lcurl 2>/dev/null || \
		echo "SKIPPED: libcurl has no headers here (libcurl4-openssl-dev)"
	$(PYTHON) tests/bench/peers.py "$(BENCH)" "$(BUILD)"/wheels/agentjob-*.whl
	$(PYTHON) tests/bench/bench.py --emulator "$(TARGET)/release/agentjob-emulator" --library "$(SHARED)" \
		--wheel "$(BUILD)"/wheels/agentjob-*.whl --build "$(BENCH)" $(if $(QUICK),--quick --results "$(BENCH)/quick/results.json") \
		$(if $(SECTIONS),--sections $(SECTIONS))

# What does not depend on the machine's mood, against tests/bench/ceilings.json; BLESS=1 writes today's figures there.
bench-check: library emulator bench-c $(BUILD)/wheel.stamp
	$(BENCH_RUST) --bin core
	mkdir -p "$(BENCH)/check" && cp "$(BENCH)/target/release/core" "$(BENCH)/check"
	@rm -f "$(BENCH)/c/count_allocations.so"; $(CC) -O2 -shared -fPIC tests/bench/c/count_allocations.c \
		-o "$(BENCH)/c/count_allocations.so" 2>/dev/null || true
	$(PYTHON) tests/bench/check.py --emulator "$(EMULATOR)" --library "$(SHARED)" --wheel "$(BUILD)"/wheels/agentjob-*.whl \
		--python "$(BIN)/python" --build "$(BENCH)" $(if $(BLESS),--bless)

.PHONY: bench-c
bench-c: library
	@mkdir -p "$(BENCH)/c"
	$(CC) -O2 -pthread -Iinclude tests/bench/c/agentjob.c -o "$(BENCH)/c/agentjob" -L"$(TARGET)/release" -Wl,-rpath,"$(TARGET)/release" -lagentjob

# What ships has a ceiling: 2.25 MB for the library, 1.75 MB for the wheel.
sizes: library $(BUILD)/wheel.stamp
	@set -e; check() { size=$$(wc -c < "$$1"); echo "$$1: $$size bytes, at most $$2"; test "$$size" -le "$$2"; }; \
	check "$(SHARED)" 2250000; check "$$(ls $(BUILD)/wheels/agentjob-*.whl)" 1750000

# The library with the name that programs look for at run time (its soname).
.PHONY: library emulator
library:
	@$(MAKE) -s -C ffi-c build
	@ln -sf libagentjob.so "$(TARGET)/release/libagentjob.so.0"
emulator:
	$(CARGO) build --quiet $(DEV)

$(BUILD)/venv.stamp: tests/python/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "agentjob needs Python 3.9 or newer; set PYTHON=…"; exit 1; }
	@$(PYTHON) -m venv "$(VENV)" || { echo "$(PYTHON) -m venv does not work here; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt
	@touch $@

# What goes into the wheel: it is built anew whenever one of these is newer.
PACKAGE := Cargo.toml Cargo.lock pyproject.toml README.md $(shell find core/src python tests/emulator/src \
		-name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name Cargo.toml -o -path '*/completions/agentjob.*')
$(BUILD)/wheel.stamp: $(BUILD)/venv.stamp $(PACKAGE)
	rm -rf "$(BUILD)/wheels"
	$(BIN)/maturin build --quiet --release --locked --out "$(BUILD)/wheels"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall "$(BUILD)"/wheels/agentjob-*.whl
	@touch $@

# The type checkers have a place of their own: no test of ours is to find them by accident.
$(BUILD)/types.stamp: $(BUILD)/wheel.stamp tests/types/requirements.txt
	$(PYTHON) -m venv "$(BUILD)/types/venv"
	$(BUILD)/types/venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/types/requirements.txt
	$(BUILD)/types/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall \
		"$(BUILD)"/wheels/agentjob-*.whl
	@touch $@

$(BUILD)/packaging.stamp: tests/packaging/requirements.txt
	$(PYTHON) -m venv "$(BUILD)/packaging/venv"
	$(BUILD)/packaging/venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/packaging/requirements.txt
	@touch $@

# The wheels that are published, for this processor and every Linux with glibc 2.17 (2014) or newer: zig links them, so this
# machine's own glibc does not count. No interpreter need be here, maturin knows them by name. The free-threaded ones come apart:
# asked for together, 3.15t's stable ABI would win, and the wheel for 3.9 would be for 3.9 alone.
#
# zig would link an unwinder of its own (LLVM's libunwind) into the module. CPython up to 3.13 ends a daemon thread with pthread_exit,
# which unwinds by the system's libgcc_s, and one unwinder in another's frames is a segmentation fault. So the module takes libgcc_s,
# too, which every Linux with glibc has, and which is what a linker other than zig does by itself.
DIST ?= $(BUILD)/dist
PACKAGING := PATH="$(BUILD)/packaging/venv/bin:$$PATH" CARGO_TARGET_DIR="$(BUILD)/packaging/target" \
	python -m pytest -q -rs -p no:cacheprovider --dist "$(DIST)"
MATURIN := PATH="$(BUILD)/packaging/venv/bin:$$PATH" CARGO_TARGET_DIR="$(BUILD)/packaging/target" \
	maturin build --quiet --release --locked --zig --compatibility manylinux_2_17 --out "$(BUILD)/dist"
UNWINDER = -- -C link-arg="$(shell $(CC) -print-file-name=libgcc_s.so.1)"
ifeq ($(shell uname -s),Linux)
wheels: $(BUILD)/dist.stamp
else
wheels: $(BUILD)/packaging.stamp
	@echo "SKIPPED: make wheels builds manylinux wheels, on Linux; .github/workflows/wheels.yml builds the others"
endif
$(BUILD)/dist.stamp: $(BUILD)/packaging.stamp $(PACKAGE) Makefile
	rm -rf "$(BUILD)/dist"
	$(MATURIN) --interpreter python3.9 $(UNWINDER)
	$(MATURIN) --interpreter python3.14t --interpreter python3.15t $(UNWINDER)
	@ls -l "$(BUILD)/dist"
	@touch $@

fmt:
	$(CARGO) fmt --all

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

clean:
	rm -rf "$(BUILD)"
	$(CARGO) clean
