"""agentjob for Airflow, Celery, Dask and Ray: steps that send their messages at most once, however often the engine runs them.

Each module needs its engine (`pip install agentjob[airflow]`, `agentjob[celery]` …), and imports it only when it is imported itself.
"""
