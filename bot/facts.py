"""What the templates may say of a lease: its own fields, and the few things that have to be worked out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.around import NOTHING, Around
from bot.blocks.text import cut, quoted
from bot.evidence import REASON_MOST, idle_facts
from bot.proposals import suggestions
from lessor.domain import ends, suspension
from lessor.domain.approval import waiting
from lessor.domain.commitments import stretches
from lessor.domain.disks import added
from lessor.domain.extension import wish_cost
from lessor.domain.lease import TERMINATED, Lease, State
from lessor.domain.life import RELEASED
from lessor.domain.money import Money
from lessor.domain.ownership import LESSOR
from lessor.domain.pending import Question
from lessor.domain.questions import waits_for_requester
from lessor.domain.request import LeaseKind, to_the_minute
from lessor.domain.resource import Kind, spelt_disk
from lessor.domain.verdicts import verdict
from lessor.domain.worktime import next_open
from lessor.rendering import Safe, mrkdwn

PURPOSE_MOST = 2_400
PROPOSALS_MOST = 5
REMARKS_MOST = 500
_LIST_MOST = 40


def facts(lease: Lease, now: datetime, around: Around = NOTHING) -> dict[str, object]:
    """Values for any template about a lease; `around` is who can decide now, and what they ought to know."""
    length = _length(lease)
    offer = lease.quote.offer if lease.quote else None
    return {
        "lease": lease,
        "now": now,
        "state": lease.state.value.replace("-", " "),
        "waiting": lease.state in (State.REQUESTED, State.AWAITING_APPROVAL),
        "around": around,
        "steps_after": _later_steps(lease),
        "votes": tuple(vote for step in lease.steps for vote in step.counted),
        "remarks": _remarks(lease),
        "by_policy": lease.decided_by == "policy",
        "verdict": verdict(lease).value,
        "rules": lease.decision.reasons if lease.decision else (),
        "length": length,
        "offer": offer,
        "offered_as": str(offer) if offer and str(offer) != str(lease.request.need) else "",
        "price_known": bool(lease.quote and lease.quote.known),
        "total": lease.quote.total(length) if lease.quote else None,
        "planned": _planned(lease, now),
        "hourly": next((span.hourly for span in reversed(lease.spans)), offer.hourly if offer else None),
        "purpose": quoted(lease.request.purpose, PURPOSE_MOST),
        "reason": quoted(lease.decided_reason or "no reason was given", REASON_MOST),
        "cost": lease.cost(now),
        "hours": lease.hours(now),
        "ending": lease.ending_reason,
        "released_by": lease.ending_reason.removeprefix(RELEASED) if lease.ending_reason.startswith(RELEASED) else "",
        "problem": lease.problem.rstrip(" ."),
        "held_up": lease.held.rstrip(" ."),
        "terminated": lease.final and lease.ending_reason.startswith(f"{TERMINATED}: "),
        "kind": kind_words(lease.request.kind),
        **_times(lease, now),
        **_had(lease),
        **_pending(lease, now),
        **idle_facts(lease, now),
    }


def _times(lease: Lease, now: datetime) -> dict[str, object]:
    """When it ends, and what else comes when."""
    return {
        "deadlines": _deadlines(lease, now),
        "lapses_at": lease.lapses_at,
        "remaining": lease.allowance,
        "remaining_seconds": lease.allowance.total_seconds(),
        "end_ahead": ends.ahead(lease),
        "over": ends.over(lease),
        "ends_at_earliest": ends.at_the_earliest(lease, now),
        "deletes_at": (lease.stopped_at or now) + lease.terms.grace,
    }


def _had(lease: Lease) -> dict[str, object]:
    """What was tried for it, what it has, and what is left of that."""
    return {
        "tried": ", ".join(lease.capacity.tried) if lease.capacity else "",
        "left": ", ".join(lease.left),
        "left_count": len(lease.left),
        "disks": _disks(lease),
        "resources": listed([f"{r.kind.value} {r.id.partition('@')[0]}" for r in lease.resources]),
    }


def _disks(lease: Lease) -> str:
    """Claims by name, and how many disks that people added are not among them."""
    claims = [one for one in lease.resources if one.kind is Kind.CLAIM]
    named = {one.id.partition("@")[0] for one in claims}
    more = sum(1 for one in added(lease.storage) if one.end is None and one.name not in named)
    return "; ".join([*map(spelt_disk, claims), *([f"and {more} more"] if claims and more else [])])


def kind_words(kind: LeaseKind | None) -> str:
    """What stands before the GPUs of a lease in a cluster: `namespace with `; nothing before those of a machine."""
    return f"{kind.value} with " if kind and kind is not LeaseKind.MACHINE else ""


def stop_ahead(lease: Lease, now: datetime) -> datetime | None:
    """When its working hours stop it next, as it was announced or is to be; `None` for a lease that is not running."""
    if lease.state is not State.ACTIVE:
        return None
    told = suspension.announcement(lease, now)
    return told.stops_at if told else suspension.stop_to_announce(lease, now)


def asked(question: Question | None) -> dict[str, object]:
    """One question with its answer, both set off as somebody's words."""
    return {
        "question": question,
        "question_text": quoted(question.text, REASON_MOST) if question else "",
        "answer_text": quoted(question.answer, REASON_MOST) if question and question.answer else "",
    }


