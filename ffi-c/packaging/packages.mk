# What a release consists of, and what checks it. The Makefile at the top includes this; docs/releasing.md says how to release.
PACKAGES := $(BUILD)/packages
# The time in Debian's packages: that of the last commit. Not exported: cargo would compile ring again after each commit.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)

.PHONY: deb check-packages check-release check-oldest-rust crates crate-files sdist release

# libagentjob0, libagentjob-dev and agentjob in build/packages, for the Debian or Ubuntu that this runs on.
deb: library wheels man
	rm -rf "$(PACKAGES)/root" "$(PACKAGES)"/*.deb
	$(MAKE) -s -C ffi-c install DESTDIR="$(PACKAGES)/root" PREFIX=/usr LIBDIR=lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(PYTHON) ffi-c/packaging/deb.py --installed "$(PACKAGES)/root" --man "$(BUILD)/man" --out "$(PACKAGES)" \
		--wheel "$(BUILD)"/dist/agentjob-*-cp39-abi3-manylinux*_$$(uname -m).whl

# Installs the packages in a Debian with nothing else in it, and uses them there; the same with Conan's. Skips where there is no Debian, or
# no mmdebstrap.
check-packages: deb
	CC="$(CC)" tests/packaging/check_packages.sh "$(PACKAGES)"
	BUILT_EMULATOR="$(TARGET)/release/agentjob-emulator" CARGO="$(CARGO)" tests/packaging/check_conan.sh "$(PACKAGES)"

# The crates for the registry, compiled as it would get them. A dry run keeps no file of them, so they are packed once more.
CRATES := --locked --package agentjob-core --package agentjob-ffi-c --target-dir "$(TARGET)"
crates:
	$(CARGO) publish --dry-run $(CRATES)
	@$(MAKE) --no-print-directory crate-files
crate-files:
	rm -f "$(TARGET)"/package/*.crate
	$(CARGO) package --quiet --no-verify $(CRATES)

# The sdist, in SDIST.
SDIST ?= $(BUILD)/sdist
sdist: $(BUILD)/packaging.stamp
	rm -f "$(SDIST)"/agentjob-*.tar.gz
	PATH="$(BUILD)/packaging/venv/bin:$$PATH" maturin sdist --out "$(SDIST)"

# The oldest Rust that Cargo.toml allows compiles everything. Skips where rustup doesn't have it. `make lint` also knows what the standard
# library had then, and tests/packaging what the dependencies need.
check-oldest-rust:
	@oldest=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	if RUSTUP_AUTO_INSTALL=0 $(CARGO) "+$$oldest" --version >/dev/null 2>&1; then \
		RUSTUP_AUTO_INSTALL=0 $(CARGO) "+$$oldest" check --locked --workspace --all-targets --target-dir "$(BUILD)/oldest-rust"; \
	else echo "SKIPPED: Rust $$oldest is not installed (rustup toolchain install $$oldest --profile minimal)"; fi

# What takes too long for `make check`: the wheels pass all of tests/python on every Python here, two builds in two folders give the same
# bytes, and the crates compile by themselves.
check-release: wheels crates check-oldest-rust
	$(PYTHON) tests/packaging/interpreters.py --whole --dist "$(BUILD)/dist" --build "$(BUILD)/pythons"
	$(PYTHON) tests/packaging/reproducible.py "$(BUILD)/reproducible"

# Everything of a release but its upload, in build/release.
release: wheels deb crates
	rm -rf "$(BUILD)/release" && mkdir -p "$(BUILD)/release"
	cp "$(BUILD)"/dist/*.whl "$(PACKAGES)"/*.deb "$(TARGET)"/package/agentjob-*.crate "$(BILL)" "$(BUILD)/release"
	cp "$(PACKAGES)"/root/usr/share/doc/agentjob/libagentjob.cdx.json "$(BUILD)/release"
	$(MAKE) --no-print-directory sdist SDIST="$(BUILD)/release"
	$(PACKAGING) tests/packaging/test_release.py --release "$(BUILD)/release"
	cd "$(BUILD)/release" && sha256sum * > SHA256SUMS && cat SHA256SUMS
