"""What the tortured programs talk to: emulators, plain and with TLS, and a proxy that opens tunnels."""

import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import threading
import urllib.request

#: The deadline of the emulator's own endpoints, in seconds.
PATIENCE = 60


class Emulator:
    def __init__(self, program, config, tls):
        command = [program, "--until-stdin-closes", "--config", str(config)] + (["--tls"] if tls else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started = json.loads(self.process.stdout.readline())
        self.url, self.key, self.ca_file = started["base_url"], started["api_key"], started.get("ca_file", "")

    def arrived(self):
        """The places in the ledger of each prompt that was processed."""
        context = ssl.create_default_context(cafile=self.ca_file) if self.ca_file else None
        with urllib.request.urlopen(f"{self.url}/_emulator/ledger", timeout=PATIENCE, context=context) as response:
            messages = json.load(response)["messages"]
        places = {}
        for message in messages:
            places.setdefault(message["prompt"], []).append(message["n"])
        return places

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


class Proxy:
    """An HTTP proxy on loopback that knows only CONNECT."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.tunnel, args=(client,), daemon=True).start()

    def tunnel(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                received = client.recv(4096)
                if not received:
                    return
                head += received
            host, port = head.split()[1].decode().rsplit(":", 1)
            with socket.create_connection((host, int(port)), PATIENCE) as service:
                service.settimeout(None)
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=pump, args=(service, client), daemon=True)
                back.start()
                pump(client, service)
                back.join()

    def end(self):
        self.listener.close()


def pump(source, sink):
    with contextlib.suppress(OSError):
        while received := source.recv(65536):
            sink.sendall(received)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class Services:
    """One of each, for one worker."""

    def __init__(self, emulator, folder):
        config = pathlib.Path(folder) / "emulator.json"
        jobs = [{"id": f"job_{number}", "status": "completed"} for number in (1, 2, 3)]
        config.write_text(json.dumps({"hourly_limit": 10_000_000, "work_ms": 40, "keep_requests": False, "jobs": jobs}))
        self.plain, self.tls, self.proxy = Emulator(emulator, config, False), Emulator(emulator, config, True), Proxy()

    def route(self, route):
        """The arguments URL KEY CA_FILE PROXY of a program."""
        it = self.tls if route == "tls" else self.plain
        url = it.url.replace("127.0.0.1", "localhost") if route == "name" else it.url
        return [url, it.key, it.ca_file, self.proxy.url if route == "proxy" else ""]

    def end(self):
        for service in (self.plain, self.tls, self.proxy):
            service.end()
