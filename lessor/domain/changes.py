"""A request that becomes another one before it is decided: changes that an approver proposes or the requester makes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import approval, asking
from lessor.domain.errors import Refused, instant
from lessor.domain.lease import Change, Event, Lease, State, changed, minute, require_state
from lessor.domain.pending import Changes, Counter
from lessor.domain.people import Person
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Request, spell


def propose(lease: Lease, person: Person, changes: Changes, reason: str, now: datetime) -> Change:
    """An approver would approve a smaller request: shorter, fewer, cheaper. The requester accepts or declines.

    Raises `Refused`: wrong-state, own-request, not-approver, inactive, counter-pending, no-change, not-less, and as
    `changed_request`.
    """
    require_state(lease, State.AWAITING_APPROVAL)
    approval.may_decide(lease.steps, person, lease.requester_ids)
    if lease.counter is not None:
        raise Refused(
            "counter-pending",
            f"{lease.counter.by} has proposed changes already and the requester has not answered; "
            "approve the request as it is, deny it, or wait for the answer",
        )
    wanted = changed_request(lease, changes, now)
    _require_less(lease, wanted, now)
    changes = _different(lease.request, changes, lease.gpus)
    counter = Counter(person.id, changes, now, tuple(sorted(person.all_ids)), reason.strip())
    event = Event("countered", now, person.id, {"changes": describe(changes), "reason": counter.reason})
    return changed(lease, event, counter=counter)


def accept(lease: Lease, person: Person, now: datetime) -> Change:
    """The requester takes the changes: the request is judged again, and the proposer's approval counts then.

    Raises `Refused`: wrong-state, not-owner, no-counter, and as `changed_request`.
    """
    counter = _open_counter(lease, person)
    wanted = changed_request(lease, counter.changes, now)
    event = Event("changes-accepted", now, person.id, {"changes": describe(counter.changes), "by": counter.by})
    return _requested_again(lease, wanted, event)


def decline(lease: Lease, person: Person, now: datetime) -> Change:
    """The requester keeps the request as it is; those who decide have their time anew.

    Raises `Refused`: wrong-state, not-owner, no-counter.
    """
    counter = _open_counter(lease, person)
    event = Event("changes-declined", now, person.id, {"changes": describe(counter.changes), "by": counter.by})
    return changed(lease, event, counter=None, steps=asking.again(lease.steps, lease.terms, now))


def revise(lease: Lease, person: Person, changes: Changes, now: datetime) -> Change:
    """The requester asks for something else instead, while people decide or it waits for capacity.

    It is judged again from the start: approvals of what was asked for before do not count. Whoever calls this gives
    the quota back that the lease holds. Raises `Refused`: wrong-state, not-owner, and as `changed_request`.
    """
    require_state(lease, State.AWAITING_APPROVAL, State.WAITING_FOR_CAPACITY)
    if not person.is_same(lease.holder_ids):
        raise Refused("not-owner", "only the requester can change this request; propose changes instead")
    wanted = changed_request(lease, changes, now)
    event = Event("revised", now, person.id, {"changes": describe(changes)})
    return _requested_again(replace(lease, counter=None), wanted, event)


def stands(before: Quote | None, after: Quote) -> bool:
    """Whether an approval of changes holds at the new price: it did not rise, for each GPU where they are the same.

    A price that was known and is not any more has risen (law 1).
    """
    old = before.judged_hourly if before else None
    new = after.judged_hourly
    if before is None or old is None or new is None:
        return old is None
    if _kind(before.offer) == _kind(after.offer):
        return new.amount * before.offer.gpu_count <= old.amount * after.offer.gpu_count
    return new <= old


def changed_request(lease: Lease, changes: Changes, now: datetime) -> Request:
    """The request with `changes`. Raises `Refused`: no-change, two-ends, too-short, too-long, no-gpus."""
    request = lease.request
    wanted = replace(request, need=_need(lease, changes), market=changes.market or request.market)
    if changes.duration is not None and changes.until is not None:
        raise Refused("two-ends", "give either how long or until when, not both; nothing was changed")
    if changes.duration is not None:
        wanted = replace(wanted, duration=changes.duration, until=None)
    if changes.until is not None:
        wanted = replace(wanted, duration=None, until=instant("until", changes.until))
    if wanted == request:
        raise Refused("no-change", "these changes are what was asked for already; nothing was changed")
    _require_allowed(lease, wanted, now)
    return wanted


def describe(changes: Changes) -> str:
    """For people and the record: `4 GPUs, 2 d, spot`."""
    parts = [
        f"{changes.count} GPU{'' if changes.count == 1 else 's'}" if changes.count is not None else "",
        changes.instance_type,
        changes.market.value if changes.market else "",
        f"for {spell(changes.duration)}" if changes.duration is not None else "",
        f"until {minute(changes.until)}" if changes.until is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def _open_counter(lease: Lease, person: Person) -> Counter:
    require_state(lease, State.AWAITING_APPROVAL)
    if not person.is_same(lease.holder_ids):
        raise Refused("not-owner", "only the requester answers proposed changes")
    if lease.counter is None:
        raise Refused("no-counter", f"no changes of {lease.id} are proposed any more; nothing was changed")
    return lease.counter


def _requested_again(lease: Lease, wanted: Request, event: Event) -> Change:
    """Back to the start with another request. That something was tried stays known: see `Lease.untouched`."""
    capacity = replace(lease.capacity, tries=0, tried=()) if lease.capacity else None
    questions = tuple(
        q if q.answer else replace(q, answer="the request was changed", answered_by=event.actor, answered_at=event.at)
        for q in lease.questions
    )
    undecided: dict[str, object] = {"decided_by": "", "decided_at": None, "decided_reason": "", "approved_at": None}
    return changed(
        lease,
        event,
        request=wanted,
        state=State.REQUESTED,
        steps=(),
        questions=questions,
        capacity=capacity,
        problem="",
        **undecided,
    )


def _different(request: Request, changes: Changes, gpus: int) -> Changes:
    """`changes` without what was asked for anyway, which would be read as a change."""
    return replace(
        changes,
        count=None if changes.count == gpus else changes.count,
        duration=None if changes.duration == request.duration else changes.duration,
        until=None if changes.until == request.until else changes.until,
        instance_type="" if changes.instance_type == request.need.instance_type else changes.instance_type,
        market=None if changes.market is request.market else changes.market,
    )


def _need(lease: Lease, changes: Changes) -> Need:
    need = lease.request.need
    if changes.instance_type and changes.instance_type != need.instance_type:
        need = replace(need, instance_type=changes.instance_type, model="", memory_gib=0)
    if changes.count is not None and changes.count != lease.gpus:
        need = replace(need, count=changes.count)
        if not changes.instance_type and need.instance_type:
            need = replace(need, instance_type="", model=lease.model)
    return need


def _require_allowed(lease: Lease, wanted: Request, now: datetime) -> None:
    length, terms = wanted.length(max(now, wanted.start or now)), lease.terms
    if length < terms.min_duration:
        raise Refused("too-short", f"that is {spell(length)}; the shortest lease is {spell(terms.min_duration)}")
    if length > terms.max_total:
        raise Refused("too-long", f"that is {spell(length)}; the longest lease is {spell(terms.max_total)}")
    if wanted.need.count < 1:
        raise Refused("no-gpus", "at least one GPU is needed; deny the request with a reason instead")


def _require_less(lease: Lease, wanted: Request, now: datetime) -> None:
    """Proposed changes may only take away: what is more has to be asked for by the requester."""
    begins = max(now, lease.request.start or now)
    if wanted.length(begins) > lease.request.length(begins):
        asked = spell(lease.request.length(begins))
        raise Refused("not-less", f"that is longer than the {asked} that were asked for; propose a shorter time")
    if not wanted.need.instance_type and wanted.need.count > lease.gpus:
        raise Refused("not-less", f"{wanted.need.count} GPUs are more than the {lease.gpus} that were asked for")
    if wanted.market is not lease.request.market and wanted.market is not Market.SPOT:
        raise Refused("not-less", f"{wanted.market.value} is not cheaper than {lease.request.market.value}")
    if lease.quote is not None and wanted.need.instance_type not in ("", lease.request.need.instance_type):
        _require_cheaper(lease.quote, wanted.need.instance_type)


def _require_cheaper(quote: Quote, instance_type: str) -> None:
    """Of what the quote knows; what it does not know is priced when the requester accepts."""
    now = quote.offer.hourly
    found = next((offer for offer in quote.alternatives if offer.instance_type == instance_type), None)
    if found is None or found.hourly is None or now is None or found.hourly <= now:
        return
    dearer = f"{instance_type} costs {found.hourly.exact} an hour, more than {now.exact}"
    raise Refused("not-less", f"{dearer}; propose a cheaper one")


def _kind(offer: Offer) -> tuple[str, Market]:
    return offer.gpu_model, offer.market
