#!/bin/sh
# Explores journal.pml and steps.pml to their last states, and then each of their mutations until it is refuted:
# `check.sh [--large] [ROW...]`.
#
#   (nothing)   every row of the tables, two minutes; fails if one differs from README.md
#   --large     also the larger sizes: some minutes, 2 GB
#   ROW...      only these rows, each with the steps that lead to the violation
#
# Needs spin and a C compiler; as root it installs spin with apt-get, unless NO_INSTALL=1 is set. Works in a temporary folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
CC=${CC:-cc}

large=
if [ "${1:-}" = --large ]; then
    large=yes
    shift
fi
only=" $* "

if ! command -v spin >/dev/null && [ -z "${NO_INSTALL:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends spin; } >/dev/null 2>&1 || true
fi
for tool in spin "$CC"; do
    if ! command -v "$tool" >/dev/null; then
        echo "SKIPPED the models: $tool is not installed (apt-get install spin gcc)"
        exit 0
    fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
cp "$here/journal.pml" "$here/steps.pml" .
: >rows
: >refuted
ran=0
failed=0

# The result of pan: holds, the claim that is refuted, or why it found neither.
verdict() {
    if grep -q 'assertion violated [a-z]_' out; then
        sed -n 's/.*assertion violated \([a-z]_[a-z_]*\).*/refuted: \1/p' out | head -n 1
    elif grep -q 'invalid end state (' out || grep -q 'acceptance cycle (' out; then
        echo "refuted: $hangs"
    elif grep -q 'assertion violated' out; then
        sed -n 's/.*\(assertion violated .*\) (at depth.*/\1/p' out | head -n 1
    elif grep -q 'max search depth too small\|Search not completed\|out of memory\|hash table full' out ||
        ! grep -q 'errors: 0$' out; then
        echo "not finished"
    elif grep '^unreached in' -A 1 out | grep -q '([1-9][0-9]* of'; then
        echo "holds, with steps that are never taken"
    else
        echo "holds"
    fi
}

# row NAME EXPECTED KIND SPIN_FLAGS...: KIND is model (every state, and every step is taken), variant (every state), mutation (until
# the shortest path to a violation is found), hang (until a state without a successor is found), or liveness (every state, and every
# infinite path).
row() {
    name=$1
    expected=$2
    kind=$3
    shift 3
    printf '%s|%s\n' "$name" "$expected" >>rows
    case "$only" in "  " | *" $name "*) ;; *) return 0 ;; esac
    ran=$((ran + 1))
    for flag in "$@"; do
        define=${flag#-D}
        grep -q "\b${define%%=*}\b" $model || { echo "$model does not have $define" >&2; exit 1; }
    done

    rm -f pan* ./*.trail out
    case $kind in
    model | variant) build="-O1 -DSAFETY" run="" ;;
    mutation) build="-O0 -DSAFETY -DBFS" run="-E" ;;
    hang) build="-O0 -DSAFETY -DBFS" run="" ;;
    liveness) build="-O1" run="-a" ;;
    esac
    # Without partial order reduction (all share all), compressed, in 2 GB.
    spin -a "$@" $model >log 2>&1 && $CC -w $build -DNOREDUCE -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c >>log 2>&1 ||
        { cat log >&2; exit 1; }
    ./pan $run -w22 -m1000000 >out 2>&1 || true

    found=$(verdict)
    # A variant may leave some steps unused; the model must take all.
    [ "$kind $found" != "variant holds, with steps that are never taken" ] || found=holds
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out | awk '{ printf "%d", $1 }')
    mark=ok
    [ "$found" = "$expected" ] || { mark=FAILED failed=$((failed + 1)); }
    printf '%-34s | %9s | %-50s | %-50s | %s\n' "$name" "$states" "$found" "$expected" "$mark"
    case $found in refuted:*) printf '%s\n' "$model ${found#refuted: }" >>refuted ;; esac
    if [ "$only" != "  " ] && [ -f $model.trail ]; then
        spin -t "$@" $model | sed '/^spin:/,$d; /^#processes/,$d; s/^ */    /'
    fi
}

