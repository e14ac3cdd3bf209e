"""What those who decide want to know first, and the requester's answers: on record beside the request."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import approval, asking
from lessor.domain.errors import Refused
from lessor.domain.lease import Change, Event, Lease, State, changed, require_state
from lessor.domain.pending import Question
from lessor.domain.people import Person

MOST = 20
LONGEST = 2_000


def ask(lease: Lease, person: Person, text: str, now: datetime) -> Change:
    """Somebody who may decide asks the requester. Reminders rest until the answer; the time to decide runs on.

    Raises `Refused`: wrong-state, own-request, not-approver, inactive, no-text, too-long, too-many.
    """
    require_state(lease, State.AWAITING_APPROVAL)
    approval.may_decide(lease.steps, person, lease.requester_ids)
    text = _worded(text, "question")
    if len(lease.questions) >= MOST:
        raise Refused("too-many", f"{MOST} questions were asked on {lease.id}; approve it or deny it with a reason")
    event = Event("question", now, person.id, {"text": text})
    return changed(lease, event, questions=(*lease.questions, Question(person.id, text, now)))


def reply(lease: Lease, person: Person, text: str, now: datetime, to: str = "") -> Change:
    """The requester answers the oldest open question, or all open ones of the person `to`.

    Raises `Refused`: not-owner, no-question, no-text, too-long.
    """
    if not person.is_same(lease.requester_ids):
        raise Refused("not-owner", "only the requester answers questions about this request")
    text = _worded(text, "answer")
    mine = [q for q in lease.questions if not q.answer and (not to or q.by == to)][: None if to else 1]
    if not mine:
        raise Refused("no-question", f"no question about {lease.id} is open; nothing was changed")
    answered = tuple(
        replace(q, answer=text, answered_by=person.id, answered_at=now) if q in mine else q for q in lease.questions
    )
    event = Event("answered", now, person.id, {"question": mine[0].text, "text": text, "to": mine[0].by})
    resting = lease.state is State.AWAITING_APPROVAL and all(q.answer for q in answered) and lease.counter is None
    steps = asking.again(lease.steps, lease.terms, now) if resting else lease.steps
    return changed(lease, event, questions=answered, steps=steps)


def waits_for_requester(lease: Lease) -> bool:
    """Whether the requester has to answer first: a question, or changes that were proposed."""
    return lease.counter is not None or any(not question.answer for question in lease.questions)


def _worded(text: str, what: str) -> str:
    text = text.strip()
    if not text:
        raise Refused("no-text", f"write the {what}: an empty one was not sent")
    if len(text) > LONGEST:
        raise Refused("too-long", f"the {what} has {len(text):,} characters; at most {LONGEST:,} are allowed")
    return text
