"""How a lease comes to another owner, to several, or to those who are left when its owner has gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain import capping
from lessor.domain.approval import Step, Vote
from lessor.domain.authority import belongs
from lessor.domain.errors import Refused
from lessor.domain.ladder import untold
from lessor.domain.lease import Change, Event, Lease, State, changed, minute, require_state
from lessor.domain.pending import CoOwner, Payer, Transfer, Wish
from lessor.domain.people import Person
from lessor.domain.request import Request

LESSOR = "lessor"
"""Who offers a lease whose owner has left."""

OFFER_STANDS = timedelta(days=7)
"""How long somebody has to accept a lease that is offered to them."""

MOST_CO_OWNERS = 20

WHOLE_TEAM = "team"
"""Instead of a person: the lease is shared with everybody of its team."""

MOVABLE = (State.APPROVED, State.WAITING_FOR_CAPACITY, State.ACTIVE, State.SUSPENDED, State.STOPPED)
"""Before these people still decide on it, and nobody may come to own what they decide on; after them it is over."""


def offer(lease: Lease, to: Person, team: str, by: str, now: datetime) -> Change:
    """Offer the lease to `to`, at the cost of `team` (empty: the one that fits); nothing moves before they accept.

    Raises `Refused`: wrong-state, inactive-receiver, already-owner, not-in-team, which-team.
    """
    require_state(lease, *MOVABLE)
    if not to.active:
        raise Refused(
            "inactive-receiver",
            f"{to.name or to.id} is not an active person of this organisation; {lease.id} stays with its owner",
        )
    if to.is_same(frozenset((lease.owner, *lease.owner_ids))):
        raise Refused("already-owner", f"{lease.id} belongs to {to.name or to.id} already; nothing was changed")
    payer = _payer(lease, to, team)
    expires = now + OFFER_STANDS
    offered = Transfer((f"person:{to.id}",), payer, by, now, expires)
    data = {"to": to.id, "team": payer, "expires": expires.isoformat()}
    return changed(lease, Event("transfer-offered", now, by, data), transfer=offered, offers=lease.offers + 1)


def take(lease: Lease, person: Person, payer: Payer | None, now: datetime, team: str = "") -> Change:
    """`person` becomes the owner: with the whole sequence of warnings, whatever its former owner was told.

    `payer` is what it takes over; within the team, who pays and whom to ask stay as they were copied (case F02). What
    the new owner approved in an extension that still waits does not count any more (law 6).

    Raises `Refused`: wrong-state, no-offer, not-offered, inactive, offer-expired, and as `pays`.
    """
    offered(lease, person, now)
    require_state(lease, *MOVABLE)
    paying = pays(lease, person, team)
    if payer is not None and payer.team != paying:
        raise Refused("offer-changed", f"{lease.id} was offered anew meanwhile; nothing was moved, try again")
    before = {"from": lease.owner, "to": person.id, "from_team": lease.request.team, "team": paying}
    mine = frozenset((person.id, *person.all_ids))
    dated = {"end_set_at": now, "warned": ()} if lease.ends_at is not None and lease.state is not State.STOPPED else {}
    fresh = {"next_try": None} if lease.state in (State.ACTIVE, State.SUSPENDED) else {}
    return changed(
        replace(capping.untold(lease), **dated, **fresh),  # type: ignore[arg-type]
        Event("transferred", now, person.id, before),
        owner=person.id,
        owner_ids=tuple(sorted(person.all_ids)),
        owner_hours=payer.awake if payer else None,
        request=_charged(lease, payer) if payer else lease.request,
        former_owners=(*lease.former_owners, lease.owner),
        co_owners=tuple(one for one in lease.co_owners if _stays(one, mine, paying)),
        wish=void_votes(lease.wish, mine),
        transfer=None,
        idle=untold(lease.idle),
        consent=None,
    )


def pays(lease: Lease, person: Person, team: str = "") -> str:
    """The team that pays once `person` has taken the lease: as it was offered. Of a lease whose owner has left, the
    team that pays now, or one of `person`'s own if they do not belong to that one; `team` says which.

    Raises `Refused`: no-offer, not-in-team, which-team.
    """
    found = lease.transfer
    if found is None:
        raise Refused("no-offer", f"{lease.id} is not offered to anybody now; ask its owner to offer it to you")
    if found.by == LESSOR:
        return _payer(lease, person, team) if team or not belongs(lease, person) else found.team
    if found.team not in person.teams:
        raise Refused("not-in-team", f"you do not belong to team {found.team} any more, which would pay; nothing moved")
    return found.team


def decline(lease: Lease, person: Person, now: datetime) -> Change:
    """The receiver does not want it, or a holder takes the offer back; the lease stays with its owner.

    Raises `Refused`: no-offer, not-offered, inactive.
    """
    found = lease.transfer
    if found is None:
        raise Refused("no-offer", f"{lease.id} is not offered to anybody")
    if not person.active:
        raise Refused("inactive", "this account is deactivated and cannot act on leases")
    if person.refs.isdisjoint(found.to) and not person.is_same(lease.holder_ids | {found.by}):
        raise Refused("not-offered", f"{lease.id} is not offered to you; nothing was changed")
    event = Event("transfer-declined", now, person.id, {"to": ", ".join(found.to)})
    return changed(lease, event, transfer=None)


def expire(lease: Lease, now: datetime) -> Change:
    """Nobody accepted in time: the lease stays with its owner. Raises `Refused` ("not-due") before that."""
    found = lease.transfer
    if found is None or found.expires is None or now < found.expires:
        raise Refused("not-due", f"no offer of {lease.id} ends now")
    event = Event("transfer-expired", now, LESSOR, {"to": ", ".join(found.to)})
    return changed(lease, event, transfer=None)


def share(lease: Lease, to: Person | None, by: str, now: datetime) -> Change:
    """`to` may do from now on what the owner may; `None` is everybody of the lease's team.

    Raises `Refused`: wrong-state, inactive-receiver, already-shared, too-many.
    """
    require_state(lease, State.PROVISIONING, *MOVABLE)
    one = _co_owner(lease, to)
    if to is not None and not to.active:
        raise Refused(
            "inactive-receiver",
            f"{to.name or to.id} is not an active person of this organisation; nothing was shared",
        )
    holds = one.id in lease.holder_ids if to is None else to.is_same(lease.holder_ids)
    if holds:
        raise Refused("already-shared", _why_held(lease, to))
    if len(lease.co_owners) >= MOST_CO_OWNERS:
        raise Refused(
            "too-many", f"{lease.id} has {MOST_CO_OWNERS} co-owners, the most there may be; share it with the team"
        )
    event = Event("shared", now, by, {"with": one.id})
    mine = frozenset(one.ids)
    return changed(lease, event, co_owners=(*lease.co_owners, one), wish=void_votes(lease.wish, mine))


def unshare(lease: Lease, to: Person | None, by: str, now: datetime) -> Change:
    """Take back what `share` gave. Raises `Refused` ("not-shared"), also for the owner, whose it stays."""
    gone = [one for one in lease.co_owners if _is(one, to, lease.request.team)]
    if not gone:
        who = f"team {lease.request.team}" if to is None else to.name or to.id
        raise Refused("not-shared", f"{lease.id} is not shared with {who}; nothing was changed")
    kept = tuple(one for one in lease.co_owners if one not in gone)
    return changed(lease, Event("unshared", now, by, {"with": gone[0].id}), co_owners=kept)


def holder(lease: Lease) -> tuple[str, ...]:
    """What stands on the resources of whose they are: the owner, the team that pays, its cost centre, and with whom it
    is shared, who are let in by name where a place does that.
    """
    return lease.owner, lease.request.team, lease.request.cost_center, *(one.id for one in lease.co_owners)


def owner_unwritten(lease: Lease, problem: str, now: datetime) -> Change:
    """The new owner could not be written on the resources; on record, since bills are read from there."""
    return changed(lease, Event("owner-unwritten", now, LESSOR, {"problem": problem}))


def offered(lease: Lease, person: Person, now: datetime) -> Transfer:
    """The offer that `person` may accept. Raises `Refused`: no-offer, inactive, not-offered, offer-expired."""
    found = lease.transfer
    if found is None:
        raise Refused("no-offer", f"{lease.id} is not offered to anybody now; ask its owner to offer it to you")
    if not person.active:
        raise Refused("inactive", "this account is deactivated and cannot own a lease")
    if person.refs.isdisjoint(found.to):
        raise Refused("not-offered", f"{lease.id} is offered to {_whom(found)}, not to you; nothing was changed")
    if found.by != LESSOR and found.expires is not None and found.expires <= now:
        raise Refused("offer-expired", f"the offer ended at {minute(found.expires)}; ask its owner to offer it again")
    return found


def _whom(found: Transfer) -> str:
    """Whom it is offered to, in words without the ids of people."""
    teams = [ref.partition(":")[2] for ref in found.to if ref.startswith("team:")]
    return f"everybody of team {teams[0]}" if teams else "somebody else"


def _why_held(lease: Lease, to: Person | None) -> str:
    """Why sharing with `to`, who may do everything with it already, changes nothing."""
    if to is None:
        return f"{lease.id} is shared with team {lease.request.team} already; nothing was changed"
    name = to.name or to.id
    if to.is_same(frozenset((lease.owner, *lease.owner_ids))):
        return f"{lease.id} belongs to {name}, who needs no share; nothing was changed"
    return f"{lease.id} is shared with {name} already; nothing was changed"


def void_votes(wish: Wish | None, mine: frozenset[str]) -> Wish | None:
    """An extension that waits, without the approvals of people who may not decide on it any more (law 6)."""
    if wish is None:
        return None
    return replace(wish, steps=tuple(replace(step, votes=_others(step, mine)) for step in wish.steps))


def _others(step: Step, mine: frozenset[str]) -> tuple[Vote, ...]:
    return tuple(vote for vote in step.votes if mine.isdisjoint((vote.by, *vote.ids)))


def _payer(lease: Lease, to: Person, team: str) -> str:
    """The team that pays after the transfer: the receiver belongs to it."""
    name, known = to.name or to.id, ", ".join(to.teams) or "none"
    if team and team not in to.teams:
        raise Refused("not-in-team", f"{name} is not in team {team}; their teams: {known}. Nothing was changed")
    if team or lease.request.team in to.teams:
        return team or lease.request.team
    if not to.teams:
        raise Refused("not-in-team", f"{name} is in no team that could pay for {lease.id}; nothing was changed")
    if len(to.teams) > 1:
        raise Refused("which-team", f"{name} is in several teams: {known}; say which of them pays")
    return to.teams[0]


def _charged(lease: Lease, payer: Payer) -> Request:
    if payer.team == lease.request.team:
        return lease.request
    return replace(lease.request, team=payer.team, cost_center=payer.cost_center, lead=payer.lead)


def _co_owner(lease: Lease, to: Person | None) -> CoOwner:
    if to is None:
        return CoOwner(f"team:{lease.request.team}")
    return CoOwner(to.id, tuple(sorted(to.all_ids)), lease.request.team in to.teams)


def _is(one: CoOwner, to: Person | None, team: str) -> bool:
    return one.id == f"team:{team}" if to is None else to.is_same(frozenset((one.id, *one.ids)))


def _stays(one: CoOwner, new_owner: frozenset[str], team: str) -> bool:
    """The new owner needs no share, and another team's members have none in what their team does not pay for."""
    if one.id.startswith("team:"):
        return one.id == f"team:{team}"
    return new_owner.isdisjoint((one.id, *one.ids))
