"""Airflow with its local executor, in four slots, and all of its parts: scheduler, triggerer, DAG processor and API server."""

import json
import pathlib
import subprocess
import sys
import time
import urllib.request

from processes import Processes, free_port, postgresql_server

BIN = pathlib.Path(sys.executable).parent


class Engine:
    name, package, slots = "Airflow", "apache-airflow-core", 4
    settles = 0

    def __init__(self, folder, environment):
        # With SQLite, its scheduler ends when another part has locked the database.
        self.server = postgresql_server()
        self.processes, self.url = Processes(folder), f"http://127.0.0.1:{free_port()}"
        extra = {"project_id": environment["AGENTJOB_PROJECT_ID"], "store": environment["KILLS_STORE"], "timeout": 5}
        connection = {"conn_type": "agentjob", "host": environment["AGENTJOB_BASE_URL"], "password": environment["AGENTJOB_API_KEY"], "extra": extra}
        environment = {
            **environment,
            "PATH": f"{BIN}:{environment['PATH']}",
            "AIRFLOW_HOME": folder,
            "AIRFLOW_CONN_AGENTJOB_DEFAULT": json.dumps(connection),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.server.url().replace("://", "+psycopg2://"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": str(self.slots),
            "AIRFLOW__CORE__DAGS_FOLDER": str(pathlib.Path(__file__).parent / "dags"),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this check, which listens on this machine only " * 2,
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
            "NO_PROXY": "127.0.0.1",
        }
        airflow = BIN / "airflow"
        subprocess.run([airflow, "db", "migrate"], env=environment, check=True, capture_output=True, timeout=300)
        port = self.url.rpartition(":")[2]
        for name, words in {
            "api-server": ["--port", port, "--host", "127.0.0.1", "--workers", "1"],
            "scheduler": [],
            "triggerer": [],
            "dag-processor": [],
        }.items():
            self.processes.start(name, [airflow, name, *words], environment)
        self.token, self.states, self.read_at, self.submitted = None, {}, 0.0, 0

    def begin(self):
        until(self.is_ready)

    def is_ready(self):
        try:
            if self.token is None:
                self.token = self.call("GET", "/auth/token")["access_token"]
            return {"ours", "stock", "probe"} <= {dag["dag_id"] for dag in self.call("GET", "/api/v2/dags")["dags"]}
        except (OSError, KeyError):
            return False

    def submit(self, pattern, item):
        self.submitted += 1
        run = f"item_{item}_{self.submitted}"
        self.call("POST", f"/api/v2/dags/{pattern}/dagRuns", {"dag_run_id": run, "logical_date": None, "conf": {"item": item}})
        return pattern, run

    def submit_probe(self):
        self.call("POST", "/api/v2/dags/probe/dagRuns", {"logical_date": None})

    def outcome(self, future):
        if time.monotonic() > self.read_at + 2:
            runs = [run for state in ("success", "failed") for run in self.runs(state)]
            self.states, self.read_at = {(run["dag_id"], run["dag_run_id"]): run["state"] for run in runs}, time.monotonic()
        state = self.states.get(future)
        return "done" if state == "success" else state

    def runs(self, state):
        offset, found = 0, []
        while True:
            page = self.call("GET", f"/api/v2/dags/~/dagRuns?state={state}&limit=100&offset={offset}")
            found += page["dag_runs"]
            offset += 100
            if offset >= page["total_entries"]:
                return found

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def stop(self):
        self.processes.end()
        self.server.__exit__()


def until(condition, seconds=180):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit("Airflow did not start")
        time.sleep(1)
