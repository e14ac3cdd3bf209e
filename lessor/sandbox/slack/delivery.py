"""Bringing what people do to the app: at least once, within three seconds, again if need be.

A transport (Socket Mode or signed HTTP) makes one attempt; this module decides about further ones. Events are
tried again up to three times as Slack documents; commands and interactions once more, on another connection
and marked as a first attempt, as seen in the field (bolt-js#2487).
"""

from __future__ import annotations

import asyncio
import copy
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from lessor.sandbox.slack.clock import Clock
from lessor.sandbox.slack.faults import Fault, Faults

Json = dict[str, Any]

COMMAND: Final = "slash_commands"
INTERACTIVE: Final = "interactive"
EVENT: Final = "events_api"

# Seconds between a failed attempt and the next; as many retries as there are entries.
RETRIES: Final[dict[str, tuple[float, ...]]] = {EVENT: (0.0, 60.0, 300.0), COMMAND: (0.0,), INTERACTIVE: (0.0,)}


@dataclass(frozen=True)
class Ack:
    """How one attempt ended. `failure` is "" for an acknowledgement, else `operation_timeout`,
    `dispatch_failed` (nobody connected) or `http_error`; `payload` is what came with the acknowledgement."""

    failure: str = ""
    payload: Json = field(default_factory=dict)
    final: bool = False

    @property
    def ok(self) -> bool:
        return not self.failure


@dataclass(frozen=True)
class Attempt:
    """One sending of one envelope; `number` counts retries from 0, `reason` is why the last one failed."""

    envelope_id: str
    kind: str
    payload: Json
    accepts_payload: bool
    number: int = 0
    reason: str = ""


class Transport(Protocol):
    async def attempt(self, attempt: Attempt) -> Ack: ...


class Deliveries:
    """Sends through whichever transport is set and keeps a log of every attempt (newest last)."""

    def __init__(self, clock: Clock, faults: Faults, transport: Transport, logged: Callable[[], None]) -> None:
        self.transport = transport
        self.log: deque[Json] = deque(maxlen=5000)
        self.retries = dict(RETRIES)
        self._clock = clock
        self._faults = faults
        self._logged = logged
        self._later: set[asyncio.Task[None]] = set()

    async def deliver(self, kind: str, payload: Json, *, accepts_payload: bool = True) -> Ack:
        """Make the first attempt and give its outcome; retries and duplicates go on in the background."""
        first = Attempt(str(uuid.uuid4()), kind, payload, accepts_payload)
        duplicate = self._faults.use("duplicate", kind)
        if duplicate is not None:
            for copied in _copies(first, duplicate):
                self._in_background(self._send_later(copied, duplicate.seconds))
        ack = await self._send(first)
        if not ack.ok and not ack.final:
            self._in_background(self._retry(first, ack))
        return ack

    async def close(self) -> None:
        for task in list(self._later):
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)

    async def _retry(self, first: Attempt, ack: Ack) -> None:
        for number, pause in enumerate(self.retries[first.kind], start=1):
            await self._clock.sleep(pause)
            marked = number if first.kind == EVENT else 0
            reason = "timeout" if ack.failure == "operation_timeout" else ack.failure
            ack = await self._send(
                Attempt(first.envelope_id, first.kind, first.payload, first.accepts_payload, marked, reason)
            )
            if ack.ok or ack.final:
                return

    async def _send_later(self, attempt: Attempt, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self._send(attempt)

    async def _send(self, attempt: Attempt) -> Ack:
        started = self._clock.now()
        if self._faults.use("lose_delivery", attempt.kind) is not None:
            ack = Ack("operation_timeout")
        else:
            ack = await self.transport.attempt(attempt)
            if ack.ok and self._faults.use("ignore_ack", attempt.kind) is not None:
                ack = Ack("operation_timeout")
        self.log.append(
            {
                "envelope_id": attempt.envelope_id,
                "kind": attempt.kind,
                "attempt": attempt.number,
                "at": started,
                "seconds": self._clock.now() - started,
                "outcome": ack.failure or "ok",
                "payload": attempt.payload,
            }
        )
        self._logged()
        return ack

    def _in_background(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)


def _copies(first: Attempt, fault: Fault) -> list[Attempt]:
    if fault.ids == "same":
        return [first] * fault.copies
    copies = []
    for _ in range(fault.copies):
        payload = copy.deepcopy(first.payload)
        if "event_id" in payload:
            payload["event_id"] = f"Ev{uuid.uuid4().hex[:10].upper()}"
        copies.append(Attempt(str(uuid.uuid4()), first.kind, payload, first.accepts_payload))
    return copies
