"""The two services on loopback, each as a context manager that yields the entrants' arguments."""

import contextlib
import json
import pathlib
import ssl
import subprocess
import tempfile

SCRIPT = {"hourly_limit": 1_000_000_000, "work_ms": 60_000, "keep_prompts": False, "keep_requests": False}
#: Every response ends its connection.
CLOSING = {
    **SCRIPT,
    "rules": [{"method": "POST", "status": 200, "headers": {"Connection": "close"}, "after_response": "close_notify"}],
}


@contextlib.contextmanager
def running(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


@contextlib.contextmanager
def emulator(program, script=SCRIPT, tls=False):
    """The contract's service; over TLS with the authority's file, and with a bundle of it and the platform's."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "service.json")
        config.write_text(json.dumps(script))
        with running([str(program), *["--tls"] * tls, "--config", str(config), "--until-stdin-closes"]) as listening:
            arguments = [listening["base_url"], listening["api_key"]]
            if tls:
                platform = ssl.get_default_verify_paths().cafile
                bundle = pathlib.Path(folder, "bundle.pem")
                authority = pathlib.Path(listening["ca_file"]).read_text()
                bundle.write_text((pathlib.Path(platform).read_text() if platform else "") + authority)
                arguments += [listening["ca_file"], str(bundle)]
            yield arguments


@contextlib.contextmanager
def fixed(program):
    """The service that responds at once with one record: fixed.rs."""
    with running([str(program)]) as listening:
        yield [listening["base_url"], listening["api_key"]]
