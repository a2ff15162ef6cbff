# The flags of every release build, here and in the Makefile at the top: included by both, with ROOT set to the top. What ships has no
# path of the machine that builds it, and the C parts (ring's) have a stack protector and, on x86, CET's marks. With other flags for
# another release build, cargo would compile ring again, everything above it, and then the library once more.
CARGO_DIR := $(or $(CARGO_HOME),$(HOME)/.cargo)
HARDENED := RUSTFLAGS='$(strip $(RUSTFLAGS) --remap-path-prefix=$(CARGO_DIR)=/cargo --remap-path-prefix=$(ROOT)=/agentjob)' \
	CFLAGS='$(strip $(CFLAGS) -fstack-protector-strong $(if $(filter x86_64 i686,$(shell uname -m)),-fcf-protection) \
	-ffile-prefix-map=$(CARGO_DIR)=/cargo)'
