"""The acts by which people decide a request, change it, and talk about it first; everything before it is in use."""

from __future__ import annotations

from datetime import datetime

from lessor.contracts import Act, Verb
from lessor.domain import changes, extension, questions, transitions
from lessor.domain.errors import Refused
from lessor.domain.lease import IN_USE, Change, Lease, State
from lessor.domain.pending import Changes
from lessor.domain.people import Person

VERBS = frozenset(
    {
        Verb.APPROVE,
        Verb.DENY,
        Verb.WITHDRAW,
        Verb.COUNTER,
        Verb.ACCEPT,
        Verb.DECLINE,
        Verb.REVISE,
        Verb.ASK,
        Verb.REPLY,
    }
)
TYPED_MOST = 100
_TALK = {Verb.ASK: "question", Verb.REPLY: "answer"}
_CHANGING = {Verb.COUNTER: "propose changes of", Verb.REVISE: "change"}


def change(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    """What the act does. Raises `Refused` when it is not allowed."""
    if act.verb is Verb.APPROVE:
        return transitions.approve(lease, person, now, act.reason, act.confirmation)
    if act.verb is Verb.DENY:
        return transitions.deny(lease, person, act.reason, now)
    if act.verb is Verb.WITHDRAW:
        return _withdraw(lease, act, person, now)
    if act.verb is Verb.ASK:
        return questions.ask(lease, person, act.reason, now)
    if act.verb is Verb.REPLY:
        return questions.reply(lease, person, act.reason, now, act.to)
    return _other_request(lease, act, person, now)


def malformed(act: Act) -> str:
    """Why the act cannot even be tried; empty when it can."""
    if len(act.confirmation) > TYPED_MOST:
        return f"what was typed has {len(act.confirmation):,} characters; type the id of the lease"
    if act.verb in _TALK and not 0 < len(act.reason.strip()) <= questions.LONGEST:
        return f"write the {_TALK[act.verb]}, in at most {questions.LONGEST:,} characters"
    if act.verb in _CHANGING and (act.changes is None or act.changes == Changes()):
        return f"to {_CHANGING[act.verb]} a request, say what is to be different"
    return _unusable(act.changes) if act.changes is not None else ""


def words(lease: Lease, act: Act) -> str:
    """What the person is told when the act had its effect."""
    if act.verb is Verb.APPROVE and lease.state is State.AWAITING_APPROVAL:
        return "your approval is recorded; more are needed"
    if act.verb is Verb.WITHDRAW and lease.state in IN_USE:
        return "the wish for a later end is taken back; it ends as it would have without"
    told = {
        Verb.APPROVE: "approved",
        Verb.DENY: "denied",
        Verb.WITHDRAW: "withdrawn" if lease.final else "is being withdrawn; what exists of it is taken down first",
        Verb.COUNTER: "your changes are proposed; the requester accepts them or keeps the request as it is",
        Verb.ACCEPT: "changed as proposed; price and policy are looked at again",
        Verb.DECLINE: "stays as it was asked for; it is decided as it is",
        Verb.REVISE: "changed; price and policy are looked at again, and it is decided anew",
        Verb.ASK: "your question is on its way to the requester",
        Verb.REPLY: "your answer is on its way to those who decide",
    }
    return told[act.verb]


def _withdraw(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    """The request; or, of a lease in use, the wish for a later end."""
    if lease.wish is not None:
        return extension.take_back(lease, person, now)
    return transitions.withdraw(lease, person.id if person.is_same(lease.holder_ids) else act.by, now)


def _other_request(lease: Lease, act: Act, person: Person, now: datetime) -> Change:
    if act.verb is Verb.ACCEPT:
        return changes.accept(lease, person, now)
    if act.verb is Verb.DECLINE:
        return changes.decline(lease, person, now)
    if act.changes is None:
        raise Refused("no-change", f"to {_CHANGING[act.verb]} a request, say what is to be different")
    if act.verb is Verb.COUNTER:
        return changes.propose(lease, person, act.changes, act.reason, now)
    return changes.revise(lease, person, act.changes, now)


def _unusable(wanted: Changes) -> str:
    if wanted.until is not None and wanted.until.tzinfo is None:
        return "the new end has no time zone: give an instant such as 2026-11-01T05:30:00+00:00"
    if wanted.until is not None and wanted.duration is not None:
        return "give either how long or until when, not both"
    if len(wanted.instance_type) > 64:
        return "that is not the name of an instance type; names look like g6.xlarge"
    return ""
