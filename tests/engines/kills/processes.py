"""The processes of an engine: each with a log in the check's folder, all ended with it."""

import os
import signal
import socket
import subprocess


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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
