"""What becomes of a lease whose owner has left: offered to one circle of people after the other, never just stopped.

The circles are those who hold it too and the team's lead, then the team, then the administrators. A lease that nobody
takes ends by the normal way, with all its warnings; until then it can still be taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain.errors import Refused
from lessor.domain.lease import IN_USE, Change, Event, Lease, State, changed
from lessor.domain.ownership import LESSOR, MOVABLE, expire, offered
from lessor.domain.pending import Transfer
from lessor.domain.people import Person
from lessor.domain.takedown import cancel

Circles = tuple[tuple[str, ...], ...]

LATEST = timedelta(days=1)
"""The longest pause between two looks for people who have left: their leases are offered to others within a day."""

BRAKE_LEAST, BRAKE_SHARE = 3, 0.5

NOT_TAKEN = "its owner has left and nobody took it over"


def owner_left(lease: Lease, owner: str, circles: Circles, now: datetime, *, held: bool = False) -> Change:
    """The owner's account does not work any more: the lease is offered to the first of `circles`.

    `held` says that others hold it too and can still be asked: then it does not end for want of a new owner (case
    F03). Nothing changes for a lease that has another owner by now, or is offered already because of this, unless
    those who held it too have left since.
    """
    if lease.owner != owner or lease.state not in MOVABLE or (is_offered(lease) and (held or not _was_held(lease))):
        return Change(lease, ())
    first, later = (circles[0], circles[1:]) if circles else ((), ())
    expires = None if held else now + (lease.terms.offer_after if first else timedelta())
    transfer = Transfer(first, lease.request.team, LESSOR, now, expires, later=() if held else later, held=held)
    data = {"owner": owner, "circle": "0", "to": ", ".join(first), "held": "yes" if held else "no"}
    return changed(lease, Event("owner-left", now, LESSOR, data), transfer=transfer)


def is_offered(lease: Lease) -> bool:
    """Whether the lease is offered to others because its owner has left."""
    return lease.transfer is not None and lease.transfer.by == LESSOR


def pass_on(lease: Lease, person: Person, now: datetime) -> Change:
    """Somebody who was asked by name does not want it: the next are asked at once. Raises `Refused` as `offered`, and
    "others-may" where others are asked as well.
    """
    found = offered(lease, person, now)
    alone = found.to == (f"person:{person.id}",)
    if not alone or not found.later:
        raise Refused("others-may", f"others are asked as well whether they take {lease.id}; you need not do anything")
    event = Event("transfer-declined", now, person.id, {"to": ", ".join(found.to)})
    declined = changed(lease, event)
    following = unanswered(replace(declined.lease, transfer=replace(found, expires=now)), now)
    return replace(following, events=(*declined.events, *following.events))


def unanswered(lease: Lease, now: datetime) -> Change:
    """The circle that was asked did not take it: the next one is asked, and after the last one it ends normally.

    Raises `Refused` ("not-due") before the time of that circle is over.
    """
    found = lease.transfer
    if found is None or found.expires is None or now < found.expires:
        raise Refused("not-due", f"{lease.id} is not to be offered to others now")
    if not found.later:
        return _not_taken(replace(lease, transfer=replace(found, expires=None)), now)
    circle = found.circle + 1
    data = {"circle": str(circle), "to": ", ".join(found.later[0]), "owner": lease.owner}
    following = replace(
        found,
        to=found.later[0],
        later=found.later[1:],
        circle=circle,
        at=now,
        expires=now + lease.terms.offer_after,
    )
    return changed(lease, Event("transfer-offered", now, LESSOR, data), transfer=following)


def offer_ended(lease: Lease, now: datetime) -> Change:
    """Nobody accepted what was offered until now. Raises `Refused` ("not-due") before that."""
    return unanswered(lease, now) if is_offered(lease) else expire(lease, now)


def circles(lease: Lease, co_owners: Iterable[Person], lead: Iterable[Person], team: bool, admins: bool) -> Circles:
    """Whom to ask, first those nearest. `co_owners` and `lead` (with who stands in) are the active ones; `team` and
    `admins` say whether any of them is active. Circles of nobody are left out.
    """
    near = dict.fromkeys(f"person:{p.id}" for p in (*co_owners, *lead))
    wanted = (tuple(near), (f"team:{lease.request.team}",) if team else (), ("admins",) if admins else ())
    return tuple(circle for circle in wanted if circle)


def braked(gone: int, owners: int) -> str:
    """Why nothing is done: so many owners at once look like a mistake of ours or Slack's (law 5); empty if it may be.

    `gone` counts those whom the configuration still has as active.
    """
    if gone < BRAKE_LEAST or gone <= owners * BRAKE_SHARE:
        return ""
    return (
        f"{gone} of {owners} owners look deactivated at once; nothing was offered to others. "
        "Mark those who have really left with active: false in lessor.yaml"
    )


def _was_held(lease: Lease) -> bool:
    return lease.transfer is not None and lease.transfer.held


def _not_taken(lease: Lease, now: datetime) -> Change:
    """The end comes nearer, by one more span in which it can be taken; a lease that was never used is cancelled."""
    if lease.state in (State.APPROVED, State.WAITING_FOR_CAPACITY):
        return cancel(lease, LESSOR, now, NOT_TAKEN)
    ends_at = now + max(lease.terms.offer_after, lease.terms.notice)
    event = Event("transfer-expired", now, LESSOR, {"to": ", ".join(lease.transfer.to) if lease.transfer else ""})
    if lease.state not in IN_USE or lease.ends_at is None or lease.ends_at <= ends_at:
        return changed(lease, event)
    data = {"from": lease.ends_at.isoformat(), "to": ends_at.isoformat(), "reason": NOT_TAKEN}
    moved = changed(
        lease,
        Event("shortened", now, LESSOR, data),
        ends_at=ends_at,
        end_set_at=now,
        warned=(),
        next_try=None,
        wish=None,
    )
    return replace(moved, events=(event, *moved.events))
