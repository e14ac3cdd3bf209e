"""From what somebody needs to the machines that have it: cheapest first, unknown prices last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from lessor.catalog import Catalogue
from lessor.domain.machines import Machine
from lessor.domain.money import Money
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need
from lessor.ports import PermanentError
from lessor.providers.machines.pool import Pool

MOST_ALTERNATIVES = 7
NAMED = 5
"""Machines that a refusal names."""
FALLBACK_FACTOR = Decimal("1.5")
"""An alternative may be taken without asking again up to this multiple of the approved price."""


@dataclass(frozen=True)
class Group:
    """Machines that are the same to whoever asks: of one form, at one price, with so many GPUs of them for the need."""

    form: str
    hourly: Money | None
    count: int
    machines: tuple[Machine, ...]


class Offers:
    """Fills needs from the machines of a pool, whether or not they are free now."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def groups(self, pool: Pool, need: Need, market: Market, at: datetime) -> tuple[Group, ...]:
        """Every way to fill `need`, cheapest first, unknown prices last. Empty when nothing fits."""
        if market is not Market.ON_DEMAND:
            return ()
        found: dict[tuple[str, Money | None, int], list[Machine]] = {}
        for machine in pool.inventory():
            if not machine.withdrawn and machine.gpus >= need.count and self._means(machine, need):
                count = machine.gpus if machine.whole else need.count
                rate = machine.rate(at)
                key = (form_of(machine, need), rate * count if rate else None, count)
                found.setdefault(key, []).append(machine)
        groups = (Group(*key, tuple(sorted(found[key], key=lambda one: one.name))) for key in found)
        return tuple(sorted(groups, key=_cheapest_first))

    def offers(self, pool: Pool, need: Need, market: Market, at: datetime) -> tuple[Offer, ...]:
        return tuple(self._offer(group, need) for group in self.groups(pool, need, market, at))

    def quote(self, pool: Pool, need: Need, market: Market, now: datetime) -> Quote:
        """The first offer with the others. Raises `PermanentError` ("no-offer") with what there is."""
        found = self.offers(pool, need, market, now)
        if not found:
            raise PermanentError(self._refusal(pool, need, market), "no-offer")
        best, *others = found
        alternatives = tuple(_marked(one, best) for one in others[:MOST_ALTERNATIVES])
        return Quote(need, best, now, f"rates of {pool.name} {now:%Y-%m-%d}", alternatives, note=best.note)

    def covered(self, pool: Pool, quote: Quote, at: datetime) -> tuple[Group, ...]:
        """What an approved quote lets a launch try: what was approved first, then what costs little more at most."""
        found = self.groups(pool, quote.need, Market.ON_DEMAND, at)
        approved = quote.offer
        allowed = [one for one in found if _close(one.hourly, approved.hourly)]
        return tuple(
            sorted(allowed, key=lambda one: (one.form, one.hourly) != (approved.instance_type, approved.hourly))
        )

    def memory(self, machine: Machine) -> int:
        """The memory of one of its GPUs in GiB; 0 is unknown."""
        if machine.memory_gib:
            return machine.memory_gib
        model = self._catalogue.model(machine.model)
        return model.memory_gib if model else 0

    def _means(self, machine: Machine, need: Need) -> bool:
        """Whether it is what is asked for, however many GPUs of it."""
        if need.instance_type or _named(machine, need):
            wanted = need.instance_type.strip().casefold() or machine.name
            return wanted in (machine.name, form_of(machine, need).casefold())
        names = {model.name for model in self._catalogue.matching(need.model, need.memory_gib)}
        wanted = "".join(need.model.casefold().split())
        means = machine.model in names or not wanted or wanted == machine.model.casefold()
        return means and self.memory(machine) >= need.memory_gib

    def _refusal(self, pool: Pool, need: Need, market: Market) -> str:
        machines = [one for one in pool.inventory() if not one.withdrawn]
        what = f"nothing in {pool.name} fits {need} ({market.value}); nothing was requested"
        if market is not Market.ON_DEMAND:
            return f"{what}. Machines of the organisation's own are on-demand only."
        there = _listing(machines) or "no machine that may be leased now"
        alike = [one for one in machines if self._means(one, need)]
        return f"{what}.{_largest(alike, need)} There are: {there}."

    def _offer(self, group: Group, need: Need) -> Offer:
        machine = group.machines[0]
        spare = group.count > need.count
        return Offer(
            instance_type=group.form,
            gpu_model=machine.model,
            gpu_count=group.count,
            gpu_memory_gib=self.memory(machine),
            vcpus=0,
            market=Market.ON_DEMAND,
            hourly=group.hourly,
            on_demand_hourly=group.hourly,
            note=f"the whole machine with {group.count} GPUs, {need.count} were asked for" if spare else "",
        )


def form_of(machine: Machine, need: Need) -> str:
    """What a machine is called when it does not matter which one it is; its name where it was asked for by that."""
    if _named(machine, need):
        return machine.name
    return f"{machine.gpus}x{machine.model}" if machine.whole else f"gpu/{machine.model}"


def _named(machine: Machine, need: Need) -> bool:
    """Whether this very machine is wanted: by its name as the type, or as the model, as in `8 x dgx-1`."""
    return (need.instance_type or need.model).strip().casefold() == machine.name


def _close(price: Money | None, approved: Money | None) -> bool:
    if price is None or approved is None:
        return price is approved
    return price.currency == approved.currency and price.amount <= approved.amount * FALLBACK_FACTOR


def _marked(other: Offer, best: Offer) -> Offer:
    taken = "taken if the first is not free" if _close(other.hourly, best.hourly) else ""
    return replace(other, note="; ".join(note for note in (other.note, taken) if note))


def _cheapest_first(group: Group) -> tuple[bool, str, Decimal, int, str]:
    price = group.hourly or Money(Decimal())
    return group.hourly is None, price.currency, price.amount, group.count, group.form


def _largest(alike: Sequence[Machine], need: Need) -> str:
    """What to do where no one machine has as many GPUs as were asked for."""
    most = max((one.gpus for one in alike), default=0)
    if not most:
        return ""
    names = [one.name for one in alike if one.gpus == most]
    named = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    parts = -(-need.count // most)
    return (
        f" One lease is one machine, and the largest that would do has {most} GPU{'' if most == 1 else 's'}: {named}. "
        f"Ask for {most} at most, or send {parts} requests."
    )


def _listing(machines: Iterable[Machine]) -> str:
    counts: dict[str, set[int]] = {}
    for machine in machines:
        counts.setdefault(machine.model, set()).add(machine.gpus)
    return ", ".join(f"{model} x{'/'.join(map(str, sorted(counts[model])))}" for model in sorted(counts))


def suitable(groups: Sequence[Group]) -> tuple[tuple[Machine, int], ...]:
    """Machines with the number of GPUs that would be taken of each, in the order in which they are tried."""
    return tuple((machine, group.count) for group in groups for machine in group.machines)
