"""From made to usable: the quota is counted, the role is bound, and a workspace runs; or why it does not.

Being usable starts the clock of the lease. What it costs starts when it takes GPUs from others: a namespace when its
quota counts, a workspace when its pod gets a node (cases D05, D17).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.request import LeaseKind
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, PermanentError, RetryableError
from lessor.providers.instants import instant
from lessor.providers.kubernetes import (
    access,
    inventory,
    launching,
    manifests,
    naming,
    offers,
    tenancy,
    volumes,
    workspace,
)
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA, ROLE_BINDING
from lessor.providers.kubernetes.forbidden import Forbidden
from lessor.providers.kubernetes.ours import noted_at
from lessor.providers.kubernetes.progress import Progress, of_workspace
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

LONGEST = timedelta(minutes=30)
"""How long one attempt waits; the next one goes on with what is there."""
LOOK_EVERY = timedelta(seconds=5)
COUNTED_WITHIN = timedelta(minutes=2)
"""How long the server may take to count a quota until it is said that it does not (case D02)."""


def await_usable(site: Site, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
    """Complete what an attempt made and wait for it.

    Raises `NoCapacityError` with the scheduler's words when a pod finds no node in time, `PermanentError` when it does
    not run for another reason; all of the attempt is deleted then, but for what stands in a queue ("queued"), which
    keeps its turn. Raises `RetryableError` while it may still come.
    """
    there = tenancy.find(site, order.lease_id)
    if there is None:
        raise RetryableError(f"{site} shows no namespace {order.lease_id} yet; it is looked for again", "none-seen")
    launching.complete(site, order, there, heartbeat)
    begun = site.clock()
    while (progress := _progress(site, there, begun)).missing:
        heartbeat(f"waiting for {order.lease_id}: {progress.missing}")
        if progress.failed is not None:
            if not progress.queued:
                launching.undo(site, there, heartbeat)
            raise progress.failed
        if site.clock() - begun >= LONGEST:
            raise RetryableError(
                f"{order.lease_id} is not usable after {LONGEST}: {progress.missing}; it goes on being watched",
                "still-waiting",
            )
        site.sleep(LOOK_EVERY.total_seconds())
    return _provisioned(site, order, there, _launched_at(site, there, progress.since, heartbeat))


def _progress(site: Site, there: Tenancy, begun: datetime) -> Progress:
    found = site.api.get(RESOURCE_QUOTA, manifests.QUOTA, there.lease_id)
    if found is None or not manifests.enforced(found, there.resource):
        missing = f"the quota on {manifests.REQUESTS}{there.resource} is not enforced: its status shows nothing used"
        if site.clock() - begun >= COUNTED_WITHIN:
            raise RetryableError(
                f"{missing}, in {site}. Nobody would be held to {there}, so {there.lease_id} is not handed out; an "
                "administrator of the cluster has to look at its quota controller",
                "not-enforced",
            )
        return Progress(missing)
    if site.api.get(ROLE_BINDING, access.BINDING, there.lease_id) is None:
        return Progress("nobody has a role in it yet")
    return of_workspace(site, there, begun) if there.kind is LeaseKind.WORKSPACE else Progress()


def _launched_at(site: Site, there: Tenancy, since: datetime | None, heartbeat: Heartbeat) -> datetime:
    """Since when it costs: noted on the namespace once, so that a second run says the same."""
    noted = noted_at(there.obj, "launched-at")
    if noted is not None:
        return noted
    at = (since or site.clock()).astimezone(UTC).replace(microsecond=0)
    heartbeat(f"noting on {there.lease_id} since when it is usable")
    change = {"metadata": {"annotations": {naming.LAUNCHED_AT: instant(at)}}}
    if site.api.patch(NAMESPACE, there.lease_id, "", change, there.uid) is None:
        raise PermanentError(f"somebody has deleted the namespace {there.lease_id} in {site}", "none-seen")
    return at


def _provisioned(site: Site, order: Order, there: Tenancy, at: datetime) -> Provisioned:
    disk = order.request.disk_gib if there.kind is LeaseKind.WORKSPACE else 0
    # What was made is known to be there: a kind that may not be read besides keeps nobody out.
    found = inventory.read(site, there.lease_id, launching.made(site, there), Forbidden())
    return Provisioned(
        resources=found.resources(site, site.clock()),
        access=_access(site, there),
        launched_at=at,
        hourly=offers.rate(site, there.model, site.clock(), there.gpus),
        stoppable=True,
        disk_gib=disk,
        disk_monthly=volumes.gib_month(site, site.clock()) if disk else None,
    )


def _access(site: Site, there: Tenancy) -> str:
    """The commands that open it: the first writes an access that runs out, and is asked for again after that."""
    lease, file = there.lease_id, f"{there.lease_id}.kubeconfig"
    lines = [f"lessor access {lease} --kubeconfig {file}"]
    kubectl = f"kubectl --kubeconfig {file}"
    if there.kind is LeaseKind.WORKSPACE:
        lines += [f"{kubectl} port-forward statefulset/{workspace.NAME} {site.config.workspace.port}"]
        lines += [f"{kubectl} exec -it {workspace.POD} -- sh"]
    else:
        lines += [f"{kubectl} get pods"]
    return "\n".join(lines)
