"""The same on the workers of a Dask cluster, on this machine or on others.

    AGENTJOB_BASE_URL=… AGENTJOB_API_KEY=… AGENTJOB_PROJECT_ID=… python dask_workers.py "Also cover the error cases" job_1 job_2 …

The client goes to the workers without its key, so AGENTJOB_API_KEY (or AGENTJOB_API_KEY_FILE) must be set there, too. Dask repeats
a task whose worker died: `retries=0` below, and a message whose worker died is looked at before it is sent again.
"""

import sys

from dask.distributed import Client as Cluster
from dask.distributed import LocalCluster, as_completed

import agentjob


def follow_up(client, job_id, prompt):
    return client.send_and_wait(job_id, prompt)


def main(prompt, job_ids):
    client = agentjob.Client()
    failed = 0
    with LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None) as local, Cluster(local) as cluster:
        tasks = {cluster.submit(follow_up, client, job_id, prompt, pure=False, retries=0): job_id for job_id in job_ids}
        for ended in as_completed(tasks):
            try:
                job = ended.result()
                print(job["id"], job["status"], job["prLink"], flush=True)
            except agentjob.Error as error:
                print(tasks[ended], error.delivery, error, flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
