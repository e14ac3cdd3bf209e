"""Moving the end of a lease in use: later at once, later after people decided, or sooner.

While people decide the lease goes on, but only so long beyond its end as its terms allow (`Lease.runs_until`), and
never beyond the longest total. Every end that moves brings its warnings anew.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import approval, asking
from lessor.domain.approval import Step
from lessor.domain.asking import Told
from lessor.domain.authority import asked_for_longer, covers, require_allowed, why_asked
from lessor.domain.capping import MONEY_GONE
from lessor.domain.deadlines import wish_lapses
from lessor.domain.errors import Refused, instant
from lessor.domain.lease import IN_USE, Change, Event, Lease, changed, minute, require_state
from lessor.domain.money import Money
from lessor.domain.pending import Wish
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Reason, StepSpec
from lessor.domain.request import spell
from lessor.domain.stepup import require_typed


def extend(lease: Lease, until: datetime, by: str, reason: str, now: datetime) -> Change:
    """Move the end to a later instant, within the longest total that the terms allow.

    Raises `Refused`: wrong-state, end-too-early, end-not-later, beyond-maximum.
    """
    until = _later_end(lease, until, now)
    event = Event("extended", now, by, {"from": _iso(lease.ends_at), "to": until.isoformat(), "reason": reason})
    return changed(lease, event, extensions=lease.extensions + 1, **_moved(until, now))


def missing(lease: Lease, decision: Decision, person: Person) -> tuple[StepSpec, ...]:
    """Who has to be asked for a longer lease of which the policy says `decision`; nobody when it is covered.

    Those who approved the lease need not be asked again for one of its free extensions, and whoever may decide on it
    may also extend it.
    """
    free = lease.extensions < lease.terms.auto_extensions
    asked = asked_for_longer(lease, decision)
    return tuple(step for step in asked if not covers(step, lease, person, earlier=free))


def decide(
    lease: Lease,
    until: datetime,
    person: Person,
    reason: str,
    decision: Decision,
    steps: tuple[Step, ...],
    now: datetime,
) -> Change:
    """Extend at once, or ask people: `decision` is what the policy says of the longer lease, `steps` who is `missing`.

    Raises `Refused`: policy (it may not run so long), and as `extend` and `ask`.
    """
    require_allowed(lease, decision)
    if not steps:
        return extend(lease, until, person.id, reason, now)
    return ask(lease, until, person, reason, steps, why_asked(lease, decision), now)


def ask(
    lease: Lease,
    until: datetime,
    person: Person,
    reason: str,
    steps: tuple[Step, ...],
    reasons: tuple[Reason, ...],
    now: datetime,
) -> Change:
    """Ask those of `steps` for a later end; a wish that still waits gives way to this one.

    Raises `Refused` as `extend`, and already-asked (the same end is being decided), end-passed (nothing may wait then).
    """
    until = _later_end(lease, until, now)
    if lease.wish and lease.wish.until == until:
        raise Refused(
            "already-asked", f"{lease.wish.by} asked for this end at {minute(lease.wish.at)}; it waits for a decision"
        )
    if lease.ends_at is None or now >= lease.ends_at:
        raise Refused("end-passed", "its end has come, so nobody can be asked any more; ask for a new lease")
    steps = asking.asked(steps, lease.terms, now)
    wish = Wish(until, person.id, now, reason, tuple(sorted(person.all_ids)), steps, reasons)
    why = "; ".join(f"{one.rule}: {one.text}" for one in reasons)
    data = {"from": _iso(lease.ends_at), "to": until.isoformat(), "reason": reason, "why": why}
    data |= {"steps": ", ".join(f"{step.name} ({', '.join(step.approvers)})" for step in steps)}
    put_off = {} if lease.hold_over else _warned_anew(now)
    return changed(lease, Event("extension-asked", now, person.id, data), wish=wish, **put_off)


def grant(lease: Lease, person: Person, now: datetime, note: str = "", typed: str = "") -> Change:
    """One approval of the wish; the end moves when the last step has its quorum.

    Raises `Refused` as `approval.check` and `extend`, and no-wish, needs-confirmation.
    """
    wish, ids = _wish(lease), not_deciding(lease)
    step = approval.check(wish.steps, person, ids)
    _later_end(lease, wish.until, now)
    require_typed(lease, wish_cost(lease, wish), typed)
    steps = approval.vote(wish.steps, step, person, now, note, ids)
    open_ones = ", ".join(one.name for one in steps if not one.done)
    given = Event("extension-granted", now, person.id, {"step": step.name, "note": note, "open": open_ones})
    first = changed(lease, given, wish=replace(wish, steps=steps))
    if open_ones:
        return first
    then = extend(first.lease, wish.until, wish.by, wish.reason, now)
    return replace(then, events=(*first.events, *then.events))


def staffed(lease: Lease, found: tuple[Step, ...], now: datetime) -> Change:
    """Those who are asked were looked up anew: the next stage is asked, reminded, or opened to the next level."""
    wish = _wish(lease)
    steps = asking.staffed(wish.steps, found, lease.terms, now)
    events = tuple(_told(one, now) for one in asking.told(wish.steps, steps))
    revision = lease.revision + len(events)
    return Change(replace(lease, wish=replace(wish, steps=steps), revision=revision), events)


def reject(lease: Lease, person: Person, reason: str, now: datetime) -> Change:
    """The end stays as it was; asking again does not put it off any more. A reason is needed.

    Raises `Refused` as `approval.may_decide`, and no-wish, no-reason.
    """
    wish = _wish(lease)
    approval.may_decide(wish.steps, person, not_deciding(lease))
    if not reason.strip():
        raise Refused("no-reason", "say why: the requester reads the reason")
    data = {"to": wish.until.isoformat(), "reason": reason.strip()}
    event = Event("extension-rejected", now, person.id, data)
    return changed(lease, event, wish=None, hold_over=True, **_back(lease, now))


def lapse(lease: Lease, now: datetime) -> Change:
    """Nobody decided in time: nothing is extended by silence. Raises `Refused` ("no-wish", "not-due")."""
    wish, lapses_at = _wish(lease), wish_lapses(lease)
    if lapses_at is None or now < lapses_at:
        raise Refused("not-due", f"the extension of {lease.id} can still be decided")
    event = Event("extension-lapsed", now, "lessor", {"to": wish.until.isoformat()})
    return changed(lease, event, wish=None, **_back(lease, now))


def take_back(lease: Lease, person: Person, now: datetime) -> Change:
    """Whoever wished for a later end, or whose lease it is, does without it. Raises `Refused` (no-wish, not-owner)."""
    wish = _wish(lease)
    if not person.is_same(lease.holder_ids | {wish.by, *wish.ids}):
        raise Refused("not-owner", f"only {wish.by}, and whose lease it is, can take the wish for a later end back")
    event = Event("extension-taken-back", now, person.id, {"to": wish.until.isoformat()})
    return changed(lease, event, wish=None, **_back(lease, now))


def undecidable(lease: Lease, problem: str, now: datetime) -> Change:
    """Nobody is left who could decide: the end stays as it was."""
    wish = _wish(lease)
    event = Event("extension-lapsed", now, "lessor", {"to": wish.until.isoformat(), "why": problem})
    return changed(lease, event, wish=None, **_back(lease, now))


def shorten(lease: Lease, until: datetime, by: str, reason: str, now: datetime) -> Change:
    """Move the end to an earlier instant; a wish for a later one is dropped with it.

    Raises `Refused`: wrong-state, end-too-early, end-not-earlier.
    """
    require_state(lease, *IN_USE)
    until = instant("until", until)
    require_time_left(lease, until, now)
    if lease.ends_at is None or until >= lease.ends_at:
        ends = minute(lease.ends_at) if lease.ends_at else "unknown"
        raise Refused(
            "end-not-earlier", f"the lease ends at {ends} already; give an earlier end, or extend it to end it later"
        )
    event = Event("shortened", now, by, {"from": _iso(lease.ends_at), "to": until.isoformat(), "reason": reason})
    return changed(lease, event, **_moved(until, now))


def cut_short(lease: Lease, scope: str, words: str, now: datetime) -> Change:
    """The money of `scope` is used up: it ends soon, with its warnings. Nothing changes for one that ends by then."""
    until = now + MONEY_GONE
    if lease.state not in IN_USE or lease.runs_until is None or lease.runs_until <= until:
        return Change(lease, ())
    data = {"scope": scope, "why": words, "from": _iso(lease.ends_at), "to": until.isoformat()}
    return changed(lease, Event("over-budget", now, "lessor", data), **_moved(until, now))


def not_deciding(lease: Lease) -> frozenset[str]:
    """Those who cannot decide on the wish: the requester's ids and those of whoever wished (law 6)."""
    wish = lease.wish
    return lease.requester_ids | frozenset(i for i in (wish.by, *wish.ids) if i) if wish else lease.requester_ids


