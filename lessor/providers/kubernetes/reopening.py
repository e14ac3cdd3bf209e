"""A stopped lease takes its room again, though others start and are launched at the same time.

What it had is free for others meanwhile. So it is looked, the quota is opened, which promises the GPUs to the lease,
and it is looked once more: whoever looks last sees all others that are on their way. A lease that starts gives way to
those that are launched, and of several that start the last by name does; the others wait until it has.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from lessor.domain.provisioning import Candidate
from lessor.domain.request import LeaseKind, Market
from lessor.ports import Heartbeat, NoCapacityError
from lessor.providers.kubernetes import capacity, gate, gpus, owners, promises, queueing
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

LOOKS = 30
POLL = timedelta(seconds=1)


def reopen(site: Site, there: Tenancy, heartbeat: Heartbeat) -> None:
    """Open the quota if there is room. Raises `NoCapacityError` where there is not; then it is closed as it was.

    A queue decides by itself. Where an earlier attempt opened it and something runs, that one had its room.
    """
    if queueing.queued(site):
        gate.unlock(site, there.obj, heartbeat)
        return
    if gate.closed(site, there.obj):
        _require_room(site, there)
        gate.unlock(site, there.obj, heartbeat)
    elif any(owners.running(top) for top in owners.read(site, there.lease_id).tops):
        return
    try:
        patiently(site, lambda: _require_room(site, there), there.lease_id, heartbeat)
    except NoCapacityError:
        gate.freeze(site, there.obj, heartbeat)
        raise


def patiently(site: Site, look: Callable[[], None], after: str, heartbeat: Heartbeat) -> None:
    """Look for room, again while leases that start, with names `after` this one, may give it back.

    Raises what `look` raises when they do not within half a minute.
    """
    for _ in range(LOOKS):
        try:
            look()
        except NoCapacityError:
            later = [one.lease for one in promises.read(site) if one.starting and one.lease > after]
            if not later:
                raise
            heartbeat(f"waiting until {', '.join(later)} has given way, or has what it needs")
            site.sleep(POLL.total_seconds())
        else:
            return
    look()


def _require_room(site: Site, there: Tenancy) -> None:
    shape = gpus.shape(site, there.resource, there.model)
    wanted = Candidate(there.resource, site.config.name, Market.ON_DEMAND, "", None, stoppable=True)
    whole = there.kind is LeaseKind.WORKSPACE
    try:
        capacity.require_room(site, shape, there.gpus, wanted, there.lease_id, one_node=whole, newer=True)
    except NoCapacityError as error:
        raise NoCapacityError(f"{error}. {there.lease_id} stays stopped", error.tried, error.code) from error
