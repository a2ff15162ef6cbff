"""The Python entrants of the race: entrant.py NAME URL KEY [CA_FILE BUNDLE]. lineup.py lists the commands that they read
on standard input. Each keeps its connections, sets a timeout, and parses the response into a dict with its own helpers.

Nothing is imported here that an entrant does not need: a whole program is measured, too. Each is a class: `send` is one message,
and `sender` makes what one thread calls.
"""

import sys
import time

JOB = "job_demo"
NAME, URL, KEY = sys.argv[1:4]
CA_FILE, BUNDLE = sys.argv[4:6] or (None, None)
PATH = f"/v2/agent/demo/job/{JOB}/message"
HEADERS = {"Authorization": f"Bearer {KEY}"}
JSON_HEADERS = {**HEADERS, "Content-Type": "application/json"}
TIMEOUT = 60
MOST_THREADS = 32


def trusting():
    """The platform's roots and the service's, in a context of the standard library."""
    import ssl

    context = ssl.create_default_context()
    context.load_verify_locations(CA_FILE)
    return context


class Entrant:
    def sender(self):
        """What one thread sends with: the client itself, if threads may share it."""
        return self.send

    def times(self, count, prompt):
        send, clock, times = self.sender_kept(), time.perf_counter_ns, []
        for _ in range(count):
            began = clock()
            record = send(prompt)
            times.append(clock() - began)
            assert record["id"] == JOB
        return times

    def sender_kept(self):
        if not hasattr(self, "kept"):
            self.kept = self.sender()
        return self.kept

    def threads(self, count, sends, prompt):
        """Nanoseconds of wall clock and of processor time for `count` threads with `sends` messages each."""
        import threading

        warm = threading.Barrier(count + 1)
        failed = []

        def run():
            try:
                send = self.sender()
                send(prompt)
                warm.wait()
                for _ in range(sends):
                    assert send(prompt)["id"] == JOB
            except BaseException as error:
                failed.append(error)
                warm.abort()

        threads = [threading.Thread(target=run) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            warm.wait()
        except threading.BrokenBarrierError:
            raise failed[0] from None
        began, used = time.perf_counter_ns(), time.process_time_ns()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return time.perf_counter_ns() - began, time.process_time_ns() - used


class agentjob(Entrant):
    def __init__(self):
        import agentjob

        self.client = agentjob.Client(base_url=URL, api_key=KEY, project_id="demo", ca_file=CA_FILE)

    def send(self, prompt):
        return self.client.send_message(JOB, prompt)


class http_client(Entrant):
    """Threads may not share a connection: each has its own."""

    def __init__(self):
        import http.client
        import json

        self.json = json
        host = URL.split("//")[1]
        if CA_FILE:
            context = trusting()
            self.connect = lambda: http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)
        else:
            self.connect = lambda: http.client.HTTPConnection(host, timeout=TIMEOUT)

    def sender(self):
        connection, json = self.connect(), self.json

        def send(prompt):
            connection.request("POST", PATH, json.dumps({"prompt": prompt}), JSON_HEADERS)
            return json.loads(connection.getresponse().read())

        return send


class pycurl(Entrant):
    """Threads may not share a handle: each has its own."""

    def __init__(self):
        import io
        import json

        import pycurl

        self.pycurl, self.json, self.io = pycurl, json, io

    def sender(self):
        pycurl, json, io = self.pycurl, self.json, self.io
        easy = pycurl.Curl()
        easy.setopt(pycurl.URL, URL + PATH)
        # Without `Expect:` it waits a second for a `100 Continue` before a large body.
        easy.setopt(pycurl.HTTPHEADER, [f"{key}: {value}" for key, value in JSON_HEADERS.items()] + ["Expect:"])
        easy.setopt(pycurl.TIMEOUT_MS, TIMEOUT * 1000)
        easy.setopt(pycurl.NOSIGNAL, 1)
        if BUNDLE:
            easy.setopt(pycurl.CAINFO, BUNDLE)

        def send(prompt):
            response = io.BytesIO()
            easy.setopt(pycurl.POSTFIELDS, json.dumps({"prompt": prompt}))
            easy.setopt(pycurl.WRITEDATA, response)
            easy.perform()
            return json.loads(response.getvalue())

        return send


