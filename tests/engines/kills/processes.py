"""The processes of an engine: each with a log in the check's folder, all ended with it; and PostgreSQL's server."""

import os
import pathlib
import signal
import socket
import subprocess
import sys


class Processes:
    def __init__(self, folder):
        self.folder, self.running = folder, []

    def start(self, name, command, environment):
        with open(os.path.join(self.folder, name + ".log"), "w") as log:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.running.append(process)

    def end(self):
        for process in reversed(self.running):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def postgresql_server(**settings):
    sys.path.append(str(pathlib.Path(__file__).parents[2] / "python"))
    import postgresql

    if postgresql.programs() is None:
        print("SKIPPED: PostgreSQL's server is not installed (apt-get install postgresql)")
        sys.exit(0)
    return postgresql.Server(**settings)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
