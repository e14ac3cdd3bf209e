"""What is left of each month's budget, beside what leases have used of it and are planned to use.

Figures are whole: GPU time in microseconds of one GPU, money in millionths of the currency's unit. `None` is unknown
and makes every sum that it is part of unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from lessor.domain.errors import Refused
from lessor.domain.quota import Account, Ceiling, Kind, Then, spell_scope

MILLIONTHS = 1_000_000
HOUR = 3_600_000_000
"""An hour in microseconds."""


@dataclass(frozen=True)
class Commitment:
    """What a lease takes of one month: `time` and `money` in all, of which `ahead_*` is only planned.

    What is planned lies between `ahead_from` and `ahead_to`. It becomes use by the clock alone while the lease is
    `running`; otherwise it counts until its month is over and is void then.
    """

    month: str
    time: int
    money: int | None
    ahead_time: int = 0
    ahead_money: int | None = 0
    ahead_from: datetime | None = None
    ahead_to: datetime | None = None
    running: bool = False


@dataclass(frozen=True)
class Metering:
    """What a lease takes of all its months as of `at`, which is in the month `current`; earlier months are closed."""

    account: Account
    model: str
    currency: str
    at: datetime
    current: str
    commitments: tuple[Commitment, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One commitment as the ledger has it, with whom it counts for. `part` counts the accounts that a lease has had."""

    lease_id: str
    account: Account
    model: str
    currency: str
    commitment: Commitment
    part: int = 0


@dataclass(frozen=True)
class BudgetRoom:
    """One monthly ceiling with what is used of it: money in `currency`, or GPU-hours, which have none.

    `spent` is used up, `committed` is what open leases take until they end, `asked` what a request would add; all three
    are apart. `None` is unknown. `then` is what follows when it is used up.
    """

    scope: str
    month: str
    kind: Kind
    ceiling: Decimal
    spent: Decimal | None
    committed: Decimal | None
    asked: Decimal | None = Decimal(0)
    model: str = ""
    hard: bool = True
    currency: str = ""
    then: Then = Then.ALERT

    @property
    def left(self) -> Decimal | None:
        """What is left after this request, below zero when it does not fit; `None` when any part is unknown."""
        if self.spent is None or self.committed is None or self.asked is None:
            return None
        return self.ceiling - self.spent - self.committed - self.asked


def budget_rooms(
    ceilings: Iterable[Ceiling], months: Iterable[str], entries: Iterable[Entry], asked: Metering
) -> tuple[BudgetRoom, ...]:
    """Every monthly ceiling in every month with what `entries`, those of all other leases, take of it.

    `asked` is what a request would add, as of when it is asked; without commitments it is only looked.
    """
    known = [_split(entry, asked.current, asked.at) for entry in entries]
    return tuple(
        _room(ceiling, month, known, asked) for month in months for ceiling in ceilings if ceiling.kind is not Kind.GPUS
    )


def check(rooms: Iterable[BudgetRoom]) -> None:
    """Raise `Refused` ("budget") with the numbers when a request does not fit into a hard ceiling, or may not fit.

    A month of which the request takes nothing is no obstacle, however full it is.
    """
    for room in rooms:
        if room.hard and room.asked != 0 and (room.left is None or room.left < 0):
            raise Refused("budget", _too_much(room))


def used(room: BudgetRoom) -> Decimal | None:
    """The share of the ceiling that is taken, with what was asked; `None` when unknown. Something of nothing is all."""
    if room.left is None:
        return None
    taken = room.ceiling - room.left
    return taken / room.ceiling if room.ceiling else Decimal(1 if taken > 0 else 0)


def frozen(room: BudgetRoom) -> bool:
    """Whether no new request is taken because the money of the month is used or planned; unknown is no reason."""
    if room.then is Then.ALERT or room.spent is None or room.committed is None:
        return False
    return room.spent + room.committed >= room.ceiling


def used_up(room: BudgetRoom) -> bool:
    """Whether leases are to end because the money of the month is spent; what is only planned is not, nor unknown."""
    return room.then is Then.END and room.spent is not None and room.spent >= room.ceiling


