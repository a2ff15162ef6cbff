"""The service as the workers of an engine see it: the emulator, behind a server that kills the worker of a message at a given point."""

import http.client
import json
import os
import random
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Where a worker is killed; README.md says what they mean.
POINTS = ["begin", "take", "taken", "request", "processed", "responded", "settle", "settled", "finish", "finished", "end", "later", "waiting"]
#: Where the plain pattern is killed instead, because it has no store.
NO_STORE = {"take": "begin", "taken": "begin", "settle": "responded", "settled": "waiting", "finish": "end", "finished": "end"}
#: Those that are times: how many seconds after which point.
TIMES = {"later": (0.0, 0.05, "begin"), "waiting": (0.1, 1.0, "responded")}


class Plan:
    """Which messages' workers are killed where, and which were."""

    def __init__(self, items, kills, pattern, seed):
        draw = random.Random(seed)
        # Of each message up to three workers are killed, one after the other.
        slots = [item for item in range(items) for _ in range(3)]
        draw.shuffle(slots)
        self.pending = {}
        for item in slots[:kills]:
            point = draw.choice(POINTS)
            self.pending.setdefault(item, []).append(NO_STORE.get(point, point) if pattern == "stock" else point)
        self.draw, self.lock = draw, threading.Lock()
        #: The last process of each message, and the last message of each process.
        self.processes, self.messages = {}, {}
        #: What was killed where.
        self.killed = []

    def reach(self, item, point, pid=None):
        """A worker is at a point of a message. Returns when it is dead, if it is to be killed there."""
        with self.lock:
            if pid is not None:
                self.processes[item] = pid, started(pid)
                self.messages[pid] = item
            process, pending = self.processes.get(item), self.pending.get(item)
            if process is None or not pending:
                return
            shortest, longest, after = TIMES.get(pending[0], (0.0, 0.0, pending[0]))
            if after != point:
                return
            name = pending.pop(0)
            pause = self.draw.uniform(shortest, longest)
        if name in TIMES:
            threading.Timer(pause, self.kill, (name, *process)).start()
        else:
            self.kill(name, *process)

    def kill(self, point, pid, at):
        if at is None or started(pid) != at:
            return
        os.kill(pid, signal.SIGKILL)
        with self.lock:
            self.killed.append((self.messages[pid], point))
        while started(pid) == at:
            time.sleep(0.001)


def started(pid):
    """When a process that runs was started; None if it doesn't run."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


class Service:
    """Listens on loopback. `probes` counts the probe tasks that run now; they end when `released` is set."""

    def __init__(self, emulator, plan):
        self.plan, self.probes, self.released = plan, 0, threading.Event()
        host, port = emulator.base_url.rpartition("//")[2].split(":")
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                parts = self.path.split("/")
                if parts[1] == "point":
                    service.plan.reach(int(parts[2]), parts[3], int(parts[4]))
                    self.respond(200, b"")
                elif parts[1] == "probe":
                    with service.plan.lock:
                        service.probes += 1
                    service.released.wait(120)
                    self.respond(200, b"")
                else:
                    self.forward(None)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                item = int(json.loads(body)["prompt"].rpartition(" ")[2])
                service.plan.reach(item, "request")
                self.forward(body, item)

            def forward(self, body, item=None):
                connection = http.client.HTTPConnection(host, int(port), timeout=30)
                connection.request(self.command, self.path, body, {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
                connection.close()
                if item is not None:
                    service.plan.reach(item, "processed")
                self.respond(response.status, text)
                if item is not None:
                    service.plan.reach(item, "responded")

            def respond(self, status, body):
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 256

            def handle_error(self, *_):
                """A worker that was killed has closed its connection."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
