# agentjob
#
#   make demo    builds everything, then sends a message and waits for its job in Python, C and Rust, against the emulator.
#                With AGENTJOB_BASE_URL, AGENTJOB_API_KEY and AGENTJOB_PROJECT_ID set, make demo JOB=job_123 uses your service
#   make test    run this after every change: the house check, the sizes, Rust, C, C++, Python, the vectors in all three languages,
#                the README's examples
#   make check   run this before you propose a change: make test, then documentation, installing, packaging, types, the C ABI from
#                other languages, memory, unsafe blocks, the journal's model, the dependencies, samples of torture and fuzz, the cost of a message
#   make check-platforms   builds for other processors, C libraries and systems, and runs the tests there (not a part of make check)
#   make docs    builds the documentation's site in build/site
#   make faults  proves the delivery verdict and the journal: 20,000 messages through every fault, and batches that are killed
#                at every step, all compared with the emulator's ledger
#   make torture makes each system call of a send, a wait and a batch fail with each of its errors, and with EINTR
#   make fuzz    gives every parser inputs that are made up, guided by coverage, for SECONDS each (60)
#   make mutants makes mistakes in the code that decides, one after the other: each must fail a test
#   make engines kills the workers of Airflow, Celery, Dask and Ray while they send, and says what arrived
#   make bench   races agentjob against other clients on this machine and writes tests/bench/RESULTS.md (QUICK=1: a rough run)
#   make release makes everything that a release consists of in build/release, and uploads nothing (docs/releasing.md)
#   make help    prints this text and the names of the parts
#
# You need Rust (the version is in Cargo.toml), a C and C++ compiler, make, and Python 3.9+. Everything else is installed in build/.

ifneq ($(word 2,$(CURDIR)),)
$(error make works in a folder whose path has no spaces, not in "$(CURDIR)"; pip install . works there)
endif

PYTHON  ?= python3
CARGO   ?= cargo
CC      ?= cc
BUILD   := $(CURDIR)/build
ifneq ($(filter-out /%,$(CARGO_TARGET_DIR))$(word 2,$(CARGO_TARGET_DIR)),)
$(error CARGO_TARGET_DIR must be one absolute path without spaces, not "$(CARGO_TARGET_DIR)")
endif
TARGET  := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
VENV    := $(BUILD)/venv
BIN     := $(VENV)/bin
SHARED  := $(TARGET)/release/libagentjob.so
EMULATOR := $(TARGET)/debug/agentjob-emulator
CORES   := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# HARDENED, the flags of every release build.
ROOT := $(CURDIR)
include ffi-c/hardened.mk

# Tests must not depend on the settings of the person who runs them.
ifeq ($(filter demo,$(MAKECMDGOALS)),)
unexport AGENTJOB_BASE_URL AGENTJOB_API_KEY AGENTJOB_API_KEY_FILE AGENTJOB_PROJECT_ID AGENTJOB_TIMEOUT AGENTJOB_CA_FILE AGENTJOB_CLIENT_CERT AGENTJOB_CLIENT_KEY AGENTJOB_LOG
unexport PYTHONUNBUFFERED
endif

# The parts of make check-platforms.
PLATFORM_PARTS := $(shell sed -n 's/^PARTS := //p' tests/platforms/Makefile)

.PHONY: help demo test check house deny test-rust test-c test-install test-memory test-unsafe test-model test-report test-python test-once test-vectors test-readme test-types test-packaging
.PHONY: test-wheels docs man test-docs check-platforms $(PLATFORM_PARTS:%=check-%)
.PHONY: wheels wheels-for check-wheels gallery faults torture torture-sample fuzz mutants bench bench-check sizes fmt lint clean

help:
	@sed -n '3,20s/^# \{0,1\}//p' Makefile
	@echo "Each part is a target of its own:"
	@echo "  test:   $(TEST_PARTS)"
	@echo "  check:  the parts of test, then $(CHECK_PARTS)"
	@echo "  check-platforms: $(PLATFORM_PARTS:%=check-%)"
	@echo "  others: library man wheels deb check-packages check-release check-oldest-rust lint fmt clean"

