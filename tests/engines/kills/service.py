"""The service as the workers of an engine see it: the emulator, behind a server to which they report where they are."""

import http.client
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service:
    """`probes` counts the probe tasks that run now, which end when `released` is set; `posts` the messages that are being sent."""

    def __init__(self, emulator, plan, host):
        self.plan, self.probes, self.posts, self.released = plan, 0, 0, threading.Event()
        service, behind = self, emulator.base_url.rpartition("//")[2]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                parts = self.path.split("/")
                if parts[1] == "point":
                    service.plan.reach(int(parts[2]), parts[3], self.client_address[0], int(parts[4]))
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
                if len(body) < int(self.headers["Content-Length"]):
                    raise ConnectionError("the worker was killed while it sent")
                item = int(json.loads(body)["prompt"].rpartition(" ")[2])
                with service.plan.lock:
                    service.posts += 1
                try:
                    service.plan.reach(item, "request", self.client_address[0])
                    self.forward(body, item)
                finally:
                    with service.plan.lock:
                        service.posts -= 1

            def forward(self, body, item=None):
                connection = http.client.HTTPConnection(behind, timeout=30)
                connection.request(self.command, self.path, body, {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
                connection.close()
                if item is not None:
                    service.plan.reach(item, "processed", self.client_address[0])
                self.respond(response.status, text)
                if item is not None:
                    service.plan.reach(item, "responded", self.client_address[0])

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
                # A worker that was killed has closed its connection.
                error = sys.exc_info()[1]
                if not isinstance(error, (ConnectionError, TimeoutError)):
                    service.plan.errors.append(f"the check itself failed: {error!r}")

        self.server = Server((host, 0), Handler)
        self.url = f"http://{host}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
