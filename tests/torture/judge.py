"""Compares what a tortured program reported with the emulator's ledger."""

#: How much later than its deadline a call may return, in milliseconds. One that is later runs again alone: a busy machine delays, too.
OVERSHOOT_MS = 150
#: When a call must have ended: a send and a wait by the deadline that program.c and program.py give them. A batch's three messages are in
#: flight together, so one failed call costs at most the deadline of one of them and the first pause after a service failure: FIRST_BACKOFF
#: and JITTER of core/src/batch/pace/circuit_breaker.rs.
DEADLINE_MS = {"send": 2000, "wait": 4000, "batch": 2000 + 1100}

#: The end of a sentence about a call that was late.
LATE = "after its deadline"

#: What may abort the process after a failed call (SIGABRT), by what it prints before. Neither is agentjob: Rust calls abort() when an
#: allocation fails, and so does glibc where it cannot report it.
ABORTS = {
    "memory allocation of": "Rust's allocator ended the process",
    "Fatal glibc error": "glibc ended the process",
}


def label(found, ending, stderr):
    """How the tortured call ended, in the words of the table."""
    if found is None:
        for text, ended in ABORTS.items():
            if ending == "signal 6" and text in stderr:
                return ended
        return f"ended with {ending}"
    if "code" in found:
        return "complete" if found["code"] in ("OK", "AGENTJOB_OK") else "stopped, then resumed"
    return found["first"][0]["delivery"]


def wrong_verdict(delivery, arrived):
    if delivery == "accepted" and arrived == 0:
        return "a message is reported as accepted and never arrived"
    if delivery in ("not_sent", "rejected") and arrived > 0:
        return f"a message is reported as {delivery} and arrived"
    if delivery not in ("accepted", "not_sent", "rejected", "unknown"):
        return f"a message has the verdict {delivery}"
    return None


def took(what, found):
    """How many milliseconds the tortured call took."""
    return found["ms"] if what == "batch" else found["first"][0]["ms"]


def too_late(what, found):
    """How many milliseconds after its deadline the call returned, or 0."""
    return max(0, took(what, found) - DEADLINE_MS[what]) if found else 0


def next_timed_out(what, found):
    return bool(found) and what != "batch" and "TIMEOUT" in found["next"][0]["code"].upper()


def was_delayed(what, found):
    """Whether the tortured call was late, or the next one: the machine may have stood still."""
    return too_late(what, found) > OVERSHOOT_MS or next_timed_out(what, found)


#: The only call whose failure hides a response that arrived.
HIDES_RESPONSE = "recvfrom"

#: Calls after whose failure one more descriptor is open: a close that was made to fail did not happen, and without getrandom the
#: process keeps /dev/urandom open for all its random numbers.
KEEP_ONE = ("close", "getrandom")


def judge(what, failed_call, found, ending, stderr, arrived):
    """Every promise that was broken, as sentences. `found` is what the program printed, None if it was ended before; `arrived` are the
    ledger's counts of the prompts of this case."""
    broken = [f"the message “{prompt}” arrived {count} times" for prompt, count in arrived.items() if count > 1]
    if found is None:
        if label(found, ending, stderr).startswith("ended with"):
            broken.append(f"the program ended with {ending}: {stderr[-300:]!r}")
        return broken
    if what == "batch":
        # What is not sent in one run is sent in the next, so only the last verdict of each message holds.
        last = {one["prompt"]: one["delivery"] for one in found["first"] + found["next"]}
        for one in found["first"]:
            before, after = one["delivery"], last[one["prompt"]]
            # A journal that could not be written does not know the outcome.
            lost = after == "unknown" and found["code"] in ("JournalError", "AGENTJOB_ERR_JOURNAL")
            if before in ("accepted", "rejected") and after != before and not lost:
                broken.append(f"the verdict of “{one['prompt']}” changed from {before} to {after}")
        if found["next_code"] not in ("OK", "AGENTJOB_OK"):
            broken.append(f"the batch cannot be resumed: {found['next_code']}, {stderr[-300:]!r}")
        elif len(last) != 3:
            broken.append(f"after both runs {len(last)} of 3 messages have an outcome")
        verdicts = last.items()
    else:
        verdicts = [(one["prompt"], one["delivery"]) for one in found["first"] + found["next"]]
        if found["first"][0]["delivery"] == "unknown" and failed_call != HIDES_RESPONSE and took(what, found) < DEADLINE_MS[what]:
            broken.append(f"a message is reported as unknown after {failed_call}, which hides no response")
        if next_timed_out(what, found):
            broken.append(f"the next call returned {LATE}")
        elif found["next"][0]["code"] not in ("OK", "AGENTJOB_OK"):
            broken.append(f"the next call failed with {found['next'][0]['code']}: {stderr[-300:]!r}")
    if too_late(what, found) > OVERSHOOT_MS:
        broken.append(f"the call returned {too_late(what, found)} ms {LATE}")
    wrong = [wrong_verdict(delivery, arrived.get(prompt, 0)) for prompt, delivery in verdicts]
    broken += [sentence for sentence in wrong if sentence]
    if found["descriptors"] > (1 if failed_call in KEEP_ONE else 0):
        broken.append(f"{found['descriptors']} descriptors are left")
    return broken
