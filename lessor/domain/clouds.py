"""What a cloud shows of the machines that carry a lease, in the form in which other places count themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from lessor.domain.lease import Lease
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import Place
from lessor.domain.resource import LEASED, Condition, Tagged

HOLDING = frozenset({Condition.PENDING, Condition.RUNNING, Condition.STOPPING})
"""Conditions in which a machine of a cloud keeps its GPUs from others."""

Gpus = Callable[[str], tuple[str, int] | None]
"""Model and number of GPUs of an instance type; `None` where nobody knows."""


def cloud_census(
    place: Place, found: Iterable[Tagged], leases: Mapping[str, Lease], gpus: Gpus, at: datetime
) -> Census:
    """What a cloud shows of the machines that carry a lease, as a reading; how many it has besides is nobody's number.

    What a lease has counts as what it was approved for. Another machine of a type that the catalogue does not have is
    told in the notes, and makes the number of its model unknown.
    """
    holders: dict[str, Holder] = {}
    notes, strange = [], {}
    for one in found:
        if one.kind not in LEASED or one.condition not in HOLDING:
            continue
        lease = leases.get(one.lease)
        known = (lease.model, lease.gpus) if lease else gpus(one.type)
        if known is None:
            notes.append(f"{one.id} runs without a lease; how many GPUs a {one.type or 'machine'} has is not known")
            strange[one.type] = Pool(place, one.type)
        else:
            key = lease.id if lease else one.ref
            holders.setdefault(key, Holder(place, one.ref, *known, lease=one.lease, since=one.created_at))
    return Census(place, at, tuple(strange.values()), tuple(holders.values()), notes=tuple(notes))