a="refuted: a_processed_at_most_once"
b="refuted: b_accepted_was_processed_once"
c="refuted: c_processed_is_never_denied"
d="refuted: d_a_finished_run_ended_every_item"
e="refuted: e_one_worker_an_item"
f="refuted: f_one_open_item_a_worker"
g="refuted: g_a_finished_runs_report_stays_true"
h="refuted: h_a_run_left_alone_ends"
i="refuted: i_a_result_is_its_messages_own"
j="refuted: j_a_stopped_run_leaves_nothing_open"
k="refuted: k_a_jobs_messages_arrive_in_order"
l="refuted: l_a_decision_is_never_lost"
printf '%-34s | %9s | %-50s | %-50s |\n' model states verdict expected

# A batch's protocol.
model=journal.pml
hangs=h_a_run_left_alone_ends
row 2_ITEMS_2_WORKERS "holds" model
row 3_ITEMS_2_WORKERS "holds" model -DITEMS=3
row 2_ITEMS_3_WORKERS "holds" model -DWORKERS=3
row LEFT_ALONE "holds" liveness -DLEFT_ALONE
row RESEND_UNKNOWN "holds" model -DRESEND_UNKNOWN
row SEQUENCED "holds" model -DSEQUENCED
row SEQUENCED_BESIDE_ANOTHER_JOB "holds" model -DSEQUENCED -DITEMS=3 -DSAME=2
row BUSY "holds" model -DBUSY
row GRACE "holds" model -DGRACE
row BUSY_AND_GRACE "holds" model -DBUSY -DGRACE
row DECISIONS "holds" model -DDECISIONS
row DECISIONS_AND_SEQUENCED "holds" model -DDECISIONS -DSEQUENCED
row SEQUENCED_LEFT_ALONE "holds" liveness -DLEFT_ALONE -DBUSY
if [ -n "$large" ]; then
    row 4_ITEMS_2_WORKERS "holds" model -DITEMS=4
    row 3_ITEMS_3_WORKERS "holds" model -DITEMS=3 -DWORKERS=3
    row RESEND_UNKNOWN_3_ITEMS "holds" model -DRESEND_UNKNOWN -DITEMS=3
    row SEQUENCED_3_ITEMS "holds" model -DSEQUENCED -DITEMS=3
    row OUTCOME_SYNCED_LATE_3_ITEMS "holds" variant -DOUTCOME_SYNCED_LATE -DITEMS=3
fi

