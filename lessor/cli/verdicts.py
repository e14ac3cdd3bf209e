"""`lessor idle`: thresholds, verdicts and what people called wrong, read as they stand on record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lessor.cli.browsing import lease_id
from lessor.cli.output import Column, pairs, print_json, table, tell
from lessor.cli.session import DONE, Session, refusals
from lessor.config import Config, load
from lessor.domain import unheld
from lessor.domain.errors import Refused
from lessor.domain.excuses import called_wrong
from lessor.domain.figures import peaks_of
from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.idle_review import NEVER_IDLE, at_maximum, kept_up
from lessor.domain.judging import QUIET, partly_idle
from lessor.domain.ladder import Dispute, Snooze, Spared
from lessor.domain.lease import Lease
from lessor.domain.records import LeaseQuery, StoredEvent
from lessor.domain.request import spell
from lessor.domain.rungs import barred
from lessor.settings import read_settings
from lessor.when import local

if TYPE_CHECKING:
    from lessor.ledger import SqlLedger

DISPUTED = "verdict-disputed"
AT_ONCE = 500
"""So many leases are read with one query."""

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


@dataclass(frozen=True)
class Shown:
    """Where one lease stands, and what people should look at."""

    standing: Standing
    lease: Lease
    notes: tuple[str, ...]

    @property
    def striking(self) -> bool:
        return bool(self.notes) or self.standing.verdict in (*QUIET, Verdict.UNKNOWN)


def show_policy(session: Session, text: str) -> int:
    """Every threshold of one lease with its origin, and why it is not stopped where something stands against it."""
    with refusals(session.as_json):
        plan = load(session.config or read_settings().lessor_config).idle_plan
        with session.ledger() as ledger:
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
    """Where leases stood after the latest tick, the longest idle first, with what people said to it."""
    with refusals(session.as_json):
        config = load(session.config or read_settings().lessor_config)
        zone = _zone(session, config)
        with session.ledger() as ledger:
            last = ledger.last_tick()
            shown = [
                one for one in _standings(ledger, config.idle_plan, session.now(), zone) if everything or one.striking
            ]
    shown.sort(key=lambda one: (one.standing.verdict not in QUIET, one.standing.since, one.lease.id))
    if session.as_json:
        print_json({"at": last.isoformat() if last else None, "leases": [_standing_facts(one) for one in shown]})
        return DONE
    if last is None:
        tell(False, {}, "nothing is metered yet: name a source under telemetry in lessor.yaml, see docs/telemetry.md")
        return DONE
    if not shown:
        tell(False, {}, f"no lease is idle as of {local(last, zone)}")
        return DONE
    table(f"As of {local(last, zone)}", VERDICTS, [_row(one, session.now(), zone) for one in shown])
    return DONE


def list_disputes(session: Session, days: int) -> int:
    """The latest first, with the figures that each verdict rested on."""
    with refusals(session.as_json):
        zone = _zone(session, load(session.config or read_settings().lessor_config)) if session.actor else "UTC"
        with session.ledger() as ledger:
            found = ledger.happened(DISPUTED, session.now() - timedelta(days=days))
    if session.as_json:
        print_json([_dispute_facts(one) for one in found])
        return DONE
    if not found:
        tell(False, {}, f"nobody called a verdict wrong in the last {days} days")
        return DONE
    table("Verdicts that people called wrong", DISPUTES, [_dispute(one, zone) for one in found])
    return DONE


def _zone(session: Session, config: Config) -> str:
    """Whose clock times are read on: that of whoever asks, or UTC. Raises `Refused` ("unknown-person")."""
    if not session.actor:
        return "UTC"
    known = config.person_id(session.actor)
    found = next((one.tz for one in config.organisation.people if one.id == known), None)
    if found is None:
        remedy = "use an id or e-mail address that stands in lessor.yaml under organisation.people"
        raise Refused("unknown-person", f"nobody is '{session.actor[:60]}'; {remedy}")
    return found


def _standings(ledger: SqlLedger, plan: IdlePlan, now: datetime, zone: str) -> Iterator[Shown]:
    """Every lease that stands somewhere, read many at a time."""
    standings = {one.lease_id: one for one in ledger.standings()}
    ids = sorted(standings)
    for start in range(0, len(ids), AT_ONCE):
        some = tuple(ids[start : start + AT_ONCE])
        for lease in ledger.leases(LeaseQuery(ids=some, limit=AT_ONCE)):
            standing = standings[lease.id]
            yield Shown(standing, lease, tuple(_notes(ledger, standing, plan.terms(lease, now), now, zone)))


def _notes(ledger: SqlLedger, standing: Standing, terms: IdleTerms, now: datetime, zone: str) -> Iterator[str]:
    """What people should look at."""
    if standing.problem:
        yield standing.problem
    if standing.faulty:
        yield f"looks broken, busy or full without any process: GPU {', '.join(standing.faulty)}"
    if partly_idle(standing):
        yield f"{standing.idle_gpus} of {standing.gpus} GPUs did nothing for {spell(terms.window)}"
    free, since = unheld.evidence(standing, terms.window)
    if since is not None:
        yield f"{standing.gpus - free} of {standing.gpus} promised GPUs held by any pod since {local(since, zone)}"
    maximum = at_maximum(standing, terms)
    if maximum and terms.review_after:
        yield f"at its maximum for {spell(terms.review_after)} and more: GPU {', '.join(maximum)}"
    if standing.verdict is Verdict.BUSY and standing.idle_gpus == standing.gpus:
        week = ledger.usage(standing.lease_id, now - NEVER_IDLE, now)
        if kept_up(standing, week, now):
            yield f"never idle for {spell(NEVER_IDLE)}, though its GPUs did nothing: {standing.active_kind} kept it up"


def _said(lease: Lease, now: datetime, zone: str) -> Iterator[str]:
    """What people said to it that holds now."""
    snooze, disputed, spared = lease.snooze, lease.disputed, lease.spared
    if snooze and snooze.until > now:
        yield f"left alone until {local(snooze.until, zone)}, by {snooze.by}: {snooze.reason}"
    if called_wrong(lease, now) and disputed:
        yield f"called wrong by {disputed.by}, not believed until {local(disputed.until, zone)}: {disputed.reason}"
    if spared and (spared.until is None or spared.until > now):
        until = f"until {local(spared.until, zone)}" if spared.until else "until its end"
        yield f"spared {until}, by {spared.by}: {spared.reason}"


def _row(one: Shown, now: datetime, zone: str) -> tuple[str, ...]:
    standing, lease = one.standing, one.lease
    active = f"{local(standing.active_at, zone)} ({standing.active_kind})" if standing.active_at else "never"
    idle = f"{standing.idle_gpus} of {standing.gpus}"
    notes = "; ".join((*one.notes, *_said(lease, now, zone)))
    since = local(standing.since, zone)
    return (lease.id, standing.verdict.value, since, idle, active, lease.owner, lease.request.team, notes)


def _standing_facts(one: Shown) -> dict[str, Any]:
    standing, lease = one.standing, one.lease
    answered = (("snoozed", lease.snooze), ("disputed", lease.disputed), ("spared", lease.spared))
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
        **{name: _answer_facts(answer) for name, answer in answered},
        "notes": list(one.notes),
    }


def _answer_facts(answer: Snooze | Dispute | Spared | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    until = answer.until.isoformat() if answer.until else None
    return {"until": until, "by": answer.by, "at": answer.at.isoformat(), "reason": answer.reason}


def _dispute(stored: StoredEvent, zone: str) -> tuple[str, ...]:
    event = stored.event
    verdict, said = event.data.get("verdict", ""), event.data.get("reason", "")
    return (local(event.at, zone), stored.lease_id, event.actor, verdict, said, peaks_of(event.data))


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
