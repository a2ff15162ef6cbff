"""Writes journals line by line, as docs and core describe them, so that a page can be about anything."""

import hashlib
import json
from datetime import datetime, timedelta, timezone

START = datetime(2026, 11, 20, 22, 0, tzinfo=timezone.utc)


class Journal:
    """A journal that grows; `at` is its clock, in seconds since it began."""

    def __init__(self, base_url="https://api.example.com", project_id="web", rate="100/h", wait=True, items=1):
        self._lines, self._sum = [], "0" * 16
        self._settings = {"base_url": base_url, "project_id": project_id, "rate": rate, "wait": wait, "items": items}
        self.at = 0.0
        self.run()

    def run(self):
        its = self._settings
        head = {"line": "run", "journal": 4, "agentjob": "0.1.0", "base_url": its["base_url"], "project_id": its["project_id"]}
        head.update(pid=4711, items=its["items"], concurrency=4, rate=its["rate"], wait=its["wait"])
        self._add({name: value for name, value in head.items() if value is not None})

    def sending(self, item, job_id=None, own_key=None):
        fields = {"line": "sending", **self._item(item, own_key), "prompt": digest("prompt", str(item)), "job_id": job_id or f"job_{item}"}
        self._add({**fields, "own_key": own_key} if own_key is not None else fields)

    def ended(self, item, delivery, own_key=None, job=None, **more):
        fields = {"line": delivery, **self._item(item, own_key)}
        self._add({**fields, **({"job": job} if job else {}), **more})

    def finished(self, item, job, own_key=None):
        self._add({"line": "finished", **self._item(item, own_key), "job": job})

    def decided(self, item, decision, own_key=None):
        self._add({"line": "decided", **self._item(item, own_key), "decision": decision})

    def paused(self, reason, seconds):
        self._add({"line": "paused", "reason": reason, "pause_ms": int(seconds * 1000)})

    def write(self, path):
        path.write_text("".join(self._lines), encoding="utf-8")
        return path

    def _item(self, item, own_key):
        return {"key": digest("key", own_key) if own_key is not None else digest("place", str(item)), "item": item}

    def _add(self, fields):
        at = (START + timedelta(seconds=self.at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {**fields, "at": at, "up_ms": int(self.at * 1000), "after": self._sum[:8]}
        # Without the brace at its end, which comes behind the checksum.
        body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)[:-1]
        self._sum = hashlib.sha256(body.encode()).hexdigest()[:16]
        self._lines.append(f'{body},"sum":"{self._sum}"}}\n')


def digest(*parts):
    """As the journal has it: the first half of the SHA-256 of the parts, each with its length before it."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part.encode()).to_bytes(8, "little") + part.encode())
    return hashed.hexdigest()[:32]


def record(item, status="completed", link=True, **more):
    job = {"id": f"job_{item}", "status": status, "source": {"repository": "https://github.com/acme/web", "ref": "main"}}
    return {**job, **({"prLink": f"https://github.com/acme/web/pull/{100 + item}"} if link else {}), **more}


def night(items=120, unsent=0):
    """A night as it may go: a rate limit, an outage, a second run, and a person's decisions."""
    journal = Journal(items=items + unsent)
    done = []
    for item in range(1, items + 1):
        own_key = f"TICKET-{item}" if item % 5 == 0 else None
        if item == items // 3:
            journal.sending(item, own_key=own_key)
            journal.at += 0.4
            journal.ended(item, "not_sent", own_key, error={"kind": "rate_limit", "http_status": 429}, retry_after_ms=1_500_000)
            journal.paused("rate_limit", 1500)
            journal.at += 1500
        if item == items * 2 // 3:
            for more in (item, item + 1):
                journal.sending(more)
            journal.at += 60
            for more in (item, item + 1):
                journal.ended(more, "unknown", error={"kind": "timeout"})
            for seconds in (60, 300, 900):
                journal.paused("service_failure", seconds)
                journal.at += seconds
            continue
        if item == items * 2 // 3 + 1:
            journal.at += 3600
            journal.run()
            continue
        journal.at += 25 + item * 7 % 23
        journal.sending(item, own_key=own_key)
        journal.at += 0.3 + item % 7 / 10
        if item % 29 == 0:
            journal.ended(item, "rejected", own_key, error={"kind": "not_found", "http_status": 404, "request_id": f"req_{item}"})
        elif item % 53 == 0:
            journal.ended(item, "unknown", own_key, error={"kind": "server", "http_status": 503})
        else:
            journal.ended(item, "accepted", own_key, record(item, "active", link=False))
            done.append((item, own_key))
        if len(done) > 6:
            finish(journal, *done.pop(0))
    for item, own_key in done[:-1]:
        journal.at += 40
        finish(journal, item, own_key)
    journal.at += 1800
    journal.decided(items * 2 // 3, "arrived")
    if items >= 29:
        journal.decided(29, "drop")
    journal.decided(items * 2 // 3 + 1, "not_arrived")
    return journal


def finish(journal, item, own_key=None):
    failed = item % 17 == 0
    journal.finished(item, record(item, "failed" if failed else "completed", link=not failed and item % 11 > 0), own_key)
