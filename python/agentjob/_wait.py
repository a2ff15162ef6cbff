"""The loop of a wait, without the sleeping and the polling: those block in one face, and are awaited in another."""


def records(poller):
    """Drives a Poller to its end. Yields each record that differs from the one before it. Yields None for each pause: sleep
    `poller.due_in` seconds, call `poller.poll()`, then continue.

    A poller that begins with the response to a message yields that record first.
    """
    job = poller.job
    if job is not None:
        yield job
    while not poller.done or job is None:
        yield None
        job = poller.job
        if poller.changed:
            yield job