# One change each, which must refute a claim.
row SENT_BEFORE_FSYNC "$a" mutation -DSENT_BEFORE_FSYNC -DONLY=CLAIM_A
row SENDING_IS_RESENT "$a" mutation -DSENDING_IS_RESENT -DONLY=CLAIM_A
row NO_LOCK "$a" mutation -DNO_LOCK -DONLY=CLAIM_A
row LOCKED_AFTER_READING "$a" mutation -DLOCKED_AFTER_READING -DONLY=CLAIM_A
row TORN_LINE_IS_BELIEVED "$a" mutation -DTORN_LINE_IS_BELIEVED -DONLY=CLAIM_A
row TORN_LINE_STAYS "$a" mutation -DTORN_LINE_STAYS -DONLY=CLAIM_A
row WRITES_ON_AFTER_FAILURE "$a" mutation -DWRITES_ON_AFTER_FAILURE -DONLY=CLAIM_A
row FSYNC_COVERS_LATER_LINES "$a" mutation -DFSYNC_COVERS_LATER_LINES -DONLY=CLAIM_A
row FSYNC_IS_RETRIED "$a" mutation -DFSYNC_IS_RETRIED -DONLY=CLAIM_A
row DIRECTORY_NOT_SYNCED "$a" mutation -DDIRECTORY_NOT_SYNCED -DONLY=CLAIM_A
row PUT_BACK_BEFORE_RECORDED "$a" mutation -DPUT_BACK_BEFORE_RECORDED -DONLY=CLAIM_A
row NOT_SENT_IS_A_GUESS "$a" mutation -DNOT_SENT_IS_A_GUESS -DONLY=CLAIM_A
row OUTCOME_BEFORE_RESPONSE "$b" mutation -DOUTCOME_BEFORE_RESPONSE -DONLY=CLAIM_B
row REJECTED_IS_A_GUESS "$c" mutation -DREJECTED_IS_A_GUESS -DONLY=CLAIM_C
row NOT_SENT_IS_FORGOTTEN "$d" mutation -DNOT_SENT_IS_FORGOTTEN -DONLY=CLAIM_D
row OUTCOME_MAY_BE_MISSING "$d" mutation -DOUTCOME_MAY_BE_MISSING -DONLY=CLAIM_D
row OUTCOME_MAY_BE_MISSING_3_ITEMS "$f" mutation -DOUTCOME_MAY_BE_MISSING -DONLY=CLAIM_F -DITEMS=3
row TAKEN_IN_TWO_STEPS "$e" mutation -DTAKEN_IN_TWO_STEPS -DONLY=CLAIM_E
row FSYNC_LEFT_TO_ANOTHER "$h" hang -DFSYNC_LEFT_TO_ANOTHER
row NEXT_BEFORE_TERMINAL "$i" mutation -DSEQUENCED -DNEXT_BEFORE_TERMINAL -DONLY=CLAIM_I
row NO_SETTLE "$i" mutation -DSEQUENCED -DNO_SETTLE -DONLY=CLAIM_I
row UNKNOWN_HOLDS_NOTHING "$i" mutation -DSEQUENCED -DUNKNOWN_HOLDS_NOTHING -DONLY=CLAIM_I
row NO_RESULT_HOLDS_NOTHING "$i" mutation -DSEQUENCED -DNO_RESULT_HOLDS_NOTHING -DONLY=CLAIM_I
row FINISHED_IS_NOT_WRITTEN "$i" mutation -DSEQUENCED -DFINISHED_IS_NOT_WRITTEN -DONLY=CLAIM_I
row TAKEN_OUT_OF_ORDER "$k" mutation -DSEQUENCED -DTAKEN_OUT_OF_ORDER -DONLY=CLAIM_K
row BUSY_IS_FORGOTTEN "$d" mutation -DBUSY -DBUSY_IS_FORGOTTEN -DONLY=CLAIM_D
row DECISION_IS_NOT_SYNCED "$l" mutation -DDECISIONS -DDECISION_IS_NOT_SYNCED -DONLY=CLAIM_L
row DECIDED_DURING_A_RUN "$a" mutation -DDECISIONS -DDECIDED_DURING_A_RUN -DONLY=CLAIM_A
row STOP_DOES_NOT_WAIT "$j" mutation -DGRACE -DSTOP_DOES_NOT_WAIT -DONLY=CLAIM_J

# Alternatives, and what they cost.
row OUTCOME_SYNCED_LATE "holds" variant -DOUTCOME_SYNCED_LATE
row OUTCOME_SYNCED_NEVER "$g" mutation -DOUTCOME_SYNCED_NEVER
row OUTCOME_SYNCED_NEVER_BUT_G "holds" variant -DOUTCOME_SYNCED_NEVER -DBUT=CLAIM_G
row RESUME_SYNCS_OWN_LINES_ONLY "$g" mutation -DRESUME_SYNCS_OWN_LINES_ONLY
row RESUME_SYNCS_NOTHING_BUT_G "holds" variant -DRESUME_SYNCS_NOTHING -DBUT=CLAIM_G
row RESEND_AND_LAST_LINE_DECIDES "$c" mutation -DRESEND_UNKNOWN -DLAST_LINE_DECIDES

