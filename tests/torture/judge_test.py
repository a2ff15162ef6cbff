"""The judge finds each kind of broken promise, and nothing in a run that kept them."""

import collections

from judge import judge, of_repeated


def send(delivery, ms=5, code="AGENTJOB_OK", next_code="AGENTJOB_OK", next_ms=5, descriptors=0):
    first = {"prompt": "p", "delivery": delivery, "code": code, "ms": ms}
    return {"first": [first], "next": following(next_code, next_ms), "descriptors": descriptors}


def batch(first, resumed, code="AGENTJOB_ERR_CONNECT", resumed_code="AGENTJOB_OK", ms=5, resumed_ms=5):
    outcomes = [[{"prompt": f"p, item {number}", "delivery": one} for number, one in enumerate(run, 1)] for run in (first, resumed)]
    found = {"first": outcomes[0], "code": code, "ms": ms, "next": following("AGENTJOB_OK", 5), "descriptors": 0}
    return {**found, "resumed": outcomes[1], "resumed_code": resumed_code, "resumed_ms": resumed_ms}


def following(code, ms):
    return [{"prompt": "p, next", "delivery": "accepted" if code == "AGENTJOB_OK" else "unknown", "code": code, "ms": ms}]


ONE, NEXT = {"p": [1], "p, next": [2]}, {"p, next": [1]}
#: Three messages that arrived in the first run, and in the second.
EARLY = {"p, item 1": [1], "p, item 2": [2], "p, item 3": [3], "p, next": [4]}
LATER = {"p, next": [1], "p, item 1": [2], "p, item 2": [3], "p, item 3": [4]}
ACCEPTED = ["accepted"] * 3
ONE_UNKNOWN = ["unknown", "accepted", "accepted"]
JOURNAL, INTERNAL, TIMEOUT = "AGENTJOB_ERR_JOURNAL", "AGENTJOB_ERR_INTERNAL", "AGENTJOB_ERR_TIMEOUT"
KEPT = [
    ("send", "none", send("accepted"), ONE),
    ("send", "sendto", send("not_sent", code="AGENTJOB_ERR_CONNECT"), NEXT),
    ("send", "recvfrom", send("unknown", code="AGENTJOB_ERR_CONNECTION_LOST"), NEXT),
    ("send", "recvfrom", send("unknown", ms=2100, code=TIMEOUT), ONE),
    ("wait", "recvfrom", send("accepted", ms=4100, code="AGENTJOB_ERR_WAIT_TIMEOUT", next_ms=4100), ONE),
    ("send", "close", send("accepted", descriptors=1), ONE),
    ("batch", "none", batch(ACCEPTED, ACCEPTED, code="AGENTJOB_OK"), EARLY),
    ("batch", "write", batch([], ACCEPTED), LATER),
    ("batch", "connect", batch(["not_sent", "not_sent"], ACCEPTED), LATER),
    ("batch", "fdatasync", batch(["accepted"], ["unknown", "accepted", "accepted"], code=JOURNAL), EARLY),
    ("batch", "recvfrom", batch(["unknown"], ONE_UNKNOWN), EARLY),
    ("batch", "recvfrom", batch(ACCEPTED, ACCEPTED, ms=3250, resumed_ms=3250), EARLY),
]
BROKEN = [
    ("never arrived", "send", send("accepted"), NEXT),
    ("reported as not_sent and arrived", "send", send("not_sent"), ONE),
    ("reported as rejected and arrived", "send", send("rejected"), ONE),
    ("arrived 2 times", "send", send("unknown"), {"p": [1, 2], "p, next": [3]}),
    ("has the verdict none", "send", send("none"), NEXT),
    ("after its deadline", "send", send("unknown", ms=2200), ONE),
    ("after its deadline", "send", send("accepted", next_ms=2200), ONE),
    ("ended with AGENTJOB_ERR_INTERNAL", "send", send("accepted", code=INTERNAL), ONE),
    ("the next call failed", "send", send("unknown", next_code="AGENTJOB_ERR_CONNECT"), ONE),
    ("never arrived", "send", send("accepted"), {"p": [1]}),
    ("1 descriptors are left", "send", send("accepted", descriptors=1), ONE),
    ("2 descriptors that the client did not open are closed", "send", send("accepted", descriptors=-2), ONE),
    ("cannot be resumed", "batch", batch([], [], resumed_code=JOURNAL), NEXT),
    ("after its deadline", "batch", batch([], ACCEPTED, ms=3251), LATER),
    ("after its deadline", "batch", batch([], ACCEPTED, resumed_ms=3251), LATER),
    ("2 of 3 messages", "batch", batch([], ["accepted", "accepted"]), LATER),
    ("changed from accepted to unknown", "batch", batch(["accepted"], ONE_UNKNOWN), EARLY),
    ("never arrived", "batch", batch([], ACCEPTED), {**NEXT, "p, item 1": [2]}),
    ("never arrived", "batch", batch(["accepted"], ACCEPTED), LATER),
    ("reported as not_sent and arrived", "batch", batch(["not_sent"], ACCEPTED), EARLY),
    ("though nothing disturbed the second run", "batch", batch([], ["not_sent", "accepted", "accepted"]), {**LATER, "p, item 1": []}),
    ("1 messages are reported as unknown", "batch", batch(["unknown"], ONE_UNKNOWN), EARLY),
    ("ended with AGENTJOB_ERR_INTERNAL", "batch", batch([], ACCEPTED, code=INTERNAL), LATER),
    ("arrived 2 times", "batch", batch([], ACCEPTED), {**LATER, "p, item 2": [3, 5]}),
    ("ended with hang", "send", None, {}),
    ("hides no response", "send", send("unknown"), ONE),
    ("a call returned", "send", send("accepted", next_code=TIMEOUT), {"p": [1]}),
    ("a call returned", "wait", send("accepted", next_code="TimeoutError"), {"p": [1]}),
]
#: More of them with one sentence each, of another call.
BROKEN_OTHERS = [
    ("2 messages are reported as unknown", "recvfrom", batch([], ["unknown", "unknown", "accepted"]), EARLY),
    ("undisturbed, the call ended as “stopped, then resumed”", "none", batch(["accepted"], ACCEPTED), EARLY),
    ("undisturbed, the call ended as “accepted, then an error”", "none", send("accepted", code="AGENTJOB_ERR_CONNECT"), ONE),
]

