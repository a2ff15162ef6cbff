"""A PostgreSQL server for a test: in a folder of its own, on loopback, and gone with the process that started it."""

import contextlib
import glob
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

#: How long a server may take to start or to end, in seconds, on a starved machine, too.
PATIENCE = 60


def programs():
    """The folder of the newest server's programs, or None."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    folders.sort(key=lambda folder: float(folder.split("/")[4]))
    found = shutil.which("initdb")
    if shutil.which("setpriv") is None:
        return None
    return folders[-1] if folders else os.path.dirname(os.path.realpath(found)) if found else None


def free_port():
    """One that no outgoing connection gets while the server is restarted."""
    for port in random.sample(range(10_000, 32_000), 100):
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")


class Server:
    """A running server. `settings`: of postgresql.conf."""

    def __init__(self, **settings):
        self.programs = programs()
        self.folder = tempfile.mkdtemp(prefix="agentjob-postgresql-")
        self.data = os.path.join(self.folder, "data")
        self.process, self.schemas = None, 0
        # PostgreSQL refuses to run as root.
        self.user = []
        if os.getuid() == 0:
            import pwd

            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        try:
            self._make(settings)
            self.start()
        except BaseException:
            self.__exit__()
            raise

    def _make(self, settings):
        self._run("initdb", "-D", self.data, "-U", "agentjob", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(os.path.join(self.data, "postgresql.conf"), "a") as conf:
            settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder, "max_connections": 200, **settings}
            conf.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        if self.process is None:
            self.port = free_port()
        arguments = [os.path.join(self.programs, "postgres"), "-D", self.data, "-p", str(self.port)]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            # It ends when the thread that starts it does.
            command = ["setpriv", "--pdeathsig=QUIT", *self.user, *arguments]
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.process.outlives_the_test = True
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([os.path.join(self.programs, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.folder, "log")) as log:
                    raise RuntimeError(f"PostgreSQL did not start: {log.read()[-2000:]}")
            time.sleep(0.05)

    def stop(self):
        """Ends it, and every connection."""
        self._end(signal.SIGINT)

    def crash(self):
        """Ends it as a loss of power does: what it has not written is lost."""
        self._end(signal.SIGQUIT)

    def url(self, database="postgres", user="agentjob"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def schema(self):
        """A URL whose connections see a new, empty schema, and nothing else: which is made sooner than a database."""
        self.schemas += 1
        name = f"steps_{os.getpid()}_{self.schemas}"
        self.sql(f"CREATE SCHEMA {name}")
        return f"{self.url()}?options=-csearch_path%3D{name}"

    def sql(self, statement, url=None):
        """What psql prints of a statement: its rows, with `|` between their columns."""
        return self._run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, url or self.url()).rstrip("\n")

    def _run(self, program, *arguments):
        command = ["setpriv", *self.user, os.path.join(self.programs, program), *arguments]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.stdout

    def _end(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(PATIENCE)


class Network:
    """Passes on what clients and the server say, until a test wants something else. `port` is the server's, as clients see it."""

    def __init__(self, port):
        self.server_port, self.state = port, "passes"
        #: After this many responses to statements, it becomes so: "silent", nothing is passed on; "broken", connections end; "cut", one ends;
        #: "stuck", nothing more is passed on over one.
        self.then = (None, None)
        self.responses, self.connections, self.over = 0, 0, False
        #: How many connections a broken network refuses before it passes again.
        self.refuses = 0
        self.holds = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(60)
        self.listener.close()

    def after(self, responses, becomes):
        """It becomes so instead of passing on this many responses from now."""
        self.then = (self.responses + responses, becomes)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                self.connections += 1
                if self.state == "broken":
                    client.close()
                    self.refuses -= 1
                    if self.refuses == 0:
                        self.state = "passes"
                    continue
                thread = threading.Thread(target=self._pass, args=(client,))
                self.threads.append(thread)
                thread.start()

    def _pass(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
            while not self.over:
                for ready in select.select([client, server], [], [], 0.05)[0]:
                    data = ready.recv(65536)
                    # A statement with arguments was executed.
                    if ready is server and b"2\0\0\0\4" in data:
                        self.responses += 1
                        if self.responses == self.then[0]:
                            self.state = self.then[1]
                    while self.state == "silent" and not self.over:
                        self.holds.set()
                        time.sleep(0.02)
                    if self.state == "broken" or not data:
                        return
                    if self.state in ("cut", "stuck"):
                        is_stuck, self.state = self.state == "stuck", "passes"
                        while is_stuck and not self.over:
                            time.sleep(0.02)
                        return
                    (server if ready is client else client).sendall(data)