demo: $(BUILD)/wheel.stamp library
	$(HARDENED) $(CARGO) build --quiet --release -p agentjob-core --example follow_up
	PATH="$(BIN):$$PATH" TARGET="$(TARGET)" BUILD="$(BUILD)" CC="$(CC)" JOB="$(JOB)" bash tests/demo.sh

# tests/parts.py runs the parts and prints a table at the end: what ran, what was skipped, and how long each part took. It runs a test
# that failed again: `make test-rust ONLY=name` runs one test, and so do test-c, test-python and test-vectors.
TEST_PARTS := house sizes test-rust test-c test-python test-vectors test-readme
CHECK_PARTS := deny docs test-docs test-engines test-install test-types test-once test-report test-memory test-unsafe test-model torture-sample fuzz gallery test-packaging test-wheels bench-check
test check: ONE_PART = $(if $(ONLY),$(error ONLY=… runs one test of one part: make test-rust ONLY=name))
test:
	@$(ONE_PART)MAKE="$(MAKE)" $(PYTHON) tests/parts.py $(TEST_PARTS)
check:
	@$(ONE_PART)MAKE="$(MAKE)" $(PYTHON) tests/parts.py $(TEST_PARTS) $(CHECK_PARTS)

# Everything that these need is downloaded and unpacked in build/platforms. In all they take up to 90 minutes on two cores.
check-platforms $(PLATFORM_PARTS:%=check-%):
	@$(MAKE) --no-print-directory -C tests/platforms $@ PYTHON="$(PYTHON)"

# Seconds, and no build: imports, the map of the repository, citations, links, lengths, words. tests/house/check.py has the rules.
house:
	@$(PYTHON) tests/parts_test.py
	@$(PYTHON) tests/house/self_test.py
	@$(PYTHON) tests/house/check.py

# Licences, duplicate crates, sources and known vulnerabilities, by deny.toml. Building cargo-deny takes longer than most parts of
# `make check`, so this uses an installed one or skips; CI has it. The advisories need a network.
deny:
	@if ! $(CARGO) deny --version >/dev/null 2>&1; then \
		echo "SKIPPED: cargo-deny is not installed (cargo install --locked cargo-deny)"; exit 0; \
	fi; \
	$(CARGO) deny --all-features check licenses bans sources || exit 1; \
	if $(CARGO) deny fetch db >/dev/null 2>&1; then \
		$(CARGO) deny --all-features check advisories; \
	else \
		echo "SKIPPED: the advisories, because their database cannot be fetched"; \
	fi

# One selection of crates and features for everything that tests need: with another one cargo would build the dependencies again.
# Most Rust tests wait more than they compute, so more of them run at a time than there are cores.
DEV := --workspace --exclude agentjob-python --features agentjob-emulator/tls
test-rust:
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-16} $(CARGO) test --no-fail-fast $(DEV) $(if $(ONLY),-- --exact "$$ONLY")

test-c: library emulator
	$(MAKE) -j $(CORES) -C tests/c check LIBDIR="$(TARGET)/release" EMULATOR="$(EMULATOR)" OUT="$(BUILD)/c" CC="$(CC)"

# Installs the C library, moves the installed folder, then builds and runs a C and a C++ program from it in four ways.
test-install: library
	$(MAKE) -C ffi-c check-install

# The C programs under valgrind and the sanitizers. A tool that isn't installed is a visible skip.
test-memory: MEMORY := -C tests/c LIBDIR="$(TARGET)/debug" EMULATOR="$(EMULATOR)" OUT="$(BUILD)/c-debug" CC="$(CC)"
test-memory: emulator
	$(MAKE) -s -j $(CORES) $(MEMORY) build
	$(MAKE) $(MEMORY) check-valgrind check-sanitize check-threads

# Each `unsafe` block of the C library is reached by a program of tests/c.
test-unsafe: emulator
	CC="$(CC)" MAKE="$(MAKE)" $(PYTHON) tests/unsafe/check.py --build "$(BUILD)/unsafe" --emulator "$(EMULATOR)"

# Explores the models of the journal's and of a step's protocol to their last states, and checks that each known mistake is caught. Skips without spin.
test-model:
	CC="$(CC)" tests/model/check.sh