def frozen_words(room: BudgetRoom) -> str:
    """Why no new request is taken, and what to do."""
    of = f" of {room.model}" if room.model else ""
    limit = f"{spell_scope(room.scope)} has {_figure(room.ceiling)} {room.currency}{of} for {room.month}"
    figures = f"{_figure(room.spent or Decimal(0))} are used and {_figure(room.committed or Decimal(0))} planned"
    return (
        f"{limit}, of which {figures}; "
        "no new request is taken until leases end early, the month is over, or an administrator raises the limit in "
        "lessor.yaml or lets it only warn there (then: alert)"
    )


def used_up_words(room: BudgetRoom) -> str:
    """Why leases end, with the numbers."""
    of = f" of {room.model}" if room.model else ""
    spent = _figure(room.spent or Decimal(0))
    return (
        f"{spell_scope(room.scope)} has spent {spent} of the {_figure(room.ceiling)} {room.currency}{of} that it may "
        f"spend in {room.month}"
    )


def _room(ceiling: Ceiling, month: str, entries: list[Entry], asked: Metering) -> BudgetRoom:
    mine = [e for e in entries if e.commitment.month == month and ceiling.counts(e.account, e.model)]
    wanted = [c for c in asked.commitments if c.month == month and ceiling.counts(asked.account, asked.model)]
    split = [e.commitment for e in mine]
    if ceiling.kind is Kind.GPU_HOURS:
        spent, committed = _total((s.time for s in split), HOUR), _total((s.ahead_time for s in split), HOUR)
        more = _total((c.time for c in wanted), HOUR)
    elif any(e.currency != asked.currency for e in mine):
        spent, committed, more = None, None, _total((c.money for c in wanted), MILLIONTHS)
    else:
        spent = _total((s.money for s in split), MILLIONTHS)
        committed = _total((s.ahead_money for s in split), MILLIONTHS)
        more = _total((c.money for c in wanted), MILLIONTHS)
    figures = (ceiling.most, spent, committed, more)
    currency = asked.currency if ceiling.kind is Kind.MONEY else ""
    return BudgetRoom(ceiling.scope, month, ceiling.kind, *figures, ceiling.model, ceiling.hard, currency, ceiling.then)


def _split(entry: Entry, current: str, now: datetime) -> Entry:
    """The entry with what it has used by `now` as its `time` and `money`, apart from what is still ahead."""
    one = entry.commitment
    void = not one.running and one.month < current
    done = round(one.ahead_time * _passed(one, now))
    done_money = None if one.ahead_money is None else round(one.ahead_money * _passed(one, now))
    spent = _less(one.money, one.ahead_money)
    split = replace(
        one,
        time=one.time - one.ahead_time + done,
        money=None if spent is None or done_money is None else spent + done_money,
        ahead_time=0 if void else one.ahead_time - done,
        ahead_money=0 if void else _less(one.ahead_money, done_money),
    )
    return replace(entry, commitment=split)


def _passed(one: Commitment, now: datetime) -> Fraction:
    """The share of what is planned that has become use."""
    if not one.running or one.ahead_from is None or one.ahead_to is None or one.ahead_from >= one.ahead_to:
        return Fraction(0)
    share = Fraction(micros(now - one.ahead_from), micros(one.ahead_to - one.ahead_from))
    return min(max(share, Fraction(0)), Fraction(1))


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part


def _total(figures: Iterable[int | None], unit: int) -> Decimal | None:
    known = list(figures)
    return None if None in known else Decimal(sum(f for f in known if f is not None)) / unit


def _too_much(room: BudgetRoom) -> str:
    who = spell_scope(room.scope)
    unit = "GPU-hours" if room.kind is Kind.GPU_HOURS else room.currency
    of = f" of {room.model}" if room.model else ""
    limit = f"{who} may use {_figure(room.ceiling)} {unit}{of} in {room.month}"
    remedy = "Ask for less or for less time, end a lease early, or ask an administrator for a higher limit."
    if room.asked is None:
        return (
            f"{limit}, and nobody knows what this costs there, so that it may not fit. Choose something with a known "
            "price, or ask an administrator to enter its price or to make the limit a soft one."
        )
    if room.left is None:
        return (
            f"{limit}, and the price of a lease that counts there is unknown, so that nobody can say what is left. "
            "Ask an administrator to enter the missing price or to make the limit a soft one."
        )
    taken = room.ceiling - room.left - room.asked
    return f"{limit}: {_figure(taken)} are used or planned, and {_figure(room.asked)} more do not fit. {remedy}"


def _figure(amount: Decimal) -> str:
    return f"{amount:,.2f}".removesuffix(".00")


def micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)
