"""What may happen to a request until it is approved, denied, withdrawn or lapsed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain import approval, asking, requoting, suspension
from lessor.domain.errors import Refused
from lessor.domain.lease import (
    IN_USE,
    NOTHING_YET,
    Change,
    Event,
    Lease,
    Refusal,
    State,
    changed,
    describe,
    minute,
    require_state,
)
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome
from lessor.domain.questions import waits_for_requester
from lessor.domain.quote import Quote
from lessor.domain.request import Request, spell
from lessor.domain.stepup import require_typed
from lessor.domain.takedown import deleting
from lessor.domain.terms import Terms

TO_BE_CREATED = (State.APPROVED, State.WAITING_FOR_CAPACITY)

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
    data |= {"offer": quote.offer.instance_type, "hourly": _rate(quote)}
    data |= {"price_list": quote.price_list, **suspension.on_record(lease)}
    assessed = Event("assessed", now, "policy", data)
    if decision.outcome is Outcome.DENY:
        change = changed(lease, assessed, counter=None, **common)
        return _then(change, deny_by_policy(change.lease, reasons, now))
    if decision.outcome is Outcome.APPROVE:
        change = changed(lease, assessed, counter=None, **common)
        return _then(change, _approved(change.lease, "policy", reasons, now))
    change = changed(lease, assessed, state=State.AWAITING_APPROVAL, steps=steps, asked_at=now, counter=None, **common)
    return _then(change, asking_about(change.lease, steps, now))


def asking_about(lease: Lease, found: tuple[approval.Step, ...], now: datetime) -> Change:
    """Those whose turn it is are asked, reminded, or the next level is asked as well: `found` is who decides now.

    `found` are the steps of the lease, staffed anew. Raises `Refused` ("wrong-state").
    """
    require_state(lease, State.AWAITING_APPROVAL)
    steps = asking.staffed(lease.steps, found, lease.terms, now, paused=waits_for_requester(lease))
    told = asking.told(lease.steps, steps)
    events = tuple(Event(one.type, now, "lessor", one.data) for one in told)
    return Change(replace(lease, steps=steps, revision=lease.revision + len(events)), events)


def deny_by_policy(lease: Lease, reason: str, now: datetime) -> Change:
    """Denied by a rule, a full quota or an impossible request, with the reason that the requester reads."""
    require_state(lease, *(s for s in State if s in NOTHING_YET))
    return _denied(lease, "policy", reason, now)


def approve(lease: Lease, person: Person, now: datetime, note: str = "", typed: str = "") -> Change:
    """One approval. The lease is approved when the last step has its quorum. `typed` is its id, where that is needed.

    Raises `Refused`: already-decided (names who and when), own-request, not-approver, already-voted, inactive,
    wrong-state, end-passed, needs-confirmation.
    """
    _refuse_if_decided(lease)
    require_state(lease, State.AWAITING_APPROVAL)
    step = approval.check(lease.steps, person, lease.requester_ids)
    if lease.request.until is not None and lease.request.until <= now:
        raise Refused(
            "end-passed", f"the end asked for, {minute(lease.request.until)}, has passed; ask for a new lease"
        )
    require_typed(lease, total_cost(lease, now), typed)
    steps = approval.vote(lease.steps, step, person, now, note, lease.requester_ids)
    lender = approval.stands_in_for(step, person, lease.requester_ids)
    data = {"step": step.name, "note": note} | ({"for": lender.id} if lender else {})
    change = changed(lease, Event("approval-given", now, person.id, data), steps=steps)
    if approval.waiting(steps):
        return change
    return _then(change, _approved(change.lease, person.id, note, now))


def deny(lease: Lease, person: Person, reason: str, now: datetime) -> Change:
    """Denied by one of those who may decide, also after their own approval while others are still asked.

    A reason is needed. Raises `Refused`: already-decided, own-request, not-approver, inactive, wrong-state, no-reason.
    """
    _refuse_if_decided(lease)
    require_state(lease, State.AWAITING_APPROVAL)
    approval.may_decide(lease.steps, person, lease.requester_ids)
    if not reason.strip():
        raise Refused("no-reason", "say why: the requester reads the reason")
    return _denied(lease, person.id, reason.strip(), now)


def withdraw(lease: Lease, by: str, now: datetime) -> Change:
    """The requester takes the request back before it is usable; what may exist already is undone first.

    Taking back the wish to have a stopped lease again stops it again and gives it a new grace; nothing is deleted.
    """
    require_request(lease)
    if by not in lease.holder_ids:
        raise Refused("not-owner", "only the requester can withdraw this request")
    if lease.restoring:
        back: dict[str, object] = {"ends_at": lease.end_before_restore, "end_before_restore": None, "stopped_at": None}
        back["ending_reason"] = "restore withdrawn"
        return changed(lease, Event("restore-withdrawn", now, by, {}), state=State.ENDING, **back)
    decided = {
        "decided_by": by,
        "decided_at": now,
        "decided_reason": "withdrawn",
        "ending_reason": f"withdrawn by {by}",
    }
    if lease.untouched:
        return changed(lease, Event("withdrawn", now, by, {}), state=State.WITHDRAWN, closed_at=now, **decided)
    return deleting(lease, Event("withdraw-asked", now, by, {}), now, outcome=State.WITHDRAWN, **decided)


def require_request(lease: Lease) -> None:
    """Raise `Refused` ("wrong-state") for what is no request any more, with what gives it back where it is in use."""
    if lease.state in (*IN_USE, State.STOPPED):
        raise Refused(
            "wrong-state",
            f"{lease.id} is {describe(lease)}, and only a request can be withdrawn; nothing was changed. "
            f"`/gpu release {lease.id}` or `lessor release {lease.id}` gives it back",
        )
    require_state(lease, *BEFORE_USE)


def lapse(lease: Lease, now: datetime) -> Change:
    """Nobody decided in time. Nothing is approved by silence. Raises `Refused` ("not-due") before that."""
    require_state(lease, State.AWAITING_APPROVAL)
    if now < lease.lapses_at:
        raise Refused("not-due", f"{lease.id} can be decided until {minute(lease.lapses_at)}")
    lapsed = Event("lapsed", now, "lessor", {"deadline": lease.lapses_at.isoformat()})
    return _over(lease, lapsed, State.LAPSED, now, ending_reason="nobody decided in time")


def requote(lease: Lease, quote: Quote, decision: Decision, steps: tuple[approval.Step, ...], now: datetime) -> Change:
    """Price and policy just before provisioning: back to people where they are not what was approved (case F42).

    `decision` and `steps` are what holds now. What the policy denies now is denied; what it leaves to people goes back
    to them if the price rose, or a fact that its rules read changed, by more than the terms allow, or if it asks for
    more than before. Otherwise nothing changes: what was approved stays on record.
    """
    require_state(lease, *TO_BE_CREATED)
    if decision.outcome is Outcome.DENY:
        reasons = "; ".join(f"{r.rule}: {r.text}" for r in decision.reasons)
        why = f"it was approved, but the policy does not allow it any more ({reasons}); nothing was created"
        return _denied(lease, "policy", why, now)
    found = requoting.rise(lease, quote) or requoting.difference(lease, decision)
    if found is None or not steps:
        return Change(lease, ())
    event = Event(found.type, now, "policy", {**found.data, "price_list": quote.price_list})
    undecided = {"decided_by": "", "decided_at": None, "decided_reason": "", "approved_at": None}
    back = {"quote": quote, "decision": decision, "steps": steps, "asked_at": now}
    change = changed(lease, event, state=State.AWAITING_APPROVAL, **back, **undecided)
    return _then(change, asking_about(change.lease, steps, now))


def impossible(lease: Lease, why: str, now: datetime) -> Change:
    """What was approved cannot be judged once more just before it is created, for the reason in `why`."""
    require_state(lease, *TO_BE_CREATED)
    problem = f"it was approved, but it cannot be created any more: {why}; nothing was created"
    return _denied(lease, "policy", problem, now)


def total_cost(lease: Lease, now: datetime) -> Money | None:
    """What the request costs in all at the price that it is judged at; `None` when that is unknown."""
    length = lease.request.length(max(now, lease.request.start or now))
    return lease.quote.total(length) if lease.quote else None


def refused_attempt(lease: Lease, by: str, verb: str, refusal: Refused, now: datetime) -> Change:
    """An act that was not allowed, put on record: the audit shows who tried what."""
    event = Event("refused", now, by, {"verb": verb, "code": refusal.code, "why": str(refusal)})
    return changed(lease, event, refusal=Refusal(by, verb, str(refusal), now))


def _refuse_if_decided(lease: Lease) -> None:
    if lease.decided_at and lease.state is not State.AWAITING_APPROVAL:
        raise Refused(
            "already-decided", f"already {_verdict(lease)} by {lease.decided_by} at {minute(lease.decided_at)}"
        )


def _verdict(lease: Lease) -> str:
    if State.WITHDRAWN in (lease.state, lease.outcome):
        return "cancelled" if lease.cancelled_by else "withdrawn"
    return "denied" if State.DENIED in (lease.state, lease.outcome) else "approved"


def _approved(lease: Lease, by: str, why: str, now: datetime) -> Change:
    approved = changed(
        lease,
        Event("approved", now, by, {"why": why}),
        state=State.APPROVED,
        decided_by=by,
        decided_at=now,
        decided_reason=why,
        approved_at=now,
        counter=None,
    )
    start = lease.request.start
    if start is None or start <= now:
        return approved
    return _then(approved, changed(approved.lease, Event("reserved", now, "lessor", {"start": start.isoformat()})))


def _denied(lease: Lease, by: str, reason: str, now: datetime) -> Change:
    decided = {"decided_by": by, "decided_at": now, "decided_reason": reason}
    return _over(lease, Event("denied", now, by, {"reason": reason}), State.DENIED, now, **decided)


def _over(lease: Lease, event: Event, outcome: State, now: datetime, **fields: object) -> Change:
    """Final at once, or after a clean look where something was tried before the request was changed."""
    if lease.untouched:
        return changed(lease, event, state=outcome, closed_at=now, **fields)
    return deleting(lease, event, now, outcome=outcome, **fields)


def _then(first: Change, second: Change) -> Change:
    return replace(second, events=(*first.events, *second.events))


def _wanted_end(request: Request) -> str:
    if request.until is not None:
        return request.until.isoformat()
    return f"{spell(request.duration or timedelta())} after it is ready"


def _rate(quote: Quote) -> str:
    return quote.offer.hourly.exact if quote.offer.hourly else "unknown"
