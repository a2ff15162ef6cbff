"""Client certificates: the service sees them, from every kind of client, and they are nowhere else."""

import asyncio
import json
import pickle
import shutil
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import agentjob
from agentjob.aio import AsyncClient
from test_cli import run

RECORD = json.dumps({"id": "job_demo", "status": "completed"}).encode()


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """A certificate for both sides, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("SKIPPED: client certificates, because openssl is not installed")
    folder = tmp_path_factory.mktemp("pem")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=both"
    words += " -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE"
    paths = {"cert": folder / "cert.pem", "key": folder / "key.pem"}
    command = ["openssl", *words.split(), "-keyout", paths["key"], "-out", paths["cert"]]
    subprocess.run(command, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text(paths["cert"].read_text() + paths["key"].read_text())
    both.chmod(0o600)
    paths["key"].chmod(0o600)
    return {**paths, "both": both}


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        subject = dict(pair for part in self.connection.getpeercert()["subject"] for pair in part)
        self.server.seen.append(subject["commonName"])
        self.send_response(200)
        self.send_header("Content-Length", str(len(RECORD)))
        self.end_headers()
        self.wfile.write(RECORD)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that shows no certificate is what some tests are about."""


@pytest.fixture
def service(pem):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem["cert"], pem["key"])
    context.load_verify_locations(pem["cert"])
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server(("127.0.0.1", 0), Service)
    server.seen = []
    # The handshake takes place in the connection's own thread.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def given(service, pem):
    url = f"https://127.0.0.1:{service.server_address[1]}"
    return {"base_url": url, "project_id": "p", "ca_file": str(pem["cert"]), "trust_env": False}


def test_every_client_shows_its_certificate(service, pem, monkeypatch):
    monkeypatch.setenv("AGENTJOB_API_KEY", "k")
    settings = given(service, pem)
    with agentjob.Client(**settings, client_cert=pem["cert"], client_key=pem["key"]) as client:
        client.send_message("job_demo", "p")
        with pickle.loads(pickle.dumps(client)) as copy:
            copy.get_job("job_demo")

    async def main():
        async with AsyncClient(**settings, client_cert=str(pem["both"])) as client:
            await client.get_job("job_demo")

    asyncio.run(main())
    flags = ["--base-url", settings["base_url"], "--project-id", "p", "--ca-file", settings["ca_file"]]
    own = ["--client-cert", str(pem["cert"]), "--client-key", str(pem["key"])]
    assert run(None, "get", "job_demo", *flags, *own)[0] == 0
    assert run(None, "get", "job_demo", *flags, env={"AGENTJOB_CLIENT_CERT": str(pem["both"])})[0] == 0
    assert service.seen == ["both"] * 5


def test_a_message_to_a_service_that_requires_a_certificate_was_not_sent(service, pem):
    with agentjob.Client(**given(service, pem), api_key="k") as client, pytest.raises(agentjob.TlsError) as caught:
        client.send_message("job_demo", "p")
    assert caught.value.delivery == "not_sent"
    assert "it requires a client certificate" in caught.value.reason and service.seen == []


def test_a_key_is_in_no_error_and_no_repr(pem):
    key = pem["key"].read_text()
    with pytest.raises(agentjob.InvalidArgumentError, match="client_key is given without client_cert") as caught:
        agentjob.Client(base_url="https://x.invalid", project_id="p", api_key="k", client_key=pem["key"])
    client = agentjob.Client(base_url="https://x.invalid", project_id="p", api_key="k", client_cert=pem["both"])
    for text in (str(caught.value.to_dict()), repr(client)):
        assert not any(line in text for line in key.splitlines()[1:-1])


def test_the_command_line_names_the_flag_that_is_wrong(pem):
    flags = ["--base-url", "https://x.invalid", "--project-id", "p", "--client-cert", str(pem["cert"])]
    status, _, err = run(None, "get", "job_demo", *flags, env={"AGENTJOB_API_KEY": "k"})
    assert status == 2 and "contains no private key. Give the file with the key as client_key" in err