def _told(one: Told, now: datetime) -> Event:
    return Event(one.type, now, "lessor", {**one.data, "of": "extension"})


def wish_cost(lease: Lease, wish: Wish) -> Money | None:
    """What the later end costs besides; `None` when the price is unknown."""
    if lease.quote is None or lease.ends_at is None:
        return None
    return lease.quote.total(wish.until - lease.ends_at)


def _wish(lease: Lease) -> Wish:
    require_state(lease, *IN_USE)
    if lease.wish is None:
        raise Refused("no-wish", f"nothing is asked of {lease.id} now; its end is {_iso(lease.ends_at)}")
    return lease.wish


def _later_end(lease: Lease, until: datetime, now: datetime) -> datetime:
    require_state(lease, *IN_USE)
    until = instant("until", until)
    last = lease.last_end
    if lease.ends_at is None or last is None:
        raise Refused("wrong-state", f"{lease.id} has no end yet")
    require_time_left(lease, until, now)
    if until <= lease.ends_at:
        raise Refused(
            "end-not-later",
            f"the lease already runs until {minute(lease.ends_at)}; give a later end, or release it to end it sooner",
        )
    if until > last:
        raise Refused(
            "beyond-maximum",
            f"at most {spell(lease.terms.max_total)} in total are allowed, {spell(lease.allowance)} of it left "
            f"(until {minute(last)}); the lease still ends at {minute(lease.ends_at)}",
        )
    return until


def require_time_left(lease: Lease, until: datetime, now: datetime) -> None:
    """Raise `Refused` ("end-too-early") for an end that is closer than the terms allow."""
    if until < now + lease.terms.min_duration:
        raise Refused("end-too-early", f"the new end must be at least {spell(lease.terms.min_duration)} from now")


def _moved(until: datetime, now: datetime) -> dict[str, object]:
    return {"ends_at": until, "wish": None, "hold_over": False, **_warned_anew(now)}


def _back(lease: Lease, now: datetime) -> dict[str, object]:
    """The end that was put off comes back; what was announced for the very end that has come is not announced again."""
    over = lease.runs_until is not None and now >= lease.runs_until
    return {} if over else _warned_anew(now)


def _warned_anew(now: datetime) -> dict[str, object]:
    return {"end_set_at": now, "warned": (), "next_try": None}


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""
