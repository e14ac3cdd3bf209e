"""When people are told that a ceiling comes near: at set shares of it, once each in a calendar month."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from lessor.domain.budget import BudgetRoom, used
from lessor.domain.quota import Headroom, Kind, spell_scope


@dataclass(frozen=True)
class Threshold:
    """A share of a ceiling that was reached in a month; `percent` is of what may be held or used at most."""

    scope: str
    kind: Kind
    model: str
    hard: bool
    month: str
    percent: int


@dataclass(frozen=True)
class Reach:
    """How far a ceiling is used, with the words for it."""

    scope: str
    kind: Kind
    model: str
    hard: bool
    month: str
    share: Decimal
    words: str

    def thresholds(self, percents: Iterable[int]) -> tuple[Threshold, ...]:
        """Those that are reached, lowest first."""
        passed = sorted(p for p in percents if self.share * 100 >= p)
        return tuple(Threshold(self.scope, self.kind, self.model, self.hard, self.month, p) for p in passed)


def reaches(rooms: Iterable[Headroom], budgets: Iterable[BudgetRoom], month: str) -> tuple[Reach, ...]:
    """How far each ceiling is used in `month` or in the month that it is for. What is unknown is left out, as is what a
    cohort has together: its teams are told of their own."""
    held = [_held(room, month) for room in rooms if room.quota.gpus and not room.quota.teams]
    spent = [(room, used(room)) for room in budgets if room.ceiling]
    return (*held, *(_spent(room, share) for room, share in spent if share is not None))


def _held(room: Headroom, month: str) -> Reach:
    one = room.quota
    what = f"{one.model} GPUs" if one.model else "GPUs"
    words = f"{spell_scope(one.scope)} holds {room.used} of {one.gpus} {what}"
    return Reach(one.scope, one.kind, one.model, one.hard, month, Decimal(room.used) / one.gpus, words)


def _spent(room: BudgetRoom, share: Decimal) -> Reach:
    unit = "GPU-hours" if room.kind is Kind.GPU_HOURS else room.currency
    of = f" of {room.model}" if room.model else ""
    figures = (_figure(share * room.ceiling), _figure(room.ceiling), _figure(room.spent), _figure(room.committed))
    words = "{} has taken {} of {} {}{} for {}: {} are used, {} are planned until its leases end".format(
        spell_scope(room.scope), *figures[:2], unit, of, room.month, *figures[2:]
    )
    return Reach(room.scope, room.kind, room.model, room.hard, room.month, share, words)


def _figure(amount: Decimal | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f}".removesuffix(".00")
