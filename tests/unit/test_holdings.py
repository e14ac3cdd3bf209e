"""What the meter asks places of the pods of their leases: one question each, and silence never means nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from activities.holdings import Holdings
from lessor.domain.request import Place
from lessor.domain.usage import Held, Subject
from lessor.ports import RetryableError

SINCE = datetime(2026, 11, 28, 12, tzinfo=UTC)
LAB, YARD = Place("kubernetes", "lab"), Place("kubernetes", "yard")


@dataclass
class FakeOccupancy:
    """Says of each place what it was told to, or raises it, or waits for `gate`."""

    says: Mapping[str, Mapping[str, Held] | Exception] = field(default_factory=dict)
    gate: threading.Event | None = None
    asked: list[tuple[Place, datetime, tuple[str, ...]]] = field(default_factory=list)

    def held(self, place: Place, since: datetime, leases: Collection[str]) -> Mapping[str, Held]:
        self.asked.append((place, since, tuple(leases)))
        found = self.says.get(place.name, {})
        if isinstance(found, Exception):
            raise found
        if place == YARD and self.gate:
            self.gate.wait(60)
        return found


def subject(lease: str, place: Place = LAB, namespace: str | None = None) -> Subject:
    return Subject(lease, 4, (), lease if namespace is None else namespace, place.provider, place.name)


def of(kinds: Mapping[str, object], *subjects: Subject, limit: timedelta = timedelta(seconds=5)) -> dict[str, Held]:
    return asyncio.run(Holdings(kinds, limit).of(subjects, SINCE))


def test_each_place_is_asked_once_for_all_of_its_namespaces() -> None:
    kind = FakeOccupancy({"lab": {"gpu-a": Held(1), "gpu-b": Held(0, 2)}, "yard": {"gpu-c": Held(4)}})
    others = (subject("gpu-d", namespace=""), subject("gpu-e", Place("aws", "main")))
    found = of(
        {"kubernetes": kind, "aws": object()}, subject("gpu-a"), subject("gpu-b"), subject("gpu-c", YARD), *others
    )
    assert found == {"gpu-a": Held(1), "gpu-b": Held(0, 2), "gpu-c": Held(4)}
    assert sorted(kind.asked, key=str) == [(LAB, SINCE, ("gpu-a", "gpu-b")), (YARD, SINCE, ("gpu-c",))]


def test_a_place_that_fails_is_unknown_for_its_own_leases_only() -> None:
    kind = FakeOccupancy({"lab": RetryableError("cluster lab gave no answer"), "yard": {"gpu-c": Held(4)}})
    found = of({"kubernetes": kind}, subject("gpu-a"), subject("gpu-c", YARD))
    assert found == {"gpu-a": Held(problem="cluster lab gave no answer"), "gpu-c": Held(4)}


def test_a_fault_of_ours_is_told_without_its_words() -> None:
    found = of({"kubernetes": FakeOccupancy({"lab": KeyError("token=s3cret")})}, subject("gpu-a"))
    assert found == {"gpu-a": Held(problem="kubernetes/lab could not be read (KeyError); the worker's log says why")}


def test_a_place_that_hangs_keeps_no_other_waiting() -> None:
    gate = threading.Event()
    kind = FakeOccupancy({"lab": {"gpu-a": Held(1)}, "yard": {"gpu-c": Held(4)}}, gate)
    try:
        found = of({"kubernetes": kind}, subject("gpu-a"), subject("gpu-c", YARD), limit=timedelta(milliseconds=50))
    finally:
        gate.set()
    problem = "kubernetes/yard gave no whole answer within 0 s"
    assert found == {"gpu-a": Held(1), "gpu-c": Held(problem=problem)}


def test_a_place_that_goes_on_hanging_is_asked_no_more_until_it_answers() -> None:
    gate = threading.Event()
    kind = FakeOccupancy({"lab": {"gpu-a": Held(1)}, "yard": {"gpu-c": Held(4)}}, gate)
    asked = Holdings({"kubernetes": kind}, timedelta(milliseconds=20))
    both = (subject("gpu-a"), subject("gpu-c", YARD))

    async def look() -> dict[str, Held]:
        return await asked.of(both, SINCE)

    try:
        for _ in range(6):
            found = asyncio.run(look())
            assert found["gpu-a"] == Held(1)
    finally:
        gate.set()
    assert sum(place == YARD for place, _, _ in kind.asked) == 4
    assert found["gpu-c"].problem.startswith("kubernetes/yard has left 4 questions unanswered")
    kind.gate = None
    until = time.monotonic() + 60
    while asyncio.run(look())["gpu-c"] != Held(4):
        assert time.monotonic() < until


async def test_many_that_ask_a_place_at_the_same_time_are_all_answered() -> None:
    gate = threading.Event()
    kind = FakeOccupancy({"yard": {"gpu-c": Held(4)}}, gate)
    asked = Holdings({"kubernetes": kind})
    looks = [asyncio.ensure_future(asked.of((subject("gpu-c", YARD),), SINCE)) for _ in range(20)]
    try:
        for _ in range(10):
            await asyncio.sleep(0)
    finally:
        gate.set()
    assert await asyncio.gather(*looks) == [{"gpu-c": Held(4)}] * 20
