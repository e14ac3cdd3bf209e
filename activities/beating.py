"""Signs of life of long activities: a worker that died is noticed, and an attempt that was given up stops itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, copy_context

from temporalio import activity
from temporalio.exceptions import CancelledError

BEAT = 10.0

_doing: ContextVar[list[str] | None] = ContextVar("doing", default=None)
"""What an activity said last, shared with the thread that beats for it, so that the Temporal UI goes on showing it."""

blocking = activity.defn(no_thread_cancel_exception=True)
"""Declares an activity that runs in a thread. No cancellation is thrown into that thread, which could strike between
taking and giving back a lock and leave it taken for ever; such an activity stops at its next sign of life instead."""


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Heartbeat while the block of an asynchronous activity runs; short ones end before the first beat."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(BEAT)
            activity.heartbeat()

    beats = asyncio.create_task(beat())
    try:
        yield
    finally:
        beats.cancel()


@contextmanager
def beating_beside() -> Iterator[None]:
    """Heartbeat from a thread beside while the block of a blocking activity waits for what gives no sign of life.

    So a call that takes long is no dead worker, and one that died is noticed within a few beats. Each such call has a
    limit of its own; `alive` stops an attempt that is no longer the current one.
    """
    ended, said = threading.Event(), list[str]()
    before = _doing.set(said)

    def beat() -> None:
        while not ended.wait(BEAT):
            activity.heartbeat(*said)

    thread = threading.Thread(target=copy_context().run, args=(beat,), name="beats", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _doing.reset(before)


def alive(what: str) -> None:
    """Tell the server that this attempt lives, and stop it here when it is no longer the current one (case B13)."""
    still_current(what)
    said = _doing.get()
    if said is not None:
        said[:] = [what]
    activity.heartbeat(what)


def still_current(what: str) -> None:
    """For threads of an asynchronous activity, whose block beats for them."""
    if activity.is_cancelled():
        raise CancelledError(f"this attempt is no longer current; stopped before: {what}")