for what, call, found, arrived in KEPT:
    assert judge(what, call, found, "exit 0", "", arrived) == [], (what, call, found, judge(what, call, found, "exit 0", "", arrived))
for words, what, call, found, arrived in [(row[0], row[1], "sendto", *row[2:]) for row in BROKEN] + [
    (words, "batch" if "resumed" in found else "send", call, found, arrived) for words, call, found, arrived in BROKEN_OTHERS
]:
    sentences = judge(what, call, found, "hang" if found is None else "exit 0", "", arrived)
    assert any(words in one for one in sentences), (words, sentences)
# What follows from being late is not said of a late run as well: it runs again.
LATE_ONES = [
    ("send", "none", send("unknown", ms=32000, code=TIMEOUT), ONE),
    ("batch", "none", batch(["accepted"], ACCEPTED, ms=3251), EARLY),
    ("batch", "sendto", batch([], [], resumed_code=TIMEOUT, resumed_ms=3251), NEXT),
    ("batch", "sendto", batch(["accepted"], ["accepted", "unknown"], resumed_code=TIMEOUT, resumed_ms=3251), EARLY),
]
for what, call, found, arrived in LATE_ONES:
    [sentence] = judge(what, call, found, "exit 0", "", arrived)
    assert sentence.endswith("after its deadline"), (what, call, found, sentence)
# A program that printed it and hung has hung.
assert judge("send", "malloc", None, "hang", "memory allocation of 64 bytes failed", {}) != []
assert judge("send", "malloc", None, "signal 6", "memory allocation of 64 bytes failed", {"p": [1]}) == []
# A panic of the standard library's own may be reported as an internal error.
internal = send("not_sent", code=INTERNAL)
assert judge("send", "getrandom", internal, "exit 0", "failed to generate random data", NEXT) == []

# A late run is judged by the majority of those that repeated it; one that did not reach its call has no say.
Run = collections.namedtuple("Run", "case found reached")
CASE = collections.namedtuple("Case", "situation")(("C", "send", "plain"))
late, slow, quick, other = (
    Run(CASE, send("accepted", ms=ms), reached) for ms, reached in ((9000, "applied"), (3000, "applied"), (5, "applied"), (6, "not reached"))
)
REPEATED = [([quick] * 3, quick), ([slow, quick, quick], quick), ([slow, slow, quick], late), ([slow, other, other], late), ([other], other)]
for again, judged in REPEATED:
    assert of_repeated(late, again) == judged, again
print(f"{len(KEPT) + len(BROKEN) + len(BROKEN_OTHERS) + len(LATE_ONES) + len(REPEATED) + 3} passed, 0 failed")
