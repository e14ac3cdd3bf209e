"""The acts on a lease that does nothing, or that is stopped: what its people say to that."""

from __future__ import annotations

from datetime import datetime

from lessor.contracts import Act, Verb
from lessor.domain import excuses, pausing, suspension
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.ladder import Why
from lessor.domain.lease import Change, Lease, minute
from lessor.domain.people import Person

VERBS = frozenset({Verb.SNOOZE, Verb.DISPUTE, Verb.STOP, Verb.START, Verb.CONSENT, Verb.SPARE})


def change(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    """What the act does. Raises `Refused` when it is not allowed."""
    if act.verb is Verb.START and lease.pause is not None and lease.pause.why is Why.BUDGET:
        _require_payer(lease, person, lease.pause.words)
        return pausing.start(lease, person.id, now)
    require_steward(lease, person)
    if act.verb is Verb.STOP:
        return pausing.ask_stop(lease, person.id, act.confirmation, now)
    if act.verb is Verb.START:
        return pausing.start(lease, person.id, now)
    return _said(lease, act, person, now)


def malformed(act: Act) -> str:
    """Why the act cannot even be tried; empty when it can."""
    return "to snooze a lease, say until when" if act.verb is Verb.SNOOZE and act.until is None else ""


def words(lease: Lease, act: Act, now: datetime) -> str:
    """What the person is told when the act had its effect."""
    if act.verb is Verb.SNOOZE and lease.snooze:
        return (
            f"nothing is said or done about its being idle until {minute(lease.snooze.until)}; then it is warned anew"
        )
    if act.verb is Verb.SPARE:
        return _spared(lease)
    if act.verb is Verb.STOP:
        ends = f", and its end date stays {minute(lease.ends_at)}" if lease.ends_at else ""
        return f"is being stopped; its disks are kept and still cost money{ends}. Start it again whenever you need it"
    if act.verb is Verb.START:
        if suspension.wanted(lease, now):
            return "is being started again"
        return f"starts again with its working hours, at {minute(suspension.runs_again(lease, now))}"
    told = {
        Verb.DISPUTE: "noted, thank you; it is taken as busy for a day, and whoever tunes the thresholds reads why",
        Verb.CONSENT: "agreed; it is warned before it is stopped, and a stop loses what is on its local disks",
    }
    return told[act.verb]


def _said(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    """What somebody whose it is says to a verdict of idle."""
    if act.verb is Verb.SPARE:
        _require_admin(lease, person)
        return excuses.spare(lease, act.until, person.id, act.reason, now)
    if act.verb is Verb.DISPUTE:
        return excuses.dispute(lease, person.id, act.reason, now)
    if act.verb is Verb.CONSENT:
        return excuses.consent(lease, person.id, now)
    if act.until is None:
        raise Refused("no-end", "to snooze a lease, say until when")
    return excuses.snooze(lease, act.until, person, act.reason, now)


def _require_admin(lease: Lease, person: Person) -> None:
    if not person.admin:
        raise Refused(
            "not-admin", f"only an administrator spares a lease; snooze {lease.id}, or ask one of them; nothing changed"
        )


def _require_payer(lease: Lease, person: Person, why: str) -> None:
    """Whose money it is decides whether what was stopped for want of it runs on."""
    team = lease.request.team
    if person.active and (person.admin or team in (*person.leads, *person.budgets)):
        return
    require_steward(lease, person)
    raise Refused(
        "over-budget",
        f"{lease.id} was stopped because {why}; the lead of team {team}, whoever owns its budget or an administrator "
        "can start it again",
    )


def _spared(lease: Lease) -> str:
    if lease.spared is None:
        return "is not spared any more; if it is idle, its people are warned before it is stopped"
    until = f"until {minute(lease.spared.until)}" if lease.spared.until else "until its end"
    return f"is not stopped for being idle {until}; its people are still told once a day when it is"
