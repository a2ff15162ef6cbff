#!/usr/bin/env bash
# Sends a follow-up message, waits until its job is done and prints the record: in Python, in C and in Rust. `make demo` calls this.
# With AGENTJOB_BASE_URL and JOB set it uses that service instead of the emulator.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${TARGET:=target}" "${BUILD:=build}" "${CC:=cc}"
prompt="Also cover the error cases"

emulator_pid=
if [ -n "${AGENTJOB_BASE_URL:-}" ]; then
    job="${JOB:?set JOB=<job id>, the job on $AGENTJOB_BASE_URL to send the message to}"
else
    unset "${!AGENTJOB_@}"
    settings=$(mktemp)
    agentjob emulator --work-ms 3000 > "$settings" 2> "$settings.errors" &
    emulator_pid=$!
    trap 'kill "$emulator_pid" 2>/dev/null || true; rm -f "$settings" "$settings.errors"' EXIT
    for _ in $(seq 600); do { [ -s "$settings" ] || ! kill -0 "$emulator_pid" 2>/dev/null; } && break; sleep 0.1; done
    [ -s "$settings" ] || { echo "The emulator did not start." >&2; cat "$settings.errors" >&2; exit 1; }
    value() { python -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$settings" "$1"; }
    export AGENTJOB_BASE_URL AGENTJOB_API_KEY AGENTJOB_PROJECT_ID
    AGENTJOB_BASE_URL=$(value base_url) AGENTJOB_API_KEY=$(value api_key) AGENTJOB_PROJECT_ID=$(value project_id)
    job=${JOB:-$(value job_id)}
    echo "The emulator listens at $AGENTJOB_BASE_URL; the job is $job."
fi

printf '\n== Python: agentjob send %s "%s" --wait\n' "$job" "$prompt"
agentjob send "$job" "$prompt" --wait

printf '\n== C: ffi-c/examples/follow_up.c, linked against libagentjob\n'
mkdir -p "$BUILD/c"
"$CC" -std=c11 -O2 -Iinclude ffi-c/examples/follow_up.c -o "$BUILD/c/follow_up" -L"$TARGET/release" -Wl,-rpath,"$TARGET/release" -lagentjob
"$BUILD/c/follow_up" "$job" "$prompt"

printf '\n== Rust: core/examples/follow_up.rs\n'
"$TARGET/release/examples/follow_up" "$job" "$prompt"
