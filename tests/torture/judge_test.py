"""The judge finds each kind of broken promise, and nothing in a run that kept them."""

from judge import judge


def send(delivery, ms=5, next_code="AGENTJOB_OK", descriptors=0):
    calls = [{"prompt": "p", "delivery": delivery, "code": "x", "ms": ms}]
    return {"first": calls, "next": [{**calls[0], "prompt": "p, next", "delivery": "accepted", "code": next_code}], "descriptors": descriptors}


def batch(first, following, next_code="AGENTJOB_OK", code="AGENTJOB_ERR_CONNECT", ms=5):
    outcomes = [[{"prompt": f"p, item {number}", "delivery": one} for number, one in enumerate(run, 1)] for run in (first, following)]
    return {"first": outcomes[0], "code": code, "ms": ms, "next": outcomes[1], "next_code": next_code, "descriptors": 0}


THREE = {"p, item 1": 1, "p, item 2": 1, "p, item 3": 1}
ACCEPTED = ["accepted"] * 3
KEPT = [
    ("send", "sendto", send("accepted"), {"p": 1, "p, next": 1}),
    ("send", "sendto", send("not_sent"), {"p, next": 1}),
    ("send", "recvfrom", send("unknown"), {"p, next": 1}),
    ("send", "recvfrom", send("unknown", ms=2100), {"p": 1, "p, next": 1}),
    ("send", "close", send("accepted", descriptors=1), {"p": 1, "p, next": 1}),
    ("batch", "write", batch([], ACCEPTED), THREE),
    ("batch", "fdatasync", batch(["accepted"], ["unknown", "accepted", "accepted"], code="AGENTJOB_ERR_JOURNAL"), THREE),
    ("batch", "recvfrom", batch(["unknown"], ["unknown", "accepted", "accepted"]), THREE),
    ("batch", "recvfrom", batch(ACCEPTED, ACCEPTED, ms=3250), THREE),
]
BROKEN = [
    ("never arrived", "send", send("accepted"), {"p, next": 1}),
    ("reported as not_sent and arrived", "send", send("not_sent"), {"p": 1, "p, next": 1}),
    ("reported as rejected and arrived", "send", send("rejected"), {"p": 1, "p, next": 1}),
    ("arrived 2 times", "send", send("unknown"), {"p": 2, "p, next": 1}),
    ("has the verdict none", "send", send("none"), {"p, next": 1}),
    ("after its deadline", "send", send("unknown", ms=2200), {"p": 1, "p, next": 1}),
    ("the next call failed", "send", send("unknown", next_code="AGENTJOB_ERR_CONNECT"), {"p": 1, "p, next": 1}),
    ("1 descriptors are left", "send", send("accepted", descriptors=1), {"p": 1, "p, next": 1}),
    ("cannot be resumed", "batch", batch([], [], "AGENTJOB_ERR_JOURNAL"), {}),
    ("after its deadline", "batch", batch([], ACCEPTED, ms=3251), THREE),
    ("2 of 3 messages", "batch", batch([], ["accepted", "accepted"]), THREE),
    ("changed from accepted to unknown", "batch", batch(["accepted"], ["unknown", "accepted", "accepted"]), THREE),
    ("never arrived", "batch", batch([], ACCEPTED), {"p, item 1": 1}),
    ("arrived 2 times", "batch", batch([], ACCEPTED), {**THREE, "p, item 2": 2}),
    ("ended with hang", "send", None, {}),
    ("hides no response", "send", send("unknown"), {"p": 1, "p, next": 1}),
    ("the next call returned after its deadline", "send", send("accepted", next_code="AGENTJOB_ERR_TIMEOUT"), {"p": 1}),
    ("the next call returned after its deadline", "wait", send("accepted", next_code="TimeoutError"), {"p": 1}),
]

for what, call, found, arrived in KEPT:
    assert judge(what, call, found, "exit 0", "", arrived) == [], (what, call, found)
for words, what, found, arrived in BROKEN:
    sentences = judge(what, "sendto", found, "hang" if found is None else "exit 0", "", arrived)
    assert any(words in one for one in sentences), (words, sentences)
# A program that printed it and hung has hung.
assert judge("send", "malloc", None, "hang", "memory allocation of 64 bytes failed", {}) != []
assert judge("send", "malloc", None, "signal 6", "memory allocation of 64 bytes failed", {"p": 1}) == []
print(f"{len(KEPT) + len(BROKEN) + 2} passed, 0 failed")
