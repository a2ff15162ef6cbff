"""Sends a message to each of many jobs and waits for all of them, in worker processes.

    AGENTJOB_BASE_URL=… AGENTJOB_API_KEY=… AGENTJOB_PROJECT_ID=… python process_pool.py "Also cover the error cases" job_1 job_2 …

The client goes to the workers without its key: each reads its own environment.
"""

import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

import agentjob


def follow_up(client, job_id, prompt):
    return client.send_and_wait(job_id, prompt)


def main(prompt, job_ids):
    client = agentjob.Client()
    failed = 0
    with ProcessPoolExecutor(max_workers=4) as workers:
        running = {workers.submit(follow_up, client, job_id, prompt): job_id for job_id in job_ids}
        for ended in as_completed(running):
            try:
                job = ended.result()
                print(job["id"], job["status"], job["prLink"], flush=True)
            except agentjob.Error as error:
                # It came back from the worker with everything that it carried there.
                print(running[ended], error.delivery, error, flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
