"""Plays steps one after the other, each with its own time limit, and keeps what came of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lessor.sandbox.slack import PersonError
from lessor.typed import single_spaced


class StepFailedError(Exception):
    """A step did not come out as it must; the text says what was seen instead."""


@dataclass(frozen=True)
class Step:
    """One thing that has to happen within `seconds`. `play` makes it happen and gives what was seen, in words."""

    title: str
    seconds: float
    play: Callable[[], Awaitable[str]]


@dataclass
class Result:
    """What came of one step; `ok` is `None` while it has not ended."""

    step: Step
    ok: bool | None = None
    seen: str = ""
    started: float = 0.0
    took: float = 0.0


@dataclass
class Performance:
    """All steps of one performance, in order."""

    results: list[Result] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return bool(self.results) and all(result.ok for result in self.results)

    @property
    def failed(self) -> Result | None:
        return next((result for result in self.results if result.ok is False), None)


class View(Protocol):
    """Shows a performance while it goes on."""

    def changed(self, result: Result) -> None: ...


async def perform(steps: Sequence[Step], performance: Performance, view: View) -> None:
    """Play the steps until one fails; those after it stay unplayed, since each stands on the ones before."""
    performance.results = [Result(step) for step in steps]
    for result in performance.results:
        result.started = time.monotonic()
        view.changed(result)
        await _play(result)
        result.took = time.monotonic() - result.started
        view.changed(result)
        if not result.ok:
            return


async def _play(result: Result) -> None:
    step = result.step
    try:
        async with asyncio.timeout(step.seconds) as limit:
            result.seen = await step.play()
        result.ok = True
    except TimeoutError as late:
        # A wait inside may have a shorter limit of its own and then says more.
        said = "" if limit.expired() else f": {late}"
        result.ok, result.seen = False, f"did not happen within {step.seconds:g} s{said}"
    except Exception as failed:
        result.ok, result.seen = False, why(failed)


def why(failed: Exception) -> str:
    """One line that says what went wrong; an error that is not of the demo's own making with its type and cause."""
    if isinstance(failed, StepFailedError | PersonError):
        return single_spaced(str(failed))
    chain = (failed, failed.__cause__) if failed.__cause__ else (failed,)
    return ", because of ".join(single_spaced(f"{type(one).__name__}: {one}").removesuffix(":") for one in chain)
