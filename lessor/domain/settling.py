"""Keeps what was counted for closed months and former owners as it was, whatever becomes known later.

A lease's true use may turn out different for a month that is over: a stop that was seen late, a price that came late.
The difference is counted in the month that is open, so that all months together stay true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lessor.domain.budget import Commitment, Entry, Metering


def settle(lease_id: str, stored: Iterable[Entry], fresh: Metering) -> tuple[Entry, ...]:
    """All entries of a lease from now on, given those that are stored and its use and plan as they are now.

    With another account than before, what was used stays with the former one, and what is planned goes to the new.
    """
    before = sorted(stored, key=lambda e: (e.part, e.commitment.month))
    if not before:
        return tuple(_entry(lease_id, fresh, one, 0) for one in fresh.commitments)
    last = before[-1]
    kept = [e for e in before if e.part < last.part or e.commitment.month < fresh.current]
    wanted = {c.month: c for c in fresh.commitments if c.month >= fresh.current}
    wanted |= _corrected(wanted, kept, fresh)
    rest = [_without(one, [e for e in kept if e.commitment.month == month]) for month, one in sorted(wanted.items())]
    if last.account == fresh.account:
        return (*kept, *(_entry(lease_id, fresh, one, last.part) for one in rest if _counts(one)))
    used = [_used(one) for one in rest]
    former = [replace(last, commitment=one) for one in used if _counts(one)]
    planned = [_ahead(one) for one in rest]
    return (*kept, *former, *(_entry(lease_id, fresh, one, last.part + 1) for one in planned if _counts(one)))


def _entry(lease_id: str, fresh: Metering, one: Commitment, part: int) -> Entry:
    return Entry(lease_id, fresh.account, fresh.model, fresh.currency, one, part)


def _corrected(wanted: dict[str, Commitment], kept: list[Entry], fresh: Metering) -> dict[str, Commitment]:
    """The current month with what closed months should have been more or less; empty when they are right."""
    months = {c.month: c for c in fresh.commitments if c.month < fresh.current}
    counted: dict[str, list[Commitment]] = {}
    for entry in kept:
        if entry.commitment.month < fresh.current:
            counted.setdefault(entry.commitment.month, []).append(entry.commitment)
    time, money = 0, _Known(0)
    for month in {*months, *counted}:
        true = months.get(month, Commitment(month, 0, 0))
        then = [_as_closed(one) for one in counted.get(month, [])]
        time += true.time - sum(one.time for one in then)
        money += _difference(true.money, [one.money for one in then])
    if not time and money.value == 0:
        return {}
    now = wanted.get(fresh.current, Commitment(fresh.current, 0, 0))
    total = _Known(now.money) + money
    return {fresh.current: replace(now, time=now.time + time, money=total.value)}


def _as_closed(one: Commitment) -> Commitment:
    """What a month that is over counts: what was planned of a lease that did not run is void."""
    return one if one.running else _used(one)


def _difference(true: int | None, then: list[int | None]) -> _Known:
    if true is None and None in then:
        return _Known(0)
    return _Known(true) - sum((_Known(one) for one in then), _Known(0))


def _without(one: Commitment, others: list[Entry]) -> Commitment:
    """What is left of a month for the present account, once former ones keep theirs."""
    taken = sum((_Known(e.commitment.money) for e in others), _Known(0))
    time = one.time - sum(e.commitment.time for e in others)
    return replace(one, time=time, money=(_Known(one.money) - taken).value)


def _used(one: Commitment) -> Commitment:
    spent = (_Known(one.money) - _Known(one.ahead_money)).value
    return Commitment(one.month, one.time - one.ahead_time, spent, running=one.running)


def _ahead(one: Commitment) -> Commitment:
    return replace(one, time=one.ahead_time, money=one.ahead_money)


def _counts(one: Commitment) -> bool:
    return bool(one.time) or one.money != 0


class _Known:
    """A sum that is unknown as soon as one part of it is."""

    def __init__(self, value: int | None) -> None:
        self.value = value

    def __add__(self, other: _Known) -> _Known:
        return _Known(None if self.value is None or other.value is None else self.value + other.value)

    def __sub__(self, other: _Known) -> _Known:
        return _Known(None if self.value is None or other.value is None else self.value - other.value)