class urllib3(Entrant):
    def __init__(self):
        import urllib3

        trust = {"ssl_context": trusting()} if CA_FILE else {}
        self.pool = urllib3.PoolManager(maxsize=MOST_THREADS, timeout=TIMEOUT, headers=HEADERS, **trust)

    def send(self, prompt):
        return self.pool.request("POST", URL + PATH, json={"prompt": prompt}).json()


class httpx(Entrant):
    def __init__(self):
        import httpx

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=MOST_THREADS)
        self.client = httpx.Client(timeout=TIMEOUT, headers=HEADERS, limits=limits, verify=trusting() if CA_FILE else True)

    def send(self, prompt):
        return self.client.post(URL + PATH, json={"prompt": prompt}).json()


class requests(Entrant):
    def __init__(self):
        self.session = self.made(__import__(NAME))

    def made(self, library):
        session = library.Session()
        # Otherwise it reads the environment for every message, and that overrides `verify`.
        session.trust_env = False
        session.headers.update(HEADERS)
        session.mount(URL, library.adapters.HTTPAdapter(pool_maxsize=MOST_THREADS))
        if BUNDLE:
            session.verify = BUNDLE
        return session

    def send(self, prompt):
        return self.session.post(URL + PATH, json={"prompt": prompt}, timeout=TIMEOUT).json()


class niquests(requests):
    """requests' own interface, on urllib3.future."""


class aiohttp(Entrant):
    """Messages are timed inside one running loop; threads are tasks."""

    def __init__(self):
        import asyncio

        import aiohttp

        self.asyncio = asyncio
        self.loop = asyncio.new_event_loop()

        async def made():
            connector = aiohttp.TCPConnector(limit=0, **({"ssl": trusting()} if CA_FILE else {}))
            return aiohttp.ClientSession(connector=connector, headers=HEADERS, timeout=aiohttp.ClientTimeout(TIMEOUT))

        self.session = self.loop.run_until_complete(made())

    async def post(self, prompt):
        async with self.session.post(URL + PATH, json={"prompt": prompt}) as response:
            return await response.json()

    def send(self, prompt):
        return self.loop.run_until_complete(self.post(prompt))

    def times(self, count, prompt):
        async def run():
            times = []
            for _ in range(count):
                began = time.perf_counter_ns()
                record = await self.post(prompt)
                times.append(time.perf_counter_ns() - began)
                assert record["id"] == JOB
            return times

        return self.loop.run_until_complete(run())

    def threads(self, count, sends, prompt):
        async def task(sends):
            for _ in range(sends):
                assert (await self.post(prompt))["id"] == JOB

        async def run():
            await self.asyncio.gather(*(task(1) for _ in range(count)))
            began, used = time.perf_counter_ns(), time.process_time_ns()
            await self.asyncio.gather(*(task(sends) for _ in range(count)))
            return time.perf_counter_ns() - began, time.process_time_ns() - used

        return self.loop.run_until_complete(run())

    def close(self):
        self.loop.run_until_complete(self.session.close())
        self.loop.close()


class bare(Entrant):
    """No message at all: the interpreter's own time."""

    def send(self, prompt):
        return {"id": JOB}


def main():
    entrant = globals()[NAME]
    client, held, prompt = None, [], "Also cover the error cases"
    for line in sys.stdin:
        word, *numbers = line.split()
        numbers = [int(number) for number in numbers]
        if word in ("send", "threads") and client is None:
            # A whole program makes a client; a single message does not.
            client = entrant()
        if word == "send":
            reply = client.times(*numbers, prompt)
        elif word in ("new", "hold"):
            reply = []
            for _ in range(*numbers):
                began = time.perf_counter_ns()
                one = entrant()
                one.times(1, prompt)
                reply.append(time.perf_counter_ns() - began)
                if word == "hold":
                    held.append(one)
                elif hasattr(one, "close"):
                    one.close()
        elif word == "prompt":
            prompt = "x" * numbers[0]
            reply = [0]
        else:
            reply = client.threads(*numbers, prompt)
        print(*reply, flush=True)
    for one in [client, *held]:
        if hasattr(one, "close"):
            one.close()


main()
