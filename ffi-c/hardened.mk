# The flags of every release build, here and in the Makefile at the top: included by both, with ROOT set to the top. What ships has no
# path of the machine that builds it, and the C parts (ring's) have a stack protector and, on x86, CET's marks; on Windows the protector
# would be one more DLL. With other flags for another release build, cargo would compile ring again, everything above it, and then the
# library once more.
CARGO_DIR := $(or $(CARGO_HOME),$(HOME)/.cargo)
PROTECTED := -fstack-protector-strong $(if $(filter x86_64 i686,$(or $(firstword $(subst -, ,$(CARGO_BUILD_TARGET))),$(shell uname -m))),-fcf-protection)
HARDENED := RUSTFLAGS='$(strip $(RUSTFLAGS) --remap-path-prefix=$(CARGO_DIR)=/cargo --remap-path-prefix=$(ROOT)=/agentjob)' \
	CFLAGS='$(strip $(CFLAGS) $(if $(findstring -windows-,$(CARGO_BUILD_TARGET)),,$(PROTECTED)) -ffile-prefix-map=$(CARGO_DIR)=/cargo)'
