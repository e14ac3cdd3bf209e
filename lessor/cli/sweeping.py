"""`lessor sweep --once`: one look now, and what it found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lessor.cli.output import tell
from lessor.cli.session import DONE, REFUSED, Session
from lessor.contracts import PeopleReport, SweepOutcome
from lessor.domain.people import Person

if TYPE_CHECKING:
    from lessor.gateway import Gateway


async def sweep_once(session: Session, gateway: Gateway, person: Person, *, people: bool) -> int:
    """Print what was found; fails when anything could not be looked at."""
    report = await gateway.look(person.id, people=people)
    lines = _people(report) if isinstance(report, PeopleReport) else _places(report)
    tell(session.as_json, _facts(report), *lines)
    return REFUSED if _trouble(report) else DONE


def _people(report: PeopleReport) -> Iterator[str]:
    yield f"{report.leases} open leases of {report.owners} owners, {report.unknown} of them unknown"
    yield f"owner has left: {', '.join(report.left) or 'none'}"
    yield f"approvers changed: {', '.join(report.restaffed) or 'none'}"
    yield from (words for words in (report.brake, report.problem) if words)


def _places(outcome: SweepOutcome) -> Iterator[str]:
    for one in outcome.places:
        seen = f"{one.resources} resources, {one.leases} open leases, {len(one.told)} told"
        yield f"{one.place}: {seen if one.complete else 'not read whole, nothing was changed'}"
        yield from (f"{one.place}: {words}" for words in (one.problem,) if words)
    runs = outcome.runs
    yield f"{runs.leases} workflows looked at; taken down: {', '.join(runs.resumed) or 'none'}"
    yield from (words for words in (runs.problem, runs.unmetered) if words)


def _facts(report: SweepOutcome | PeopleReport) -> dict[str, object]:
    if isinstance(report, PeopleReport):
        counts = {"leases": report.leases, "owners": report.owners, "unknown": report.unknown}
        told = {"left": list(report.left), "restaffed": list(report.restaffed)}
        return {**counts, **told, "brake": report.brake or None, "problem": report.problem or None}
    places = [
        {
            "place": str(one.place),
            "complete": one.complete,
            "resources": one.resources,
            "leases": one.leases,
            "told": list(one.told),
            "left_over": list(one.left_over),
            "problem": one.problem or None,
        }
        for one in report.places
    ]
    runs = {"leases": report.runs.leases, "resumed": list(report.runs.resumed), "problem": report.runs.problem or None}
    return {"places": places, "runs": runs | {"unmetered": report.runs.unmetered or None}}


def _trouble(report: SweepOutcome | PeopleReport) -> bool:
    if isinstance(report, PeopleReport):
        return bool(report.brake or report.problem or report.unknown)
    wrong = report.runs.problem or report.runs.unmetered
    return bool(wrong) or any(one.problem or not one.complete for one in report.places)
