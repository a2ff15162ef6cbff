"""What Airflow reads of the package (the entry point apache_airflow_provider): its type of connection."""

from typing import Any, Dict


def get_provider_info() -> Dict[str, Any]:
    hidden, labels = ["schema", "login", "port"], {"host": "Base URL", "password": "API key"}
    behaviour = {"hidden-fields": hidden, "relabeling": labels, "placeholders": {"extra": '{"store": "postgresql://…", "project_id": "…"}'}}
    connection = {
        "connection-type": "agentjob",
        "hook-class-name": "agentjob.engines.airflow.AgentJobHook",
        "hook-name": "agentjob",
        "ui-field-behaviour": behaviour,
    }
    return {"package-name": "agentjob", "name": "agentjob", "description": "Messages to agent jobs", "connection-types": [connection]}
