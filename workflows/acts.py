"""One person's act on a lease, applied by the domain."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.contracts import Act, Answer, Verb
from lessor.domain import life, transitions
from lessor.domain.authority import require_member, require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import Change, Lease
from lessor.domain.people import Person
from lessor.domain.request import spell
from workflows import deciding, idling, lasting


def transition(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    """What `act` does to `lease`, with where it came from on record. Raises `Refused` when it is not allowed."""
    return told_from(act, _effect(lease, act, person, now))


def told_from(act: Act, change: Change) -> Change:
    """`change` with where the act came from in its events."""
    if not act.via:
        return change
    return replace(change, events=tuple(replace(e, data={**e.data, "via": act.via}) for e in change.events))


def attempted(lease: Lease, act: Act, refusal: Refused, now: datetime) -> Change:
    """An act that was not allowed, on record with where it came from."""
    return told_from(act, transitions.refused_attempt(lease, act.by, act.verb.value, refusal, now))


def malformed(act: Act) -> str:
    """Why an act cannot even be tried; empty when it can. Cheap, for the update's validator: it leaves no history."""
    if not act.id or len(act.id) > 255:
        return "an act needs an id of 1 to 255 characters"
    if not act.by or len(act.by) > 255:
        return "an act needs the id of the person who acts"
    if act.until is not None and act.until.tzinfo is None:
        return "the new end has no time zone: give an instant such as 2026-11-01T05:30:00+00:00"
    if len(act.reason) > 8_000:
        return f"the reason has {len(act.reason):,} characters; at most 8,000 are allowed"
    return _incomplete(act) or lasting.malformed(act) or deciding.malformed(act) or idling.malformed(act)


def accepted(lease: Lease, act: Act, now: datetime, words: str = "") -> Answer:
    """What the person is told when the act had its effect; in `words`, where the verb alone does not say them."""
    told = f"{lease.id}: {words}" if words else _words(lease, act, now)
    return Answer(True, act.verb.value, told, lease.id, lease.state.value, act.by, now, lease.ends_at)


def refused(lease: Lease, act: Act, refusal: Refused, now: datetime) -> Answer:
    """What the person is told when it had none: why, and who decided when if that is the reason."""
    decided = refusal.code == "already-decided"
    by, at = (lease.decided_by, lease.decided_at) if decided else (act.by, now)
    return Answer(False, refusal.code, str(refusal), lease.id, lease.state.value, by, at, lease.ends_at)


def _effect(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    if act.verb in deciding.VERBS:
        return deciding.change(lease, act, person, now)
    if act.verb in lasting.VERBS:
        return lasting.change(lease, act, person, now)
    if act.verb in idling.VERBS:
        return idling.change(lease, act, person, now)
    require_steward(lease, person)
    if act.verb is Verb.RESTORE:
        require_member(lease, person)
    return _steward(lease, act, person, now)


def _incomplete(act: Act) -> str:
    """What the verb needs and the act does not say."""
    if act.verb is Verb.RESTORE and act.until is None:
        return "to restore a lease, say until when"
    if act.verb in (Verb.TRANSFER, Verb.SHARE, Verb.UNSHARE) and not 0 < len(act.to) <= 255:
        return f"to {act.verb.value} a lease, say with whom"
    return ""


def _words(lease: Lease, act: Act, now: datetime) -> str:
    if act.verb in deciding.VERBS:
        return f"{lease.id}: {deciding.words(lease, act)}"
    if act.verb in lasting.VERBS:
        return f"{lease.id}: {lasting.words(lease, act)}"
    if act.verb in idling.VERBS:
        return f"{lease.id}: {idling.words(lease, act, now)}"
    later = f"it is stopped now and deleted {spell(lease.terms.grace)} later"
    words = {
        Verb.RELEASE: f"released; {'it is deleted now' if lease.stopped_at else later}",
        Verb.KEEP: "kept until its end",
        Verb.RESTORE: "is being started again",
    }
    return f"{lease.id}: {words[act.verb]}"


def _steward(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    if act.verb is Verb.KEEP:
        return life.keep(lease, person.id, now)
    if act.verb is Verb.RELEASE:
        return life.release(lease, person.id, now)
    if act.until is None:
        raise Refused("no-end", f"to {act.verb.value} a lease, say until when")
    return life.restore(lease, act.until, person.id, now)
