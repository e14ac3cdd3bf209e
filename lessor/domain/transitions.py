"""What may happen to a request until it is approved, denied, withdrawn or lapsed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import approval
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL, Change, Event, Lease, State, Terms, changed, require_state
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome
from lessor.domain.quote import Quote
from lessor.domain.request import Request

BEFORE_USE = (
    State.REQUESTED,
    State.AWAITING_APPROVAL,
    State.APPROVED,
    State.PROVISIONING,
    State.WAITING_FOR_CAPACITY,
)


def submit(lease_id: str, request: Request, now: datetime, terms: Terms | None = None) -> Change:
    """A new lease in `requested`, owned by the requester."""
    lease = Lease(lease_id, request, request.requester, now, terms=terms or Terms())
    data = {
        "team": request.team,
        "need": str(request.need),
        "place": str(request.place),
        "market": request.market.value,
    }
    data |= {"workload": request.workload.value, "purpose": request.purpose, "end": _wanted_end(request)}
    return Change(lease, (Event("requested", now, request.requester, data),))


def assess(
    lease: Lease, quote: Quote, decision: Decision, steps: tuple[approval.Step, ...], owner: Person, now: datetime
) -> Change:
    """Put the quote and the policy's decision on record: denied, approved at once, or waiting for people."""
    require_state(lease, State.REQUESTED)
    common = {"quote": quote, "decision": decision, "owner_ids": tuple(sorted(owner.all_ids))}
    reasons = "; ".join(f"{r.rule}: {r.text}" for r in decision.reasons)
    data = {"outcome": decision.outcome.value, "reasons": reasons, "policy": decision.policy_version}
    data |= {"offer": quote.offer.instance_type, "hourly": str(quote.offer.hourly or "unknown")}
    data |= {"price_list": quote.price_list}
    assessed = Event("assessed", now, "policy", data)
    if decision.outcome is Outcome.DENY:
        change = changed(lease, assessed, **common)
        return _then(change, deny_by_policy(change.lease, reasons, now))
    if decision.outcome is Outcome.APPROVE:
        change = changed(lease, assessed, **common)
        return _then(change, _approved(change.lease, "policy", reasons, now))
    return changed(lease, assessed, state=State.AWAITING_APPROVAL, steps=steps, **common)


def deny_by_policy(lease: Lease, reason: str, now: datetime) -> Change:
    """Denied by a rule, a full quota or an impossible request, with the reason that the requester reads."""
    return _denied(lease, "policy", reason, now)


def approve(lease: Lease, person: Person, now: datetime, note: str = "") -> Change:
    """One approval. The lease is approved when the last step has its quorum.

    Raises `Refused`: already-decided (names who and when), own-request, not-approver, already-voted, inactive,
    wrong-state.
    """
    _refuse_if_decided(lease)
    require_state(lease, State.AWAITING_APPROVAL)
    step = approval.check(lease.steps, person, lease.requester_ids)
    steps = approval.vote(lease.steps, step, person, now, note)
    voted = Event("approval-given", now, person.id, {"step": step.name, "note": note})
    change = changed(lease, voted, steps=steps)
    if approval.current(steps) is not None:
        return change
    return _then(change, _approved(change.lease, person.id, note, now))


def deny(lease: Lease, person: Person, reason: str, now: datetime) -> Change:
    """Denied by one of those who may decide; a reason is needed. Raises `Refused` as `approve`, and no-reason."""
    _refuse_if_decided(lease)
    require_state(lease, State.AWAITING_APPROVAL)
    approval.check(lease.steps, person, lease.requester_ids)
    if not reason.strip():
        raise Refused("no-reason", "say why: the requester reads the reason")
    return _denied(lease, person.id, reason.strip(), now)


def withdraw(lease: Lease, by: str, now: datetime) -> Change:
    """The requester takes the request back before it is usable; what may exist already is undone first."""
    require_state(lease, *BEFORE_USE)
    if by not in lease.requester_ids:
        raise Refused("not-owner", "only the requester can withdraw this request")
    decided = {"decided_by": by, "decided_at": now}
    if lease.state is State.PROVISIONING:
        event = Event("withdraw-asked", now, by, {})
        return changed(lease, event, state=State.DELETING, outcome=State.WITHDRAWN, deleting_at=now, **decided)
    return changed(lease, Event("withdrawn", now, by, {}), state=State.WITHDRAWN, closed_at=now, **decided)


def lapse(lease: Lease, now: datetime) -> Change:
    """Nobody decided in time. Nothing is approved by silence."""
    require_state(lease, State.AWAITING_APPROVAL)
    waited = Event("lapsed", now, "lessor", {"deadline": (lease.requested_at + lease.terms.lapse_after).isoformat()})
    return changed(lease, waited, state=State.LAPSED, closed_at=now)


def refused_attempt(lease: Lease, by: str, verb: str, refusal: Refused, now: datetime) -> Change:
    """An act that was not allowed, put on record: the audit shows who tried what."""
    return changed(lease, Event("refused", now, by, {"verb": verb, "code": refusal.code, "why": str(refusal)}))


def _refuse_if_decided(lease: Lease) -> None:
    if lease.decided_at and lease.state is not State.AWAITING_APPROVAL:
        verb = (
            "denied" if lease.state is State.DENIED else "withdrawn" if lease.state is State.WITHDRAWN else "approved"
        )
        raise Refused(
            "already-decided", f"already {verb} by {lease.decided_by} at {lease.decided_at:%Y-%m-%d %H:%M} UTC"
        )
    if lease.state in FINAL:
        require_state(lease, State.AWAITING_APPROVAL)


def _approved(lease: Lease, by: str, why: str, now: datetime) -> Change:
    return changed(
        lease,
        Event("approved", now, by, {"why": why}),
        state=State.APPROVED,
        decided_by=by,
        decided_at=now,
        decided_reason=why,
        approved_at=now,
    )


def _denied(lease: Lease, by: str, reason: str, now: datetime) -> Change:
    return changed(
        lease,
        Event("denied", now, by, {"reason": reason}),
        state=State.DENIED,
        decided_by=by,
        decided_at=now,
        decided_reason=reason,
        closed_at=now,
    )


def _then(first: Change, second: Change) -> Change:
    return replace(second, events=(*first.events, *second.events))


def _wanted_end(request: Request) -> str:
    return request.until.isoformat() if request.until else f"{request.duration} after it is ready"
