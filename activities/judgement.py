"""Judges one tick: what was seen is joined to the leases, each is judged by itself, then the fleet as a whole."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from activities.fleet import Watched
from activities.readings import Readings
from lessor.contracts import Alarm, MeterReport, PageInput
from lessor.domain import braking
from lessor.domain.attribution import attribute, crowded
from lessor.domain.braking import BrakeTerms
from lessor.domain.idle import Standing, Verdict
from lessor.domain.idle_review import at_maximum
from lessor.domain.judging import advance
from lessor.domain.ladder import Brake
from lessor.domain.request import spell
from lessor.domain.unheld import counted
from lessor.domain.usage import Held, Observation, Reading, Subject

log = logging.getLogger(__name__)

SILENT = 3
"""Ticks in a row without an answer of a source, or without a whole look at a lease, after which people are told."""

NAMED = 20
"""How many ids a message names; the count beside them is whole."""

Found = tuple[Observation, Standing]


@dataclass(frozen=True)
class Before:
    """Where the fleet stood before a tick, by lease, and what that tick came to."""

    standings: Mapping[str, Standing]
    report: MeterReport | None = None


def observe(
    fleet: Mapping[str, Watched], readings: Readings, held: Mapping[str, Held], at: datetime
) -> tuple[Observation, ...]:
    """One observation for each lease, in the order of `fleet`, with what its pods hold where that was asked.

    An answer that no sense can be made of is as good as none, and spoils no other source's (law 11).
    """
    return tuple(counted(one, held.get(one.lease_id)) for one in _attributed(fleet, readings, at))


def _attributed(fleet: Mapping[str, Watched], readings: Readings, at: datetime) -> tuple[Observation, ...]:
    subjects = [one.subject for one in fleet.values()]
    try:
        return attribute(subjects, readings.answers, at, readings.silent)
    except Exception:
        log.exception("an answer of telemetry makes no sense")
    whole = [reading for reading in readings.answers if _makes_sense(subjects, reading, at)]
    told = {reading.source for reading in whole}
    silent = (*readings.silent, *(reading.source for reading in readings.answers if reading.source not in told))
    return attribute(subjects, whole, at, silent)


def _makes_sense(subjects: Sequence[Subject], reading: Reading, at: datetime) -> bool:
    try:
        attribute(subjects, (reading,), at)
    except Exception:
        return False
    return True


def judge_one(before: Standing | None, seen: Observation, one: Watched, every: timedelta) -> Standing:
    """Where a lease stands now. What cannot be judged is unknown, and spoils no other lease (law 11)."""
    try:
        return advance(before, seen, one.terms, one.subject, every)
    except Exception as error:
        log.exception("%s cannot be judged", seen.lease_id)
        missed = before.missed + 1 if before else 1
        problem = f"it cannot be judged ({type(error).__name__}); the worker's log says more"
        unknown = Standing(seen.lease_id, seen.at, Verdict.UNKNOWN, seen.at)
        return replace(unknown, gpus=one.subject.gpus, missed=missed, problem=problem)


def brake_of(
    fleet: Mapping[str, Watched], before: Before, now: Sequence[Standing], silent: bool, terms: BrakeTerms, brake: Brake
) -> tuple[str, bool]:
    """Why nothing may be stopped after this tick, empty when nothing looks like a mistake; and whether it is believed.

    What is not to be believed comes first: then nobody is to be warned either.
    """
    if not now:
        return "", False
    silenced = [one.lease_id for one in now if one.missed] if silent else []
    at_once = braking.all_at_once(before.standings, now, silenced, terms)
    if at_once:
        return at_once, True
    stops = (braking.stops_at(fleet[one.lease_id].lease, one, fleet[one.lease_id].terms) for one in now)
    return braking.too_many(stops, len(now), terms, brake, now[0].at), False


def verdicts(standings: Sequence[Standing]) -> dict[str, int]:
    return dict(Counter(one.verdict.value for one in standings))


def pages(
    readings: Readings, report: MeterReport, before: Before, now: Sequence[Standing], fleet: Mapping[str, Watched]
) -> Iterator[PageInput]:
    """What administrators have to hear of one tick. What lasts is told when it begins, not with every tick."""
    for source in report.sources:
        if source.silent == SILENT:
            last = f"; its last answer was at {source.last_good:%Y-%m-%d %H:%M} UTC" if source.last_good else ""
            held = "what it would have said is unknown, so that nothing is stopped as idle by it"
            yield PageInput(Alarm.SOURCE_SILENT, source.name, f"{source.problem}{last}; {held}")
    for reading in readings.answers:
        for node, problem in sorted(crowded(reading).items()):
            yield PageInput(Alarm.UNLABELLED, node or reading.source, f"{problem}; nothing is stopped as idle there")
    for one in now:
        yield from _odd(before.standings.get(one.lease_id), one, fleet[one.lease_id])
    yield from _unseen(now, readings, before)


def _odd(before: Standing | None, now: Standing, one: Watched) -> Iterator[PageInput]:
    """GPUs that look broken since this tick, and those that have been at their maximum for too long since then."""
    broken = set(now.faulty) - set(before.faulty if before else ())
    if broken:
        names = ", ".join(sorted(broken))
        yield PageInput(Alarm.FAULTY_GPU, now.lease_id, f"GPU {names} looks broken: busy or full without a process")
    full = set(at_maximum(now, one.terms)) - set(at_maximum(before, one.terms) if before else ())
    if full and one.terms.review_after:
        names, purpose = ", ".join(sorted(full)), one.lease.request.purpose[:200]
        length = spell(one.terms.review_after)
        what = f"GPU {names} was at its maximum for {length}; it is to {purpose!r}, as {one.lease.owner} said"
        yield PageInput(Alarm.REVIEW, now.lease_id, f"{what}. Nothing is stopped for that")


def _unseen(now: Sequence[Standing], readings: Readings, before: Before) -> Iterator[PageInput]:
    """Leases of which nothing whole was seen for long although the sources that know of them answer (case E17)."""
    were_silent = [source.name for source in before.report.sources if not source.ok] if before.report else []
    lost = [
        one for one in now if _lost(one, readings.silent) and not _lost(before.standings.get(one.lease_id), were_silent)
    ]
    if lost:
        names = ", ".join(one.lease_id for one in lost[:NAMED])
        many = f"{len(lost)} leases were" if len(lost) > 1 else "one lease was"
        what = f"{many} not seen whole in {SILENT} ticks in a row, such as: {lost[0].problem}"
        what += f"; asked were {', '.join(report.name for report in readings.reports)}"
        yield PageInput(Alarm.METER_SILENT, names, f"{what}; they are not stopped as idle, and end when they should")


def _lost(one: Standing | None, silent: Sequence[str]) -> bool:
    """Whether it was not seen whole for long, and not for want of a silent source: that is told once for all of its."""
    if one is None or one.missed < SILENT or one.verdict is Verdict.WARMING_UP:
        return False
    return not any(name in one.problem for name in silent)
