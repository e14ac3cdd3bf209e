"""Asks every source of telemetry at once; one that fails, hangs or raises nonsense is silent and spoils no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.contracts import SourceReport
from lessor.domain.attribution import unlabelled
from lessor.domain.usage import Reading, Subject
from lessor.ports import Telemetry, TelemetryError

LIMIT = timedelta(seconds=75)
"""Sources have limits of their own; what is slower than this has none, or does not keep it."""

AT_ONCE = 16
"""So many queries run at the same time, those of single leases among them."""

NAMED = 20
"""How many nodes a report names at most."""


@dataclass(frozen=True)
class Readings:
    """What the sources said: the answers, and for each source how it went."""

    answers: tuple[Reading, ...]
    reports: tuple[SourceReport, ...]

    @property
    def silent(self) -> tuple[str, ...]:
        return tuple(report.name for report in self.reports if not report.ok)


class Sources:
    """All sources, in threads of their own: one that hangs keeps nobody waiting who asks no source."""

    def __init__(self, sources: Mapping[str, Telemetry]) -> None:
        self._sources = sources
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="telemetry")

    async def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Readings:
        """One query of each source for (at - length, at], all at the same time."""
        found = await asyncio.gather(*(self._read(source, at, length, only) for source in self._sources.values()))
        answers = tuple(answer for answer in found if isinstance(answer, Reading))
        reports = tuple(_report(name, answer, at) for name, answer in zip(self._sources, found, strict=True))
        return Readings(answers, reports)

    async def _read(self, source: Telemetry, at: datetime, length: timedelta, only: Sequence[Subject]) -> Reading | str:
        asking = asyncio.get_running_loop().run_in_executor(self._threads, source.read, at, length, only)
        try:
            return await asyncio.wait_for(asking, LIMIT.total_seconds())
        except TelemetryError as error:
            return str(error)[:500] or "it gave no answer"
        except TimeoutError:
            return f"telemetry source '{source.name}' gave no answer within {LIMIT.total_seconds():.0f} s"
        except Exception as error:
            # What it raised is a fault of ours; its words may hold addresses, so that only its kind is told.
            return f"telemetry source '{source.name}' failed in a way that nobody thought of ({type(error).__name__})"


def counted_on(reports: Sequence[SourceReport], before: Sequence[SourceReport]) -> tuple[SourceReport, ...]:
    """The reports of a tick, with what is counted from tick to tick: how long silent, and since when."""
    earlier = {report.name: report for report in before}
    return tuple(_on(report, earlier.get(report.name)) for report in reports)


def _report(name: str, answer: Reading | str, at: datetime) -> SourceReport:
    if isinstance(answer, str):
        return SourceReport(name, False, problem=answer, silent=1)
    shares = {node: count / total for node, (count, total) in unlabelled(answer).items()}
    largest = dict(sorted(shares.items(), key=lambda one: (-one[1], one[0]))[:NAMED])
    seen = len(answer.seen)
    return SourceReport(name, True, seen, answer.dropped, answer.capped, last_good=at, unlabelled=largest)


def _on(report: SourceReport, before: SourceReport | None) -> SourceReport:
    if report.ok or before is None:
        return report
    return SourceReport(
        report.name,
        False,
        problem=report.problem,
        silent=before.silent + 1,
        last_good=before.last_good,
    )