# Uses the wheel that `make demo` built with this machine's linker.
test-python: $(BUILD)/wheel.stamp
	COLUMNS=300 $(BIN)/python -m pytest -q -rsfE $(if $(ONLY),"$$ONLY",-n 8 tests/python)

# The tests of agentjob.once with its steps in PostgreSQL (apt-get install postgresql); without that, each is a visible skip.
test-once: $(BUILD)/wheel.stamp
	COLUMNS=300 $(BIN)/python -m pytest -q -rsfE -n 4 --postgresql $(addprefix tests/python/test_once,.py _workers.py _aio.py _send_all.py _list_ends.py _pace.py)

# Opens the report of a batch in a headless Chromium (apt-get install chromium). Without one, what needs it is a visible skip.
test-report: $(BUILD)/wheel.stamp
	$(BIN)/python -m pytest -q -rsP -p no:cacheprovider tests/report

# Tests the wheels that ship, on every Python found here. They are linked by zig, so they aren't the module that test-python tests.
ifeq ($(shell uname -s),Linux)
test-wheels: wheels
	$(PYTHON) tests/packaging/interpreters.py --dist "$(BUILD)/dist" --build "$(BUILD)/pythons"
else
test-wheels:
	@echo "SKIPPED: the wheels that ship are built on Linux"
endif

# Checks the types of the installed package: the stub matches the module, without exceptions, and every public name has a type.
# Modules whose name begins with an underscore are private and not checked.
ifeq ($(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 10))'),False)
test-types:
	@echo "SKIPPED: the type checkers need Python 3.10 or newer; set PYTHON=…"
