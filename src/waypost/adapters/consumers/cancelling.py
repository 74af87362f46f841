"""A loop that ends when it is told to, also where a library in between has swallowed the word."""

import asyncio


def heed_cancellation() -> None:
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
