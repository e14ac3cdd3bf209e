"""The acts on how long a lease in use lasts, and on the hours in which it runs."""

from __future__ import annotations

from datetime import datetime

from lessor.contracts import Act, Verb
from lessor.domain import extension, suspension
from lessor.domain.authority import require_member, require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import Change, Lease, minute
from lessor.domain.people import Person

VERBS = frozenset({Verb.EXTEND, Verb.SHORTEN, Verb.GRANT, Verb.REJECT, Verb.EXEMPT})


def change(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    """What the act does; an extension as if nobody had to be asked. Raises `Refused` when it is not allowed."""
    if act.verb is Verb.GRANT:
        return extension.grant(lease, person, now, act.reason, act.confirmation)
    if act.verb is Verb.REJECT:
        return extension.reject(lease, person, act.reason, now)
    require_steward(lease, person)
    if act.verb is Verb.EXEMPT:
        return suspension.exempt(lease, act.until, person.id, act.reason, now)
    if act.until is None:
        raise Refused("no-end", f"to {act.verb.value} a lease, say until when")
    if act.verb is Verb.SHORTEN:
        return extension.shorten(lease, act.until, person.id, act.reason, now)
    require_member(lease, person)
    return extension.extend(lease, act.until, person.id, act.reason, now)


def malformed(act: Act) -> str:
    """Why the act cannot even be tried; empty when it can."""
    if act.verb in (Verb.EXTEND, Verb.SHORTEN) and act.until is None:
        return f"to {act.verb.value} a lease, say until when"
    return ""


def words(lease: Lease, act: Act) -> str:
    """What the person is told when the act had its effect."""
    if act.verb is Verb.EXTEND and lease.wish:
        return _asked(lease)
    if act.verb is Verb.GRANT and lease.wish:
        return "your approval of the later end is recorded; more are needed"
    if act.verb is Verb.EXEMPT:
        return f"runs on outside its hours until {minute(lease.exemption.until)}" if lease.exemption else "exempted"
    told = {
        Verb.EXTEND: "extended",
        Verb.SHORTEN: "shortened; its warnings come anew before the earlier end",
        Verb.GRANT: "the later end is granted",
        Verb.REJECT: "the later end is rejected; it ends as it was",
    }
    return told[act.verb]


def _asked(lease: Lease) -> str:
    if lease.wish is None:
        return "extended"
    names = ", ".join(f"{step.name} ({', '.join(step.approvers)})" for step in lease.wish.steps)
    why = "; ".join(f"{one.rule}: {one.text}" for one in lease.wish.reasons)
    held = f", and runs until {minute(lease.runs_until)} at the longest meanwhile" if lease.runs_until else ""
    return f"not extended yet: {names} is asked to approve it, because of {why}. It keeps its end{held}"
