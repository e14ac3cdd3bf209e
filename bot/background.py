"""Work that goes on after the acknowledgement: kept alive, its failures logged in one place, drained at the end.

It may have an event loop and a thread of its own (`Workshop`). Then acknowledgements leave in time however much there
is to render and whatever hangs: the loop that acknowledges does nothing else.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future as ThreadFuture
from typing import Any, TypeVar

import structlog

from lessor.garbage import Bustle

QUIET_SECONDS = 0.002
"""The front is quiet when nobody has knocked for so long: longer than the next of a burst takes to come, and so short
that in a steady hundred a second each, 10 ms after the last, finds the work on the one before it done."""

TURN_SECONDS = 0.25
"""The longest that one piece of work lets others go first."""

Result = TypeVar("Result")
Running = ThreadFuture[Any] | asyncio.Future[Any]

log = structlog.get_logger(__name__)


class Front(Bustle):
    """When somebody last knocked: work lets acknowledgements go first."""

    @property
    def quiet(self) -> bool:
        return self.silent_for(QUIET_SECONDS)


class Background:
    """Work that nobody has to await; what fails is logged with what it was doing and spoils nothing else.

    `loop` is where it runs; without it, it runs in the loop of whoever starts it. While many knock at the `front`,
    work begins one after the other, so that a burst is acknowledged before it is worked on.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, front: Front | None = None) -> None:
        self._loop = loop
        self.front = front or Front()
        self._door = asyncio.Lock()
        self._running: set[Running] = set()

    def start(self, work: Coroutine[Any, Any, Any], what: str, *, urgent: bool = False) -> asyncio.Future[Any]:
        """Run it; the result, in the loop of whoever started it, is what the work gave, `None` when it failed.

        `urgent` work does not wait for a quiet moment: an acknowledgement waits for it.
        """
        guarded = _guarded(work if urgent else self._in_turn(work), what)
        if self._loop:
            return _here(self._kept(asyncio.run_coroutine_threadsafe(guarded, self._loop)))
        return _here(self._kept(asyncio.ensure_future(guarded)))

    def follow(self, work: Coroutine[Any, Any, Any], what: str) -> None:
        """Run it next in the loop of whoever calls: what is left to do of something that is answered already."""
        self._kept(asyncio.ensure_future(_guarded(work, what)))

    @property
    def busy(self) -> bool:
        return bool(self._running)

    async def idle(self) -> None:
        """Return when all that runs now has ended."""
        await self._wait(None)

    async def drain(self, seconds: float = 5.0) -> None:
        """Let running work finish for so long, and what it starts as well, then cancel the rest."""
        until = time.monotonic() + seconds
        while self._running and (left := until - time.monotonic()) > 0:
            await self._wait(left)
            await asyncio.sleep(0)  # What is done is not forgotten before the loop has had a turn.
        rest = list(self._running)
        for running in rest:
            running.cancel()
        await asyncio.gather(*map(_here, rest), return_exceptions=True)

    def _kept(self, running: Running) -> Running:
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return running

    async def _in_turn(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            async with self._door:
                waited = time.monotonic() + TURN_SECONDS
                # The front tells nobody that it is quiet: telling would cost it more than it costs to look here.
                while not self.front.quiet and time.monotonic() < waited:  # noqa: ASYNC110
                    await asyncio.sleep(QUIET_SECONDS)
        except asyncio.CancelledError:
            work.close()
            raise
        return await work

    async def _wait(self, seconds: float | None) -> None:
        if self._running:
            await asyncio.wait([_here(running) for running in list(self._running)], timeout=seconds)


class Workshop:
    """An event loop in a thread of its own, as a context manager."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="work", daemon=True)

    async def __aenter__(self) -> Workshop:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        await asyncio.to_thread(self._thread.join)
        self.loop.close()

    async def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run it there and wait for it here; cancelling the wait cancels the work."""
        running: ThreadFuture[Result] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return await asyncio.wrap_future(running)


def _here(running: Running) -> asyncio.Future[Any]:
    """The work as a future of the loop that asks."""
    return asyncio.wrap_future(running) if isinstance(running, ThreadFuture) else running


async def _guarded(work: Coroutine[Any, Any, Any], what: str) -> Any:
    try:
        return await work
    except Exception:
        log.exception("work after an acknowledgement failed", what=what)
        return None
