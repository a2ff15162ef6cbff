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
POINTS = ["begin", "take", "taken", "request", "processed", "responded", "settle", "settled", "end", "later"]
#: Where the plain pattern is killed instead, because it has no store.
NO_STORE = {"take": "begin", "taken": "begin", "settle": "responded", "settled": "end"}


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
        #: The last process that began each message, and what was killed where.
        self.pids, self.killed = {}, []

    def reach(self, item, point, pid=None):
        """A worker is at a point of a message. Returns when it is dead, if it is to be killed there."""
        with self.lock:
            if pid is not None:
                self.pids[item] = pid
            pid, pending = self.pids.get(item), self.pending.get(item)
            if pid is None or not pending:
                return
            if pending[0] == "later" and point == "begin":
                pending.pop(0)
                threading.Timer(self.draw.uniform(0.0, 0.05), self.kill, (item, "later", pid)).start()
                return
            if pending[0] != point:
                return
            pending.pop(0)
        self.kill(item, point, pid)

    def kill(self, item, point, pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        with self.lock:
            self.killed.append((item, point))
        while is_running(pid):
            time.sleep(0.001)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