else
test-types: $(BUILD)/types.stamp
	cd "$(BUILD)/types" && venv/bin/python -m mypy.stubtest --mypy-config-file "$(CURDIR)/tests/types/mypy.ini" --allowlist "$(CURDIR)/tests/types/allowlist.txt" --ignore-unused-allowlist agentjob
	"$(BUILD)/types/venv/bin/python" tests/types/check.py "$(BUILD)/types"
	"$(BUILD)/types/venv/bin/mypy" --strict --config-file tests/types/mypy.ini --cache-dir "$(BUILD)/types/cache" python/agentjob/__init__.py python/agentjob/[a-z]*.py python/agentjob/_once/*.py python/agentjob/engines/*.py
endif

# Checks the wheels and the sdist: their contents, where they run, and pip install from a clone and from the sdist.
test-packaging: wheels
	$(PACKAGING) tests/packaging

# For wheels that another machine built: make check-wheels DIST=folder PLATFORMS=all fails if a wheel of the release is missing.
PLATFORMS ?= here
check-wheels: $(BUILD)/packaging.stamp
	$(PACKAGING) tests/packaging/test_wheels.py tests/packaging/test_linked.py tests/packaging/test_upload.py --platforms "$(PLATFORMS)"

test-vectors: library emulator $(BUILD)/wheel.stamp
	mkdir -p "$(BUILD)/c"
	$(CC) -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -pthread -Iinclude tests/drivers/c/driver.c -o "$(BUILD)/c/driver" \
		-L"$(TARGET)/release" -Wl,-rpath,"$(TARGET)/release" -lagentjob
	$(PYTHON) tests/vectors/run.py --emulator "$(EMULATOR)" --driver rust="$(TARGET)/debug/agentjob-driver-rust" \
		--driver c="$(BUILD)/c/driver" --driver python="$(BIN)/python tests/drivers/python/driver.py" \
		$(if $(ONLY),--exactly "$$ONLY")

# The adapters in the engines that aren't among the requirements of test-python.
ENGINES := airflow ray
test-engines: $(ENGINES:%=engine-%)
	@for engine in $(ENGINES); do \
		[ ! -d "$(BUILD)/engines/$$engine" ] || \
		"$(BUILD)/engines/$$engine/bin/python" -m pytest -q -rsfE -p no:cacheprovider -n 2 --dist loadfile tests/engines/test_$$engine.py || exit 1; \
	done

# Kills workers of the engines while they send. More than an hour; tests/engines/README.md says what must hold.
KILLED := airflow celery dask ray
KILLS ?= 300
KILL = "$(BUILD)/engines/$(1)/bin/python" tests/engines/kills/run.py --engine $(1) --kills $(KILLS) --results "$(BUILD)/engines/results.json"
engines: $(or $(ENGINE:%=engine-%),$(KILLED:%=engine-%))
	@rm -f "$(BUILD)/engines/results.json"
	@for engine in $(or $(ENGINE),$(KILLED)); do [ ! -d "$(BUILD)/engines/$$engine" ] || for pattern in stock ours; do \
		$(call KILL,$$engine) --pattern $$pattern || exit 1; \
	done; done
	$(if $(filter-out celery,$(ENGINE)),,@[ ! -d "$(BUILD)/engines/celery" ] || $(call KILL,celery) --pattern ours --machines 4)
	$(if $(ENGINE),,$(PYTHON) tests/engines/kills/table.py "$(BUILD)/engines/results.json" tests/engines/RESULTS.md)

# Runs the examples of README.md, and with test-docs those of docs/, as a reader would paste them.
DOCS := $(PYTHON) tests/docs/run.py --emulator "$(EMULATOR)" --target "$(TARGET)" --library "$(BUILD)/docs/dist"
test-readme: library emulator $(BUILD)/wheel.stamp $(BUILD)/docs/dist.stamp
	$(DOCS) --python "$(BIN)/python" README.md
test-docs: docs library emulator $(BUILD)/docs/venv.stamp $(BUILD)/docs/dist.stamp $(ENGINES:%=engine-%)
	$(DOCS) --python "$(BUILD)/docs/venv/bin/python" $(addprefix --python ,$(wildcard $(ENGINES:%=$(BUILD)/engines/%/bin/python)))
	$(BUILD)/docs/venv/bin/python -m pytest -q -rs -p no:cacheprovider tests/docs

# Builds the site in build/site. Doxygen's pages (C) and rustdoc's (Rust) are linked in; without doxygen, C's are left out.
docs: man
	rm -rf "$(BUILD)/site"
	@# Not with --quiet, which would also hide the warnings from mkdocs itself, so that none would end the build.
	NO_MKDOCS_2_WARNING=1 $(BUILD)/docs/venv/bin/python -m mkdocs build
	$(CARGO) doc --quiet --no-deps -p agentjob-core && cp -r "$(TARGET)/doc" "$(BUILD)/site/rust"
	@if command -v doxygen >/dev/null; then cd include && SITE="$(BUILD)/site" doxygen ../tests/docs/Doxyfile; \
		else echo "SKIPPED: the C pages, because doxygen is not installed (apt-get install doxygen)"; fi

# The manual pages of the command line.
man: $(BUILD)/docs/venv.stamp
	rm -rf "$(BUILD)/man"
	$(BUILD)/docs/venv/bin/python python/tools/man.py "$(BUILD)/man"

$(BUILD)/docs/venv.stamp: $(BUILD)/wheel.stamp docs/requirements.txt tests/docs/requirements.txt
	$(PYTHON) -m venv "$(BUILD)/docs/venv"
	$(BUILD)/docs/venv/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt -r tests/docs/requirements.txt
	$(BUILD)/docs/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall "$(BUILD)"/wheels/agentjob-*.whl
	@touch $@
# The engines' requirements contradict each other, so each has an environment of its own: Airflow's and Ray's of 300 MB. What needs one that
# can't be installed is skipped.
.PHONY: engines test-engines $(KILLED:%=engine-%)
$(KILLED:%=engine-%): engine-%: $(BUILD)/wheel.stamp
	@VENV="$(BUILD)/engines/$*"; NEEDS=tests/engines/$*.txt; \
	if [ ! "$$VENV.stamp" -nt "$(BUILD)/wheel.stamp" ] || [ $$NEEDS -nt "$$VENV.stamp" ]; then \
		$(PYTHON) -m venv "$$VENV" && \
		"$$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r $$NEEDS && \
		"$$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall "$(BUILD)"/wheels/agentjob-*.whl && \
		touch "$$VENV.stamp" || { rm -rf "$$VENV"; echo "SKIPPED: $* cannot be installed"; }; \
	fi
$(BUILD)/docs/dist.stamp: library emulator
	@mkdir -p "$(BUILD)/docs"
	$(MAKE) -s -C ffi-c install PREFIX="$(BUILD)/docs/dist" BUILT_EMULATOR="$(EMULATOR)"
	@touch $@

# The C ABI from nine other languages. Installs what it can and reports what it skips.
gallery: library emulator
	$(PYTHON) tests/drivers/gallery.py --emulator "$(EMULATOR)" --library "$(SHARED)" --build "$(BUILD)/gallery"

SENDS ?= 20000
faults:
	$(HARDENED) $(CARGO) build --quiet --release -p agentjob-faults
	$(HARDENED) $(CARGO) run --quiet --release -p agentjob-faults -- $(SENDS)

# tests/torture/README.md says what happens here. The sample is a part of `make check`.
TORTURE := $(BUILD)/torture
ifeq ($(shell uname -s),Linux)
torture torture-sample: library emulator $(BUILD)/wheel.stamp
	@mkdir -p "$(TORTURE)"
	$(CC) -std=c11 -O1 -Wall -Wextra -Werror tests/torture/fail_call.c -o "$(TORTURE)/fail_call"
	$(CC) -std=c11 -O1 -Wall -Wextra -Werror -shared -fPIC tests/torture/fail_allocation.c -o "$(TORTURE)/fail_allocation.so"
	$(CC) -std=c11 -O1 -Wall -Wextra -Werror -Iinclude tests/torture/program.c -o "$(TORTURE)/program" \
		-L"$(TARGET)/release" -Wl,-rpath,"$(TARGET)/release" -lagentjob
	$(PYTHON) tests/torture/judge_test.py
	CC="$(CC)" $(PYTHON) tests/torture/torture.py --emulator "$(EMULATOR)" --build "$(TORTURE)" --program "$(TORTURE)/program" \
		--python "$(BIN)/python" $(if $(filter torture-sample,$@),--sample 400,--write tests/torture/RESULTS.md)
else
torture torture-sample:
	@echo "SKIPPED: system calls are made to fail by seccomp, on Linux"
endif

# Hours: AREAS=wait for one area, JOBS=2 tries two mutants at a time, CONTINUE=1 continues a run that was ended. tests/mutants/run.py says
# what it does.
JOBS ?= 1
CARGO_MUTANTS := 27.1.0
mutants: $(BUILD)/cargo-mutants-$(CARGO_MUTANTS)/bin/cargo-mutants
	PATH="$(<D):$$PATH" $(PYTHON) tests/mutants/run.py --build "$(BUILD)/mutants" --jobs $(JOBS) $(if $(CONTINUE),--continue) $(AREAS)
$(BUILD)/cargo-mutants-$(CARGO_MUTANTS)/bin/cargo-mutants:
	$(CARGO) install --quiet --locked --root "$(BUILD)/cargo-mutants-$(CARGO_MUTANTS)" cargo-mutants@$(CARGO_MUTANTS)

# tests/fuzz/README.md has the targets. What programs pass is made up by two tests, for about as long, each time from another seed.
SECONDS ?= 60
fuzz: SEED := $(shell date +%s)
fuzz: SECONDS_AT_MOST = $$(($(SECONDS) * 5 + 480))
fuzz:
	$(PYTHON) tests/fuzz/run.py --build "$(BUILD)/fuzz" --seconds $(SECONDS) $(TARGETS)
ifndef TARGETS
	SEED=$(SEED) ROUNDS=$$(($(SECONDS) * 1000)) LIMIT=$(SECONDS_AT_MOST) $(MAKE) test-c ONLY=shared/any_bytes_may_be_passed_as_text
	AGENTJOB_TEST_SEED=$(SEED) AGENTJOB_TEST_CALLS=$$(($(SECONDS) * 400)) AGENTJOB_TEST_LIMIT=$(SECONDS_AT_MOST) \
		$(MAKE) test-python ONLY=tests/python/test_made_up_arguments.py
endif

# Writes tests/bench/RESULTS.md, which names the clients that could not be built here. QUICK=1 is a rough run that writes to
# build/bench/quick. SECTIONS=warm,tls measures only these sections and keeps the other results.
BENCH := $(BUILD)/bench
BENCH_RUST := cd tests/bench/rust && CARGO_TARGET_DIR="$(BENCH)/target" $(CARGO) build --quiet --release --locked
bench: library bench-c $(BUILD)/wheel.stamp
	$(HARDENED) $(CARGO) build --quiet --release -p agentjob-emulator --features tls
	$(BENCH_RUST) --features peers
	mkdir -p "$(BENCH)/rust" && cp $(foreach program,raw core reqwest ureq_stock fixed batch,"$(BENCH)/target/release/$(program)") "$(BENCH)/rust"
	@rm -f "$(BENCH)/c/libcurl"; $(CC) -O2 -pthread tests/bench/c/libcurl.c -o "$(BENCH)/c/libcurl" -lcurl 2>/dev/null || \
		echo "SKIPPED: libcurl has no headers here (libcurl4-openssl-dev)"
	$(PYTHON) tests/bench/peers.py "$(BENCH)" "$(BUILD)"/wheels/agentjob-*.whl
	$(PYTHON) tests/bench/bench.py --emulator "$(TARGET)/release/agentjob-emulator" --library "$(SHARED)" \
		--wheel "$(BUILD)"/wheels/agentjob-*.whl --build "$(BENCH)" $(if $(QUICK),--quick --results "$(BENCH)/quick/results.json") \
		$(if $(SECTIONS),--sections $(SECTIONS))

# Compares what hardly varies between runs (system calls, allocations, instructions, bytes) with tests/bench/ceilings.json. BLESS=1
# lowers the ceilings there to today's figures.
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

# The ceilings of what ships: 2.7 MB for the library, 1.9 MB for the wheel. docs/decisions/sizes-have-ceilings.md says why.
sizes: library $(BUILD)/wheel.stamp
	@set -e; check() { size=$$(wc -c < "$$1"); echo "$$1: $$size bytes, at most $$2"; test "$$size" -le "$$2"; }; \
	$(PYTHON) tests/abi/no_build_paths.py "$(SHARED)" "$(TARGET)/release/libagentjob.a" "$(BUILD)"/wheels/agentjob-*.whl; \
	check "$(SHARED)" 2700000; check "$$(ls $(BUILD)/wheels/agentjob-*.whl)" 1900000

# The library, also under the name that programs load at run time (its soname).
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

# A wheel is compressed as much as deflate can: 3 % smaller for a second of the build.
WHEEL := maturin build --quiet --release --locked --compression-level 9
# The wheel is built again whenever one of these files is newer.
PACKAGE := Cargo.toml core/Cargo.toml tests/emulator/Cargo.toml Cargo.lock pyproject.toml README.md \
		python/THIRD-PARTY-NOTICES $(shell find core/src python tests/emulator/src \
		-name '*.rs' -o -name 'page.*' -o -name '*.py' -o -name '*.pyi' -o -name Cargo.toml)
$(BUILD)/wheel.stamp: $(BUILD)/venv.stamp $(PACKAGE)
	rm -rf "$(BUILD)/wheels"
	$(HARDENED) $(BIN)/$(WHEEL) --out "$(BUILD)/wheels"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall "$(BUILD)"/wheels/agentjob-*.whl
	@touch $@

# The type checkers have their own environment, so that no other test can use them by accident.
$(BUILD)/types.stamp: $(BUILD)/wheel.stamp tests/types/requirements.txt
	$(PYTHON) -m venv "$(BUILD)/types/venv"
	$(BUILD)/types/venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/types/requirements.txt
	$(BUILD)/types/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --force-reinstall \
		"$(BUILD)"/wheels/agentjob-*.whl
	@touch $@

$(BUILD)/packaging.stamp: tests/packaging/requirements.txt
	$(PYTHON) -m venv --clear "$(BUILD)/packaging/venv"
	$(BUILD)/packaging/venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/packaging/requirements.txt
	@touch $@

# The wheels that are published, for this processor and every Linux with glibc 2.17 (2014) or newer. zig links them, so this
# machine's glibc doesn't matter, and maturin needs no interpreter for them. The free-threaded wheels are built in a second run: in
# one run 3.15t's stable ABI would win, and the wheel for 3.9 and newer would be for 3.9 only.
#
# Without UNWINDER zig would link its own unwinder (LLVM's libunwind) into the module. CPython up to 3.13 ends a daemon thread with
# pthread_exit, which unwinds with the system's libgcc_s; two unwinders in one stack are a segmentation fault. So the module uses
# libgcc_s, too, as it would with any other linker. Every Linux with glibc has it.
DIST ?= $(BUILD)/dist
PACKAGING := PATH="$(BUILD)/packaging/venv/bin:$$PATH" CARGO_TARGET_DIR="$(BUILD)/packaging/target" \
	python -m pytest -q -rs -p no:cacheprovider --dist "$(DIST)"
BILL := $(BUILD)/agentjob-python.cyclonedx.json
MATURIN = PATH="$(BUILD)/packaging/venv/bin:$$PATH" $(HARDENED) $(WHEEL) --sbom-include "$(BILL)"
MANYLINUX := --zig --compatibility manylinux_2_17
UNWINDER = -- -C link-arg="$(shell $(CC) -print-file-name=libgcc_s.so.1)"
WITH_GIL := --interpreter python3.9
WITHOUT_GIL := --interpreter python3.14t --interpreter python3.15t
ifeq ($(shell uname -s),Linux)
wheels: $(BUILD)/dist.stamp
else
wheels: $(BUILD)/packaging.stamp
	@echo "SKIPPED: make wheels builds manylinux wheels, on Linux; .github/workflows/wheels.yml builds the others"
endif
$(BUILD)/dist.stamp: $(BUILD)/packaging.stamp $(PACKAGE) Makefile ffi-c/hardened.mk $(wildcard ffi-c/packaging/*.py)
	rm -rf "$(BUILD)/dist"
	$(PYTHON) ffi-c/packaging/bill_of_materials.py agentjob-python "$(BILL)"
	for pythons in "$(WITH_GIL)" "$(WITHOUT_GIL)"; do \
		CARGO_TARGET_DIR="$(BUILD)/packaging/target" $(MATURIN) $(MANYLINUX) --out "$(BUILD)/dist" $$pythons $(UNWINDER) || exit 1; \
	done
	@ls -l "$(BUILD)/dist"
	@touch $@

# The wheels for the system that rustc calls CARGO_BUILD_TARGET, in build/dist-CARGO_BUILD_TARGET; for Windows only that for Pythons with the
# GIL. zig links those for Linux, and CC is gcc for that processor; tests/platforms has it, and compilers for other systems.
wheels-for: BILL := $(BUILD)/bill-$(CARGO_BUILD_TARGET)/agentjob-python.cyclonedx.json
wheels-for: LINUX := $(if $(findstring -linux-gnu,$(CARGO_BUILD_TARGET)),$(MANYLINUX),$(if $(findstring -musl,$(CARGO_BUILD_TARGET)),--zig --compatibility musllinux_1_2))
wheels-for: $(BUILD)/packaging.stamp
	@$(if $(CARGO_BUILD_TARGET),,$(error set CARGO_BUILD_TARGET=…, as rustc calls the system))
	@$(if $(filter x86_64-%-linux-gnu aarch64-%-linux-gnu,$(CARGO_BUILD_TARGET)),$(CC) -dumpmachine | grep -q "^$(firstword $(subst -, ,$(CARGO_BUILD_TARGET)))-" || \
		{ echo "CC=$(CC) builds for $$($(CC) -dumpmachine); set CC to a gcc for $(CARGO_BUILD_TARGET)"; exit 1; })
	rm -rf "$(BUILD)/dist-$(CARGO_BUILD_TARGET)"
	$(PYTHON) ffi-c/packaging/bill_of_materials.py agentjob-python "$(BILL)" "$(CARGO_BUILD_TARGET)"
	for pythons in "$(WITH_GIL)" $(if $(findstring -windows-,$(CARGO_BUILD_TARGET)),,"$(WITHOUT_GIL)"); do \
		$(MATURIN) --target "$(CARGO_BUILD_TARGET)" $(LINUX) --out "$(BUILD)/dist-$(CARGO_BUILD_TARGET)" $$pythons \
			$(if $(findstring -linux-gnu,$(CARGO_BUILD_TARGET)),$(UNWINDER)) || exit 1; \
	done

include ffi-c/packaging/packages.mk

fmt:
	$(CARGO) fmt --all

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

clean:
	rm -rf "$(BUILD)"
	$(CARGO) clean