# The protocol of a step in a store.
model=steps.pml
hangs=h_a_call_left_alone_ends
d="refuted: d_no_message_leaves_after_a_takeover"
g="refuted: g_what_was_returned_stays_true"
h="refuted: h_a_call_left_alone_ends"
row 2_CALLS_AT_ONCE "holds" model
row STEPS_LEFT_ALONE "holds" liveness -DSTEPS_LEFT_ALONE
row SENT_BEFORE_TAKEN "$a" mutation -DSENT_BEFORE_TAKEN -DONLY=CLAIM_A
row KEY_TAKEN_IN_TWO_STEPS "$a" mutation -DKEY_TAKEN_IN_TWO_STEPS -DONLY=CLAIM_A
row TAKEN_WITHOUT_SYNC "$a" mutation -DTAKEN_WITHOUT_SYNC -DONLY=CLAIM_A
row TAKEOVER_SENDS "$a" mutation -DTAKEOVER_SENDS -DONLY=CLAIM_A
row UNKNOWN_IS_RETAKEN "$a" mutation -DUNKNOWN_IS_RETAKEN -DONLY=CLAIM_A
row STEP_NOT_SENT_IS_A_GUESS "$a" mutation -DSTEP_NOT_SENT_IS_A_GUESS -DONLY=CLAIM_A
row STEP_ACCEPTED_IS_A_GUESS "$b" mutation -DSTEP_ACCEPTED_IS_A_GUESS -DONLY=CLAIM_B
row STEP_REJECTED_IS_A_GUESS "$c" mutation -DSTEP_REJECTED_IS_A_GUESS -DONLY=CLAIM_C
row SETTLED_BY_KEY "$c" mutation -DSETTLED_BY_KEY -DONLY=CLAIM_C
row REFUSED_RESEND_IS_BELIEVED "$c" mutation -DREFUSED_RESEND_IS_BELIEVED -DONLY=CLAIM_C
row DEADLINE_IS_IGNORED "$d" mutation -DDEADLINE_IS_IGNORED -DONLY=CLAIM_D
row LEASE_IS_SHORTER "$d" mutation -DLEASE_IS_SHORTER -DONLY=CLAIM_D
row DEADLINE_IS_CHECKED_BEFORE "$d" mutation -DDEADLINE_IS_CHECKED_BEFORE -DONLY=CLAIM_D
row STOPPED_BEHIND_THE_CHECK "$a" mutation -DDEADLINE_IS_CHECKED_BEFORE -DONLY=CLAIM_A
row LATE_OUTCOME_IS_DROPPED "$g" mutation -DLATE_OUTCOME_IS_DROPPED -DONLY=CLAIM_G
row RESEND_KEEPS_ITS_OWNER "$c" mutation -DRESEND_KEEPS_ITS_OWNER -DONLY=CLAIM_C
row LATE_DECISION_COUNTS "$c" mutation -DLATE_DECISION_COUNTS -DONLY=CLAIM_C
row NOBODY_TAKES_OVER "$h" hang -DNOBODY_TAKES_OVER

if [ "$only" = "  " ]; then
    # A claim that no mutation can violate proves nothing, and README.md must have the same table.
    for claims in journal:abcdefghijkl steps:abcdgh; do
        for claim in $(echo "${claims#*:}" | sed 's/./& /g'); do
            grep -q "^${claims%:*}.pml ${claim}_" refuted || { echo "FAILED  no row of $claims refutes $claim"; failed=$((failed + 1)); }
        done
    done
    sed -n 's/^| `\([A-Z0-9_]*\)` | \([a-z]*\)\(: `\([a-z_]*\)`\)\{0,1\} |.*/\1|\2: \4/p' "$here/README.md" | sed 's/: $//' |
        { if [ -n "$large" ]; then cat; else grep -v '^4_ITEMS_2\|^3_ITEMS_3\|^SEQUENCED_3\|^RESEND_UNKNOWN_3\|^OUTCOME_SYNCED_LATE_3'; fi; } >documented
    diff documented rows || { echo "FAILED  the table of README.md differs from that of check.sh"; failed=$((failed + 1)); }
fi
echo "$ran rows, $failed failed"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