def _remarks(lease: Lease) -> Safe:
    """What the provider adds to its price: where it holds, how it moves, which quota of the account is in the way."""
    quote = lease.quote
    notes = dict.fromkeys(filter(None, (quote.note, quote.offer.note))) if quote else {}
    return Safe(cut(mrkdwn("; ".join(notes)), REMARKS_MOST))


def _deadlines(lease: Lease, now: datetime) -> dict[str, datetime | None]:
    """When those who are asked are reminded, and when the next level is asked as well; `None` where neither comes, as
    while the requester has something to answer first.
    """
    if waits_for_requester(lease):
        return {"remind": None, "escalate": None}
    asked = waiting(lease.steps)
    remind = [step.remind_at for step in asked if step.remind_at and step.remind_at > now]
    further = [step.escalate_at for step in asked if step.escalations < lease.terms.escalations]
    escalate = [at for at in further if at and at > now]
    return {"remind": min(remind, default=None), "escalate": min(escalate, default=None)}


def _planned(lease: Lease, now: datetime) -> Money | None:
    """What of the total falls into its working hours, while people decide; `None` where it would run all the time."""
    waits = lease.state in (State.REQUESTED, State.AWAITING_APPROVAL)
    if lease.quote is None or lease.schedule is None or not lease.stoppable or not waits:
        return None
    ahead = (one.end - one.start for one in stretches(lease, now) if one.ahead)
    return lease.quote.total(sum(ahead, timedelta()))


def _pending(lease: Lease, now: datetime) -> dict[str, object]:
    """What waits for somebody's answer, and what the working hours bring."""
    stops_at = stop_ahead(lease, now)
    return {
        "suggestions": suggestions(lease)[:PROPOSALS_MOST],
        "offered": lease.transfer is not None,
        "by_lessor": lease.transfer is not None and lease.transfer.by == LESSOR,
        "former": lease.former_owners[-1] if lease.former_owners else "",
        "counter_reason": quoted(lease.counter.reason, REASON_MOST) if lease.counter and lease.counter.reason else "",
        **asked(lease.questions[-1] if lease.questions else None),
        "wish_cost": wish_cost(lease, lease.wish) if lease.wish else None,
        "wish_length": to_the_minute(lease.wish.until - lease.ends_at) if lease.wish and lease.ends_at else timedelta(),
        "wish_reason": quoted(lease.wish.reason, REASON_MOST) if lease.wish and lease.wish.reason else "",
        "runs_until": lease.runs_until,
        "suspends_at": stops_at,
        "resumes_at": next_open(lease.schedule, stops_at or now) if lease.schedule else None,
        "exemption_reason": quoted(lease.exemption.reason, REASON_MOST) if lease.exemption else "",
    }


def _later_steps(lease: Lease) -> tuple[str, ...]:
    """The names of the steps that are asked once those that are asked now are done."""
    now = waiting(lease.steps)
    return tuple(step.name for step in lease.steps if not step.done and step not in now)


def listed(words: Sequence[str]) -> str:
    """The words with commas; of very many the first ones and a count."""
    more = f" and {len(words) - _LIST_MOST} more" if len(words) > _LIST_MOST else ""
    return ", ".join(words[:_LIST_MOST]) + more


def _length(lease: Lease) -> timedelta:
    """From usable to its end once both are known, extensions included; until then the time asked for."""
    if lease.ready_at and lease.ends_at:
        return to_the_minute(lease.ends_at - lease.ready_at)
    return to_the_minute(lease.request.length(lease.requested_at))
