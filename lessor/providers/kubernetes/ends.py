"""What the guard reads of a cluster: the ends on leases' namespaces, and pods that hold GPUs outside of any.

Nothing but the cluster has to work for it (law 10).
"""

from __future__ import annotations

from lessor.domain.guarding import Dated, Roll, Stray, Strays
from lessor.domain.money import Money
from lessor.domain.pools import Census, Holder
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Tagged
from lessor.ports import ProviderError
from lessor.providers.instants import latest_end
from lessor.providers.kubernetes import inventory
from lessor.providers.kubernetes.api import Obj
from lessor.providers.kubernetes.capacity import census
from lessor.providers.kubernetes.ours import note
from lessor.providers.kubernetes.site import Site


def dated(site: Site) -> Roll:
    """Every namespace that is a lease's. One whose pods may not be read is unknown, and the others are told."""
    try:
        found = inventory.spaces(site)
    except ProviderError as error:
        return Roll(problems=(str(error),))
    problems = tuple(seen.reason for _, seen in found if seen.condition is Condition.UNKNOWN)
    return Roll(tuple(_dated(site.place, space, seen) for space, seen in found), tuple(dict.fromkeys(problems)))


def unleased(site: Site) -> Strays:
    """Whatever holds GPUs outside of leases, by a census of the cluster."""
    seen = census(site)
    found = tuple(_stray(seen, one) for one in seen.holders if not one.lease)
    return Strays(found, (seen.problem,) if seen.problem else ())


def _dated(place: Place, space: Obj, seen: Tagged) -> Dated:
    name, ends = space["metadata"]["name"], note(space, "ends")
    gpus = " x ".join(part for part in (note(space, "gpus"), note(space, "model") or note(space, "resource")) if part)
    return Dated(
        place=place,
        lease=name,
        refs=(seen.id,),
        what=f"namespace {name}, {gpus}" if gpus else f"namespace {name}",
        condition=seen.condition,
        ends=latest_end([ends]),
        written=ends,
        owner=note(space, "owner"),
        team=note(space, "team"),
        since=seen.changed_at,
    )


def _stray(seen: Census, holder: Holder) -> Stray:
    units = "" if holder.share == 1 else " slices"
    what = f"{holder.units} x {holder.model}{units}"
    return Stray(
        place=seen.place,
        ref=holder.ref,
        what=f"{what}, {holder.flag}" if holder.flag else what,
        since=holder.since,
        who=holder.who,
        hourly=_hourly(seen, holder),
    )


def _hourly(seen: Census, holder: Holder) -> Money | None:
    """What an hour of it costs at the place's rate; `None` where that is not known."""
    rate = next((pool.hourly for pool in seen.pools if pool.model == holder.model), None)
    return rate * holder.units if rate is not None else None
