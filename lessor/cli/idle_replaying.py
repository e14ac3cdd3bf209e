"""`lessor policy replay --idle`: what changed thresholds would have done with the telemetry that is on record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lessor.cli.output import Column, print_json, progress, table, tell
from lessor.cli.session import DONE, Session, refusals
from lessor.config import load_named
from lessor.domain.idle_replay import Outcome, replay
from lessor.domain.lease import minute
from lessor.domain.request import spell
from lessor.domain.usage import Observation

if TYPE_CHECKING:
    from lessor.ledger import SqlLedger

REALLY = {"idle-warned": "warned", "idle-final-warned": "warned", "idle-stopped": "stopped"}
COLUMNS = (
    Column("Lease", whole=True),
    Column("Owner", spare=4),
    Column("Team", spare=3),
    Column("Warned", whole=True),
    Column("Stopped", whole=True),
    Column("Saved", whole=True),
    Column("Money", whole=True),
    Column("Really", spare=2),
    Column("They said"),
)


@dataclass(frozen=True)
class Told:
    """What would have become of a lease, beside what did and what its people said then."""

    outcome: Outcome
    warned: int
    stopped: int
    disputes: tuple[str, ...]
    snoozes: int


def replay_idle(session: Session, file: Path, days: int) -> int:
    """0 with every lease that would have been warned or stopped; nothing is changed."""
    until = session.now()
    since = until - timedelta(days=days)
    with refusals(session.as_json):
        plan = load_named(file, "--idle").idle_plan
        with session.ledger() as ledger, progress("Reading what was seen") as report:
            seen = _reported(ledger.observations(since, until), since, until, report)
            outcomes = replay(ledger.lease, seen, plan)
            found = [_told(ledger, one, since) for one in outcomes if one.warned or one.rests]
    if session.as_json:
        print_json(_facts(found, outcomes, since, until))
        return DONE
    if found:
        table(f"With {file.name}, since {minute(since)}", COLUMNS, [_row(one) for one in found])
    tell(False, {}, *_summary(found, outcomes, days))
    return DONE


def _reported(
    seen: Iterable[Observation], since: datetime, until: datetime, report: Callable[[int, int], None] | None
) -> Iterator[Observation]:
    """What was seen, with the progress told where somebody sees it."""
    total = int((until - since).total_seconds())
    last = None
    for one in seen:
        if report and one.at != last:
            last = one.at
            report(int((one.at - since).total_seconds()), total)
        yield one


def _told(ledger: SqlLedger, outcome: Outcome, since: datetime) -> Told:
    events = [stored.event for stored in ledger.events(outcome.lease.id) if stored.event.at >= since]
    really = [REALLY[event.type] for event in events if event.type in REALLY]
    said = tuple(event.data.get("reason", "") for event in events if event.type == "verdict-disputed")
    snoozes = sum(event.type == "snoozed" for event in events)
    return Told(outcome, really.count("warned"), really.count("stopped"), said, snoozes)


def _summary(found: list[Told], outcomes: tuple[Outcome, ...], days: int) -> Iterator[str]:
    if not outcomes:
        yield f"nothing was seen in the last {days} days, so nothing can be said"
        return
    warned = sum(bool(one.outcome.warned) for one in found)
    stopped = [one for one in found if one.outcome.rests]
    resumed = sum(any(rest.resumed for rest in one.outcome.rests) for one in stopped)
    all_of_them = "one lease" if len(outcomes) == 1 else f"{len(outcomes)} leases"
    yield (
        f"Of {all_of_them} {warned} would have been warned and {len(stopped)} stopped, "
        f"of which {resumed} worked again later"
    )
    saved = sum((one.outcome.saved for one in stopped), timedelta())
    if stopped:
        yield f"Saved: {spell(saved)} of machine time, {_money(stopped)}; disks cost the same when stopped"
    disputed = [one.outcome.lease.id for one in found if one.disputes]
    if disputed:
        yield f"Called wrong by their people: {', '.join(disputed)}"


def _money(stopped: list[Told]) -> str:
    sums, unknown = _sums(stopped)
    parts = [f"{amount:,} {currency}" for currency, amount in sorted(sums.items())]
    if unknown:
        parts.append(f"{unknown} of an unknown price")
    return " and ".join(parts)


def _sums(stopped: list[Told]) -> tuple[dict[str, Decimal], int]:
    """Money by currency, and of how many leases it is unknown."""
    sums: dict[str, Decimal] = {}
    known = [one.outcome.money for one in stopped]
    for money in known:
        if money is not None:
            sums[money.currency] = sums.get(money.currency, Decimal(0)) + money.amount
    return sums, known.count(None)


def _row(one: Told) -> tuple[str, ...]:
    outcome, lease = one.outcome, one.outcome.lease
    resumed = sum(rest.resumed for rest in outcome.rests)
    stops = f"{len(outcome.rests)}" + (f" (worked again {resumed})" if resumed else "")
    saved = spell(outcome.saved) if outcome.rests else ""
    money = (str(outcome.money) if outcome.money else "unknown") if outcome.rests else ""
    said = [f"wrong: {reason}" for reason in one.disputes]
    said += [f"snoozed {one.snoozes} times"] if one.snoozes else []
    really = f"warned {one.warned}, stopped {one.stopped}"
    team = lease.request.team
    return (lease.id, lease.owner, team, str(outcome.warned), stops, saved, money, really, "; ".join(said))


def _facts(found: list[Told], outcomes: tuple[Outcome, ...], since: datetime, until: datetime) -> dict[str, Any]:
    stopped = [one for one in found if one.outcome.rests]
    sums, unknown = _sums(stopped)
    saved = sum((one.outcome.saved for one in stopped), timedelta())
    return {
        "ok": True,
        "since": since.isoformat(),
        "until": until.isoformat(),
        "leases": len(outcomes),
        "saved_hours": saved / timedelta(hours=1),
        "saved_money": {currency: str(amount) for currency, amount in sorted(sums.items())},
        "unknown_price": unknown,
        "differences": [_told_facts(one) for one in found],
    }


def _told_facts(one: Told) -> dict[str, Any]:
    outcome = one.outcome
    rests = [
        {"since": rest.since.isoformat(), "until": rest.until.isoformat(), "worked_again": rest.resumed}
        for rest in outcome.rests
    ]
    return {
        "id": outcome.lease.id,
        "owner": outcome.lease.owner,
        "team": outcome.lease.request.team,
        "warned": outcome.warned,
        "stops": rests,
        "saved_hours": outcome.saved / timedelta(hours=1),
        "saved_money": str(outcome.money.amount) if outcome.money else None,
        "currency": outcome.money.currency if outcome.money else None,
        "really": {"warned": one.warned, "stopped": one.stopped, "snoozed": one.snoozes},
        "called_wrong": list(one.disputes),
    }
