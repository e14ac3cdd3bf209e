"""Waiting for machines to reach a state, through throttling and late sightings, and giving up with the reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from lessor.domain.resource import Kind, Resource
from lessor.ports import Heartbeat, RetryableError
from lessor.providers.aws.rollcall import RollCall
from lessor.providers.aws.site import Site

Item = dict[str, Any]
VANISHED_AFTER = timedelta(minutes=10)
VANISHED_READS = 3
"""Missing means gone only for a machine this old, after this many reads in a row (case C08)."""
LONGEST = timedelta(minutes=30)


def not_shown_yet(known: Iterable[Resource], shown: Iterable[Resource], now: datetime) -> tuple[Resource, ...]:
    """Machines on record that were launched lately and are not among what EC2 shows: unknown, not gone (case C08)."""
    seen = {word for resource in shown for word in (resource.id, resource.token) if word}
    return tuple(
        resource
        for resource in known
        if resource.kind is Kind.INSTANCE
        and resource.created_at is not None
        and now - resource.created_at < VANISHED_AFTER
        and seen.isdisjoint((resource.id, resource.token))
    )


class Waits:
    """Waits at a site for some machines. Retryable errors while polling change nothing (case C22)."""

    def __init__(self, roll_call: RollCall, clock: Callable[[], datetime]) -> None:
        self._roll_call, self._clock = roll_call, clock

    def until(
        self,
        site: Site,
        ids: Sequence[str],
        states: Collection[str],
        heartbeat: Heartbeat,
        born: Mapping[str, datetime] | None = None,
    ) -> dict[str, Item]:
        """The machines once each is in one of `states` or has vanished (then it is not in the answer).

        `born` gives launch times: a machine younger than `VANISHED_AFTER` is never believed to be gone. Raises
        `RetryableError` after `LONGEST`.
        """
        begun, mark = self._clock(), self._roll_call.mark(site)
        missed = dict.fromkeys(ids, 0)
        problem = ""
        while True:
            heartbeat(f"waiting for {', '.join(ids)} to be {' or '.join(sorted(states))}")
            try:
                reading = self._roll_call.after(site, mark)
            except RetryableError as error:
                problem = str(error)
            else:
                mark, problem = reading.number, ""
                found = {i: reading.machines[i] for i in ids if i in reading.machines}
                missed = {i: 0 if i in found else count + 1 for i, count in missed.items()}
                gone = {i for i in ids if self._vanished(missed[i], (born or {}).get(i, begun))}
                if all(i in gone or (i in found and found[i]["State"]["Name"] in states) for i in ids):
                    return found
            if self._clock() - begun >= LONGEST:
                raise RetryableError(_late(ids, states, problem), "still-waiting")

    def _vanished(self, missed: int, born: datetime) -> bool:
        return missed >= VANISHED_READS and self._clock() - born >= VANISHED_AFTER


def _late(ids: Sequence[str], states: Collection[str], problem: str) -> str:
    waited = f"{', '.join(ids)} did not become {' or '.join(sorted(states))} within {LONGEST}"
    return f"{waited}; it goes on being watched" + (f". The last reading failed: {problem}" if problem else "")
