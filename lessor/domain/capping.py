"""A lease that may cost so much and no more: when its people hear of it, and when it is stopped or ended for it.

When a share of the cap is reached is computed from what is on the bill and what goes on costing; nothing is polled. A
part whose price is unknown counts nothing, so that the cap is reached at the latest when what is known has reached it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil

from lessor.domain import storage
from lessor.domain.budget import HOUR, micros
from lessor.domain.errors import FieldError, Refused
from lessor.domain.ladder import Why
from lessor.domain.lease import IN_USE, Change, Event, Lease, changed, minute, require_state
from lessor.domain.money import Money
from lessor.domain.pausing import pause
from lessor.domain.quote import Quote
from lessor.domain.request import spell
from lessor.domain.terms import AtCap

LESSOR = "lessor"
FIRST = (50, 80, 100)
"""Percentages of the cap at which people are told; beyond it they are told again ever more seldom."""
MONEY_GONE = timedelta(hours=2)
"""What is left to a lease whose money is used up: time to save what is on it, and for all its warnings."""
AHEAD = timedelta(days=366)
"""How far ahead a lease without an end is looked at."""


@dataclass(frozen=True)
class Step:
    """What comes next: people are told of `percent`, or, where they were and `stops`, the lease is stopped."""

    percent: int
    at: datetime
    stops: bool = False


@dataclass(frozen=True)
class Spending:
    """How far a cap is used. `spent` is at least that much where it is not `known`; `percent` is the step to speak of.

    `reached_at` is when the cap is reached if all goes on as it does, `None` if it is not. `stops_at` is the earliest
    stop, once it is sure. `then` is what follows, and `why_not` why that is less than the terms say.
    """

    cap: Money
    spent: Money
    known: bool
    percent: int
    reached_at: datetime | None
    then: AtCap
    stops_at: datetime | None = None
    why_not: str = ""


def unfit(cap: Money | None, quote: Quote, length: timedelta) -> FieldError | None:
    """Why nothing that costs this can have the cap: nobody could tell when it is reached, or it would be at once."""
    if cap is None:
        return None
    hourly, total = quote.offer.hourly, quote.total(length)
    if hourly is None or total is None:
        return FieldError(
            "cap", "nobody knows what this costs, so nobody could tell when it is reached; leave it out, or choose else"
        )
    if hourly.currency != cap.currency:
        return FieldError("cap", f"the price is in {hourly.currency}; give the cap in {hourly.currency} as well")
    if cap >= total:
        return None
    return FieldError(
        "cap",
        f"{cap} is less than the {total} that {spell(length)} cost at {hourly.exact} an hour; give at least that, ask "
        "for less or for less time, or leave it out",
    )


def next_step(lease: Lease, now: datetime) -> Step | None:
    """What the cap calls for next; `None` without one, or while nothing brings it nearer."""
    if lease.request.cap is None or lease.state not in IN_USE:
        return None
    if lease.cap_stop_at is not None and follows(lease) is AtCap.STOP:
        percent = max(lease.cap_told, default=100)
        reached = reached_at(lease, percent, now)
        return Step(percent, max(reached, lease.cap_stop_at), stops=True) if reached else None
    step = _telling(lease, _to_tell(lease, now), now)
    return replace(step, at=max(step.at, lease.next_try)) if step and lease.next_try else step


def reached_at(lease: Lease, percent: int, now: datetime) -> datetime | None:
    """When this share of the cap is reached if all goes on as it does: `now` if it is, `None` if not before the end."""
    cap = lease.request.cap
    if cap is None:
        return None
    running = [s for s in lease.spans if s.end is None]
    kept = [s for s in lease.storage if s.end is None]
    since = max([now, *(s.start for s in running), *(s.start for s in kept)])
    left = Fraction(cap.amount) * percent / 100 - _spent(lease, since)
    if left <= 0:
        return now
    hourly = sum((_in(cap, s.hourly) for s in running), Fraction(0))
    monthly = sum((_in(cap, s.monthly) * Fraction(s.gib) for s in kept), Fraction(0))
    last = lease.runs_until or since + AHEAD
    while since < last and (hourly or monthly):
        until = min(storage.month_end(since), last)
        rate = hourly / HOUR + monthly / micros(storage.month_length(since))
        if left <= rate * micros(until - since):
            return since + timedelta(microseconds=ceil(left / rate))
        left, since = left - rate * micros(until - since), until
    return None


def follows(lease: Lease) -> AtCap:
    """What becomes of the lease at its cap; one that is stopped, or cannot be without harm, is only told of."""
    return AtCap.WARN if why_not(lease) else lease.terms.at_cap


def why_not(lease: Lease) -> str:
    """Why it is not stopped although its terms say so; empty when it is, or is not meant to be."""
    if lease.terms.at_cap is not AtCap.STOP:
        return ""
    if lease.pause is not None:
        return "it is stopped already, and only its disks cost"
    if not lease.stoppable:
        return f"{lease.request.market.value} machines cannot be stopped and started again"
    if lease.volatile and lease.consent is None:
        return "a stop would lose what is on its local disks, and nobody has agreed to that"
    return ""


def spending(lease: Lease, now: datetime) -> Spending | None:
    """How far the cap is used, for people; `None` without one."""
    cap = lease.request.cap
    if cap is None:
        return None
    known = lease.cost(now)
    known = known if known and known.currency == cap.currency else None
    spent = known or Money.of(_spent(lease, now), cap.currency)
    step = next_step(lease, now)
    told = max(lease.cap_told, default=0)
    percent = step.percent if step and not step.stops and step.at <= now else told
    stops_at = lease.cap_stop_at and step.at if step else None
    at = reached_at(lease, 100, now)
    return Spending(cap, spent, known is not None, percent, at, follows(lease), stops_at, why_not(lease))


def spelled(lease: Lease, now: datetime, when: Callable[[datetime], str] = minute) -> str:
    """The cap in one line, with what is used of it; empty without one. `when` writes an instant for its reader."""
    found = spending(lease, now)
    if found is None:
        return ""
    if not lease.spans:
        return str(found.cap)
    told = f"{found.cap}; used: {'' if found.known else 'at least '}{found.spent}"
    if lease.state not in IN_USE or found.reached_at is None:
        return told
    return f"{told}; at this rate it is reached {'by now' if found.reached_at <= now else when(found.reached_at)}"


def told(lease: Lease, percent: int, via: str, now: datetime) -> Change:
    """People were told that this share of the cap is used; only then anything may follow (law 4)."""
    require_state(lease, *IN_USE)
    cap = lease.request.cap
    if cap is None:
        raise Refused("no-cap", f"{lease.id} has no cap; nothing was changed")
    then = follows(lease) if percent >= 100 else AtCap.WARN
    passed = tuple(p for p in (*FIRST, percent) if p <= percent and p not in lease.cap_told)
    found = spending(lease, now)
    data = {"percent": str(percent), "cap": str(cap), "spent": str(found.spent) if found else "", "via": via}
    fields: dict[str, object] = {"cap_told": (*lease.cap_told, *dict.fromkeys(passed)), "next_try": None}
    if then is AtCap.STOP:
        fields["cap_stop_at"] = now + lease.terms.notice
        data["stops"] = (now + lease.terms.notice).isoformat()
    first = changed(lease, Event("cap-reached", now, LESSOR, data), **fields)
    if then is not AtCap.END:
        return first
    ends_at = max(now + MONEY_GONE, reached_at(lease, 100, now) or now)
    ended = _earlier(first.lease, ends_at, f"its cap of {cap} is used up", now)
    return replace(ended, events=(*first.events, *ended.events))


def stop(lease: Lease, now: datetime) -> Change:
    """The cap is reached and people were told in time: stopped, with its disks. Raises `Refused` ("not-due")."""
    step, found = next_step(lease, now), spending(lease, now)
    if step is None or found is None or not step.stops or step.at > now:
        when = f"not before {minute(step.at)}" if step and step.stops else "nobody has been told yet"
        raise Refused("not-due", f"{lease.id} is not stopped for its cap now: {when}")
    words = f"its cap of {found.cap} is used up ({found.spent} so far)"
    return pause(replace(lease, cap_stop_at=None), Why.BUDGET, LESSOR, words, now, {"cap": str(found.cap)})


def untold(lease: Lease) -> Lease:
    """The lease for somebody who has not heard that it is to be stopped for its cap: it is told anew (law 4)."""
    return replace(lease, cap_told=lease.cap_told[:-1], cap_stop_at=None) if lease.cap_stop_at else lease


def _earlier(lease: Lease, ends_at: datetime, reason: str, now: datetime) -> Change:
    """With an earlier end, and its warnings anew; as it was where it ends before that anyway."""
    if lease.ends_at is None or lease.ends_at <= ends_at:
        return Change(lease, ())
    data = {"from": lease.ends_at.isoformat(), "to": ends_at.isoformat(), "reason": reason}
    anew = {"end_set_at": now, "warned": (), "next_try": None, "wish": None, "hold_over": False}
    return changed(lease, Event("shortened", now, LESSOR, data), ends_at=ends_at, **anew)


def _telling(lease: Lease, percent: int, now: datetime) -> Step | None:
    """When people are told of a share: once it is reached; of the whole cap early enough for what follows."""
    at = reached_at(lease, percent, now)
    if at is None:
        return None
    then = follows(lease) if percent >= 100 else AtCap.WARN
    early = {AtCap.STOP: lease.terms.notice, AtCap.END: MONEY_GONE}.get(then, timedelta())
    return Step(percent, at - early)


def _to_tell(lease: Lease, now: datetime) -> int:
    """The share that people are told of next: of several that are due only the largest."""
    percent = _after(max(lease.cap_told, default=0))
    while (later := _telling(lease, _after(percent), now)) and later.at <= now:
        percent = later.percent
    return percent


def _after(told: int) -> int:
    """The share after that: 50, 80 and 100, then 150, 200, 300, 400, 600 and so on."""
    whole = FIRST[-1]
    while whole * 3 // 2 <= told:
        whole *= 2
    return next(one for one in (*FIRST, whole, whole * 3 // 2) if one > told)


def _spent(lease: Lease, at: datetime) -> Fraction:
    """What the lease has cost by then, as far as prices are known in the currency of its cap."""
    cap = lease.request.cap
    if cap is None:
        return Fraction(0)
    compute = sum((_in(cap, s.hourly) * Fraction(micros(s.elapsed(at)), HOUR) for s in lease.spans), Fraction(0))
    kept = (one for one in lease.storage if one.monthly and one.monthly.currency == cap.currency)
    return compute + sum((amount or Fraction(0) for amount in storage.amounts(kept, at)), Fraction(0))


def _in(cap: Money, price: Money | None) -> Fraction:
    """A price as far as it is known in the currency of the cap."""
    return Fraction(price.amount) if price and price.currency == cap.currency else Fraction(0)
