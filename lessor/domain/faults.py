"""What a lease has and that does not work: machines that fail their health check, namespaces with pods that do not run.

It is told once, and once more when it works again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from lessor.domain.lease import IN_USE, Change, Event, Lease, Unfit, changed
from lessor.domain.resource import Condition, Kind, Resource, Tagged
from lessor.domain.sweep import Away


def judged(lease: Lease, seen: Iterable[Resource], now: datetime) -> Change:
    """What a look shows of the machines of a lease in use. Nothing changes unless it is news.

    A machine that was not seen now, or not checked, is as it was said to be.
    """
    if lease.state not in IN_USE:
        return Change(lease, ())
    found = {one.ref: one for one in seen if not one.unchecked}
    before = _told(lease)
    ill = {ref: found[ref].fault for ref in _own(lease) if ref in found and found[ref].fault}
    after = tuple(sorted(ill.keys() | {ref for ref in before if ref not in found}))
    if set(after) == before:
        return Change(lease, ())
    if not after:
        event = Event("machine-fit", now, "lessor", {"resources": ", ".join(sorted(before))})
        return changed(lease, event, unfit=Unfit((), "", lease.unfit.at if lease.unfit else now))
    words = "; ".join(f"{_name(ref)}: {ill[ref]}" for ref in after if ref in ill)
    event = Event("machine-unfit", now, "lessor", {"resources": ", ".join(after), "problem": words})
    return changed(lease, event, unfit=Unfit(after, words, now))


def untold(leases: Iterable[Lease], found: Iterable[Tagged], at: datetime) -> tuple[Away, ...]:
    """Leases in use whose machines are seen otherwise than people were told: they look for themselves (law 2)."""
    shown: dict[str, dict[str, Tagged]] = {}
    for one in found:
        shown.setdefault(one.lease, {})[one.ref] = one
    news = (_news(lease, shown.get(lease.id, {}), at) for lease in leases if lease.state in IN_USE)
    return tuple(one for one in news if one)


def reported(found: Iterable[Tagged]) -> tuple[tuple[str, str], ...]:
    """Each machine that something is wrong with, once, with what it is, for administrators.

    What people's own pods wait for is for those people alone.
    """
    wrong: dict[str, str] = {}
    for one in found:
        if one.fault and one.kind is not Kind.NAMESPACE:
            wrong.setdefault(one.id, one.fault)
    return tuple(sorted(wrong.items()))


def _news(lease: Lease, shown: Mapping[str, Tagged], at: datetime) -> Away | None:
    told = _told(lease)
    seen = [shown[ref] for ref in _own(lease) if ref in shown and shown[ref].condition is not Condition.GONE]
    for one in seen:
        if not one.unchecked and bool(one.fault) != (one.ref in told):
            return Away(lease.id, one.id, one.condition, one.fault or "it is well again", at)
    return None


def _told(lease: Lease) -> set[str]:
    return set(lease.unfit.machines) if lease.unfit else set()


def _own(lease: Lease) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.ref for one in lease.resources))


def _name(ref: str) -> str:
    """What people know it by: without the kind, and without the cluster's own number."""
    return ref.partition(":")[2].partition("@")[0]
