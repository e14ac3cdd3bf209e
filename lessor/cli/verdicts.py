"""`lessor idle`: thresholds, verdicts and what people called wrong, read as they stand on record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lessor.cli.browsing import lease_id
from lessor.cli.output import Column, pairs, print_json, table, tell
from lessor.cli.policies import opened_ledger
from lessor.cli.session import DONE, Session, refusals
from lessor.config import load
from lessor.domain.errors import Refused
from lessor.domain.figures import peaks_of
from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.idle_review import NEVER_IDLE, at_maximum, kept_up
from lessor.domain.judging import QUIET, partly_idle
from lessor.domain.lease import Lease, minute
from lessor.domain.records import StoredEvent
from lessor.domain.request import spell
from lessor.domain.rungs import barred
from lessor.settings import read_settings

if TYPE_CHECKING:
    from lessor.ledger import SqlLedger

DISPUTED = "verdict-disputed"
NOTHING = {"review_after": "never"}
"""What `None` means of a threshold; of all others the signal is left out."""

UNITS = {"util": " %", "power": " W", "cpu": " %", "network": " B/s", "disk": " B/s", "requests": "/s"}
"""What a threshold is counted in; the others are shares and numbers."""

POLICY = (Column("Threshold", whole=True), Column("Value", whole=True), Column("Set by"))
VERDICTS = (
    Column("Lease", whole=True),
    Column("Verdict"),
    Column("Since", whole=True, spare=1),
    Column("Idle GPUs", whole=True),
    Column("Last active", spare=3),
    Column("Owner", spare=4),
    Column("Team", spare=5),
    Column("Note"),
)
DISPUTES = (
    Column("When", whole=True),
    Column("Lease", whole=True),
    Column("By", spare=2),
    Column("Verdict", spare=1),
    Column("They say"),
    Column("It rested on", spare=3),
)


def show_policy(session: Session, text: str) -> int:
    """Every threshold of one lease with its origin, and why it is not stopped where something stands against it."""
    with refusals(session.as_json):
        plan = load(session.config or read_settings().lessor_config).idle_plan
        with opened_ledger(session) as ledger:
            lease = ledger.lease(lease_id(text))
        if lease is None:
            raise Refused("not-found", f"there is no lease {lease_id(text)}; see yours with: lessor list")
        terms, against = plan.terms(lease, session.now()), barred(lease, session.now())
    names = [one.name for one in fields(IdleTerms) if one.name != "origins"]
    if session.as_json:
        facts = {name: {"value": _exact(getattr(terms, name)), "origin": terms.origins[name]} for name in names}
        print_json({"id": lease.id, "terms": facts, "not_stopped": against or None})
        return DONE
    title = f"{lease.id}, {lease.request.workload.value} of team {lease.request.team}"
    table(title, POLICY, [(name, _spelled(name, getattr(terms, name)), terms.origins[name]) for name in names])
    pairs([("Not stopped", against)])
    return DONE


def list_verdicts(session: Session, *, everything: bool) -> int:
    """Where leases stood after the latest tick, the longest idle first."""
    now = session.now()
    with refusals(session.as_json):
        plan = load(session.config or read_settings().lessor_config).idle_plan
        with opened_ledger(session) as ledger:
            last = ledger.last_tick()
            shown = []
            for standing in ledger.standings():
                lease = ledger.lease(standing.lease_id)
                if lease is None:
                    continue
                notes = list(_notes(ledger, standing, plan.terms(lease, now), now))
                if everything or notes or standing.verdict in (*QUIET, Verdict.UNKNOWN):
                    shown.append((standing, lease, notes))
    shown.sort(key=lambda one: (one[0].verdict not in QUIET, one[0].since, one[0].lease_id))
    if session.as_json:
        print_json({"at": last.isoformat() if last else None, "leases": [_standing_facts(*one) for one in shown]})
        return DONE
    if last is None:
        tell(False, {}, "nothing is metered yet: name a source under telemetry in lessor.yaml, see docs/telemetry.md")
        return DONE
    if not shown:
        tell(False, {}, f"no lease is idle as of {minute(last)}")
        return DONE
    table(f"As of {minute(last)}", VERDICTS, [_row(*one) for one in shown])
    return DONE


def list_disputes(session: Session, days: int) -> int:
    """The latest first, with the figures that each verdict rested on."""
    with refusals(session.as_json), opened_ledger(session) as ledger:
        found = ledger.happened(DISPUTED, session.now() - timedelta(days=days))
    if session.as_json:
        print_json([_dispute_facts(one) for one in found])
        return DONE
    if not found:
        tell(False, {}, f"nobody called a verdict wrong in the last {days} days")
        return DONE
    table("Verdicts that people called wrong", DISPUTES, [_dispute(one) for one in found])
    return DONE


def _notes(ledger: SqlLedger, standing: Standing, terms: IdleTerms, now: datetime) -> Iterator[str]:
    """What people should look at."""
    if standing.problem:
        yield standing.problem
    if standing.faulty:
        yield f"looks broken, busy or full without any process: GPU {', '.join(standing.faulty)}"
    if partly_idle(standing):
        yield f"{standing.idle_gpus} of {standing.gpus} GPUs did nothing for {spell(terms.window)}"
    maximum = at_maximum(standing, terms)
    if maximum and terms.review_after:
        yield f"at its maximum for {spell(terms.review_after)} and more: GPU {', '.join(maximum)}"
    if standing.verdict is Verdict.BUSY and standing.idle_gpus == standing.gpus:
        week = ledger.usage(standing.lease_id, now - NEVER_IDLE, now)
        if kept_up(standing, week, now):
            yield f"never idle for {spell(NEVER_IDLE)}, though its GPUs did nothing: {standing.active_kind} kept it up"


def _row(standing: Standing, lease: Lease, notes: list[str]) -> tuple[str, ...]:
    active = f"{minute(standing.active_at)} ({standing.active_kind})" if standing.active_at else "never"
    idle = f"{standing.idle_gpus} of {standing.gpus}"
    since = minute(standing.since)
    return (lease.id, standing.verdict.value, since, idle, active, lease.owner, lease.request.team, "; ".join(notes))


def _standing_facts(standing: Standing, lease: Lease, notes: list[str]) -> dict[str, Any]:
    return {
        "id": lease.id,
        "owner": lease.owner,
        "team": lease.request.team,
        "verdict": standing.verdict.value,
        "since": standing.since.isoformat(),
        "gpus": standing.gpus,
        "idle_gpus": standing.idle_gpus,
        "active_at": standing.active_at.isoformat() if standing.active_at else None,
        "active_kind": standing.active_kind or None,
        "missed_ticks": standing.missed,
        "notes": notes,
    }


def _dispute(stored: StoredEvent) -> tuple[str, ...]:
    event = stored.event
    verdict, said = event.data.get("verdict", ""), event.data.get("reason", "")
    return (minute(event.at), stored.lease_id, event.actor, verdict, said, peaks_of(event.data))


def _dispute_facts(stored: StoredEvent) -> dict[str, Any]:
    return {"id": stored.lease_id, "at": stored.event.at.isoformat(), "by": stored.event.actor, **stored.event.data}


def _spelled(name: str, value: object) -> str:
    if value is None:
        return NOTHING.get(name, "ignored")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return spell(value) if isinstance(value, timedelta) else f"{value:,.12g}{UNITS.get(name, '')}"


def _exact(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value
