"""What the templates may say of a lease: its own fields, and the few things that have to be worked out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.blocks.text import cut
from lessor.domain import approval
from lessor.domain.lease import TERMINATED, Lease, State
from lessor.domain.people import Person
from lessor.domain.request import to_the_minute
from lessor.rendering import Safe, mrkdwn

PURPOSE_MOST = 2_400
REASON_MOST = 1_200
_LIST_MOST = 40


def facts(lease: Lease, now: datetime, deciders: Sequence[Person] = ()) -> dict[str, object]:
    """Values for any template about a lease; `deciders` are those who can decide the current step now."""
    length = _length(lease)
    offer = lease.quote.offer if lease.quote else None
    return {
        "lease": lease,
        "now": now,
        "state": lease.state.value.replace("-", " "),
        "waiting": lease.state in (State.REQUESTED, State.AWAITING_APPROVAL),
        "deciders": tuple(deciders),
        "by_policy": lease.decided_by == "policy",
        "rules": lease.decision.reasons if lease.decision else (),
        "step": approval.current(lease.steps),
        "steps_left": sum(not step.done for step in lease.steps),
        "lapses_at": lease.lapses_at,
        "length": length,
        "offer": offer,
        "price_known": bool(lease.quote and lease.quote.known),
        "total": lease.quote.total(length) if lease.quote else None,
        "hourly": next((span.hourly for span in reversed(lease.spans)), offer.hourly if offer else None),
        "purpose": quoted(lease.request.purpose, PURPOSE_MOST),
        "reason": quoted(lease.decided_reason or "no reason was given", REASON_MOST),
        "remaining": lease.allowance,
        "remaining_seconds": lease.allowance.total_seconds(),
        "cost": lease.cost(now),
        "hours": lease.hours(now),
        "ending": lease.ending_reason,
        "problem": lease.problem.rstrip(" ."),
        "terminated": lease.final and lease.ending_reason.startswith(f"{TERMINATED}: "),
        "deletes_at": (lease.stopped_at or now) + lease.terms.grace,
        "tried": ", ".join(lease.capacity.tried) if lease.capacity else "",
        "left": ", ".join(lease.left),
        "left_count": len(lease.left),
        "resources": listed([f"{r.kind.value} {r.id}" for r in lease.resources]),
    }


def quoted(text: str, most: int) -> Safe:
    """Somebody's words set off line by line and cut to `most` characters, both after escaping."""
    lines = mrkdwn(text.strip()).splitlines() or [""]
    return Safe(cut("\n".join(f"&gt; {line}" for line in lines), most))


def listed(words: Sequence[str]) -> str:
    """The words with commas; of very many the first ones and a count."""
    more = f" and {len(words) - _LIST_MOST} more" if len(words) > _LIST_MOST else ""
    return ", ".join(words[:_LIST_MOST]) + more


def _length(lease: Lease) -> timedelta:
    """From usable to its end once both are known, extensions included; until then the time asked for."""
    if lease.ready_at and lease.ends_at:
        return to_the_minute(lease.ends_at - lease.ready_at)
    return to_the_minute(lease.request.length(lease.requested_at))
