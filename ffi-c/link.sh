#!/bin/sh
# The linker of the shared library: cc, but every exported function gets the version AGENTJOB_0 (AGENTJOB_ABI_VERSION). rustc writes a
# version script without a name, and a linker accepts no second one beside it, so this names that one.
for argument in "$@"; do
    case $argument in
    *--version-script=*)
        script=${argument##*--version-script=}
        sed '1s/^{/AGENTJOB_0 {/' "$script" >"$script.named" && mv "$script.named" "$script" || exit 1
        ;;
    esac
done
exec "${AGENTJOB_CC:-cc}" "$@"
