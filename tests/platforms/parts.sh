# What the parts share. A part is a script check-NAME.sh that sources this file and then calls `step` before each thing that it builds
# or runs; it runs with `set -e`, from the top of the clone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
TOP=$PWD
PLATFORMS=$TOP/build/platforms
mkdir -p "$PLATFORMS"
# Tests must not depend on the settings of the person who runs them.
unset "${!AGENTJOB_@}" PYTHONUNBUFFERED MAKEFLAGS MFLAGS

# step NAME: what is below it in the output was built or tested under this name, and is a row of the table.
step() { echo "--- $*"; }

# ends_here REASON: the part ends here. It has not failed, but the table says that it did not run.
ends_here() {
    echo "SKIPPED the rest: $1"
    exit 0
}

# packaging: zig, maturin and what else tests/packaging needs are in build/packaging.
packaging() { make --silent "$TOP/build/packaging.stamp" || ends_here "maturin and zig cannot be fetched from the Python package index"; }

# needs COMMAND...: what it printed is in $found. If what it fetches is not available, the part ends.
needs() {
    local status=0
    found=$("$@") || status=$?
    if [ "$status" -eq 3 ]; then
        ends_here "$found"
    elif [ "$status" -ne 0 ]; then
        echo "$found"
    fi
    return "$status"
}
