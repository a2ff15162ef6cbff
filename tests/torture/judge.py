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
#: allocation fails, and so does glibc where it cannot report a failure.
ABORTS = {
    "memory allocation of": "Rust's allocator ended the process",
    "Fatal glibc error": "glibc ended the process",
    "The futex facility returned an unexpected error code": "glibc ended the process",
}

OK = ("OK", "AGENTJOB_OK")
JOURNAL = ("JournalError", "AGENTJOB_ERR_JOURNAL")
INTERNAL = ("InternalError", "AGENTJOB_ERR_INTERNAL")
#: What Rust's standard library panics with where getrandom, or the close of a folder, fails. The call reports an internal error then.
PANICS = ("failed to generate random data", "unexpected error during closedir")


def label(found, ending, stderr):
    """How the tortured call ended, in the words of the table."""
    if found is None:
        for text, ended in ABORTS.items():
            if ending == "signal 6" and text in stderr:
                return ended
        return f"ended with {ending}"
    if "code" in found:
        return "complete" if found["code"] in OK else "stopped, then resumed"
    first = found["first"][0]
    return "accepted, then an error" if first["delivery"] == "accepted" and first["code"] not in OK else first["delivery"]


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
    """By how many milliseconds the tortured call, or one after it, missed its deadline most; 0 if none did."""
    if found is None:
        return 0
    overshoots = [took(what, found) - DEADLINE_MS[what], found["next"][0]["ms"] - DEADLINE_MS["send" if what == "batch" else what]]
    if what == "batch":
        overshoots.append(found["resumed_ms"] - DEADLINE_MS[what])
    return max(0, *overshoots)


def was_delayed(what, found):
    """Whether a call was late: the machine may have stood still."""
    return too_late(what, found) > OVERSHOOT_MS or (bool(found) and "TIMEOUT" in found["next"][0]["code"].upper())


def of_repeated(late, again):
    """The run that is judged of one that was late and of those that repeated it alone: one of the majority of these. A repetition that
    did not reach the failing call says nothing, if another one did."""
    again = [one for one in again if one.reached == "applied"] or again
    in_time = [one for one in again if not was_delayed(one.case.situation[1], one.found)]
    return in_time[0] if 2 * len(in_time) > len(again) else late


#: The only call whose failure hides a response that arrived.
HIDES_RESPONSE = "recvfrom"

#: Calls after whose failure one more descriptor is open: a close that was made to fail did not happen, and without getrandom the
#: process keeps /dev/urandom open for all its random numbers.
KEEP_ONE = ("close", "getrandom")


def judge(what, failed_call, found, ending, stderr, arrived):
    """Every promise that was broken, as sentences. `found` is what the program printed, None if it was ended before; `arrived` are the
    places in the ledger of the prompts of this case. Without a failed call it is "none"."""
    broken = [f"the message “{prompt}” arrived {len(places)} times" for prompt, places in arrived.items() if len(places) > 1]
    if found is None:
        if label(found, ending, stderr).startswith("ended with"):
            broken.append(f"the program ended with {ending}: {stderr[-300:]!r}")
        return broken
    broken += judged_batch(found, failed_call, stderr, arrived) if what == "batch" else judged_call(what, found, failed_call, arrived)
    if failed_call == "none" and label(found, ending, stderr) not in ("accepted", "complete") and not was_delayed(what, found):
        broken.append(f"undisturbed, the call ended as “{label(found, ending, stderr)}”: {stderr[-300:]!r}")
    codes = [found[name] for name in ("code", "resumed_code") if name in found] + [one["code"] for one in found["first"] if "code" in one]
    broken += [f"the call ended with {code}: {stderr[-300:]!r}" for code in codes if code in INTERNAL and not any(text in stderr for text in PANICS)]
    following = found["next"][0]
    if following["code"] not in OK and not was_delayed(what, found):
        broken.append(f"the next call failed with {following['code']}: {stderr[-300:]!r}")
    broken.append(wrong_verdict(following["delivery"], len(arrived.get(following["prompt"], ()))))
    if was_delayed(what, found):
        broken.append(f"a call returned {too_late(what, found)} ms {LATE}")
    left = found["descriptors"]
    if not 0 <= left <= (1 if failed_call in KEEP_ONE else 0):
        broken.append(f"{left} descriptors are left" if left > 0 else f"{-left} descriptors that the client did not open are closed")
    return [sentence for sentence in broken if sentence]


def judged_call(what, found, failed_call, arrived):
    [first] = found["first"]
    broken = [wrong_verdict(first["delivery"], len(arrived.get(first["prompt"], ())))]
    if first["delivery"] == "unknown" and failed_call != HIDES_RESPONSE and took(what, found) < DEADLINE_MS[what]:
        broken.append(f"a message is reported as unknown after {failed_call}, which hides no response")
    return broken


def judged_batch(found, failed_call, stderr, arrived):
    """What the first run reported must be true when it ended, and what the second one reported, at the end."""
    broken = []
    [between] = arrived.get(found["next"][0]["prompt"], [None])[:1]
    for one in found["first"]:
        places = arrived.get(one["prompt"], ())
        by_then = [place for place in places if between is None or place < between]
        broken.append(wrong_verdict(one["delivery"], len(by_then)))
    last = {one["prompt"]: one["delivery"] for one in found["first"] + found["resumed"]}
    # A journal that could not be written does not know the outcome.
    lost = found["code"] in JOURNAL
    for one in found["first"]:
        before, after = one["delivery"], last[one["prompt"]]
        # What was not sent in the first run is sent in the second.
        if before in ("accepted", "rejected") and after != before and not (after == "unknown" and lost):
            broken.append(f"the verdict of “{one['prompt']}” changed from {before} to {after}")
    for prompt, delivery in last.items():
        broken.append(wrong_verdict(delivery, len(arrived.get(prompt, ()))))
        if delivery not in ("accepted", "unknown") and found["resumed_code"] in OK:
            broken.append(f"“{prompt}” is {delivery}, though nothing disturbed the second run")
    unknown = list(last.values()).count("unknown")
    if unknown > (1 if failed_call == HIDES_RESPONSE else 0) and not lost and max(found["ms"], found["resumed_ms"]) < DEADLINE_MS["batch"]:
        broken.append(f"{unknown} messages are reported as unknown after {failed_call}")
    if found["resumed_code"] not in OK:
        if not was_delayed("batch", found):
            broken.append(f"the batch cannot be resumed: {found['resumed_code']}, {stderr[-300:]!r}")
    elif len(last) != 3:
        broken.append(f"after both runs {len(last)} of 3 messages have an outcome")
    return broken
