"""Taking a lease down: what keeps its pods alive, its claims, its namespace, and the volumes that were bound in it.

Only what is proven ours goes, each by its uid and with its normal grace. Nothing is forced: what is stuck is told with
what holds it. Claims that people made are kept for as long as the organisation says, and the namespace with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from lessor.contracts import NOT_STOPPABLE
from lessor.domain.resource import Kind, Resource
from lessor.ports import Heartbeat, PermanentError, ProviderError, RetryableError
from lessor.providers.instants import instant
from lessor.providers.kubernetes import gate, inventory, lifecycle, owners, stuck, volumes
from lessor.providers.kubernetes.api import CLAIM, NAMESPACE, POD, VOLUME, ApiKind, Obj
from lessor.providers.kubernetes.inventory import Inventory
from lessor.providers.kubernetes.ours import ending, identity, noted_at
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.volumes import STOPPED_AT

LONGEST = timedelta(seconds=90)
"""How long one attempt waits in all: what holds it up is told then, and the next one goes on from there (case D01)."""


def delete(site: Site, lease_id: str, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
    """Take down what is proven the lease's, and see it gone.

    Raises `PermanentError` with everything that was kept or is stuck, and why, after all else was taken down:
    "not-ours", "kept", "stuck", "retained". Raises `RetryableError` while a launch of late may still turn up.
    """
    found = inventory.read(site, lease_id, known)
    step = _Step(site, lease_id, heartbeat)
    problems = [_not_ours(kind, obj, lease_id) for kind, obj in found.foreign]
    if found.namespace is not None:
        problems += step.namespace(found, found.namespace)
    if found.volumes or found.claims:
        problems += step.volumes(found)
    problems += [_not_shown(one) for one in found.record.missing(found.namespace, site.clock())]
    lasting = [one for one in problems if not isinstance(one, RetryableError)]
    if lasting:
        others = [one for one in problems if isinstance(one, RetryableError)]
        raise PermanentError("; ".join(map(str, [*lasting, *others])), lasting[0].code)
    if problems:
        raise RetryableError("; ".join(map(str, problems)), problems[0].code)


class _Step:
    """The parts of one attempt, which share its time."""

    def __init__(self, site: Site, lease_id: str, heartbeat: Heartbeat) -> None:
        self._site, self._lease_id, self._heartbeat = site, lease_id, heartbeat
        self._until = site.clock() + LONGEST

    def namespace(self, found: Inventory, space: Obj) -> list[ProviderError]:
        """End what runs, delete the claims that are due, and the namespace unless it still has some that are not."""
        if ending(space):
            return self._gone(space)
        until = self._kept_until(found, space)
        problems = self._workloads(found)
        kept = found.peoples_claims if until is not None else ()
        for claim in (one for one in found.claims if one not in kept):
            problems += self._claim(claim)
        if until is not None:
            # What lessor does not know how to end would go with the namespace, which stays.
            running = lifecycle.obstacles(owners.read(self._site, self._lease_id))
            problems += [PermanentError(running, NOT_STOPPABLE)] if running else []
            return [*problems, self._kept(kept, until)]
        refused = self._do(NAMESPACE, space, foreground=False)
        return [*problems, *(refused or self._gone(space))]

    def volumes(self, found: Inventory) -> list[ProviderError]:
        """See the volumes go whose claims are gone. What a class retains is only deleted where that is said."""
        problems: list[ProviderError] = []
        waited_for: set[str] = set()
        for volume in self._released():
            if not volumes.proven(volume, found.record, found.claims):
                problems.append(_not_ours(Kind.VOLUME, volume, self._lease_id))
            elif not volumes.retained(volume) or self._given_up(volume):
                waited_for.add(volume["metadata"]["uid"])
            else:
                problems.append(self._retained(volume))
        left = self._await("volumes to go", lambda: [v for v in self._released() if v["metadata"]["uid"] in waited_for])
        return [*problems, *(self._lasting(volume) for volume in left)]

    def _kept_until(self, found: Inventory, space: Obj) -> datetime | None:
        """Until when people's claims are kept, counted from when their work was stopped: now, if it was not."""
        if not found.peoples_claims:
            return None
        now = self._site.clock().replace(microsecond=0)
        until = volumes.kept_until(self._site, space, now)
        if until <= now:
            return None
        gate.freeze(self._site, space, self._heartbeat)
        if noted_at(space, STOPPED_AT) is None:
            gate.mark(self._site, space, {STOPPED_AT: instant(now)}, self._heartbeat)
        return until

    def _workloads(self, found: Inventory) -> list[ProviderError]:
        """Delete what keeps pods alive, and bare pods. What lessor does not know goes with the namespace alone."""
        problems: list[ProviderError] = []
        known = [top for top in found.tree.tops if top.kind is not None]
        for top in known:
            if top.kind is not None and not ending(top.obj):
                problems += self._do(top.kind, top.obj, foreground=top.kind is not POD)
        uids = {pod["metadata"]["uid"] for top in known for pod in top.pods}

        def left() -> list[Obj]:
            pods = self._site.api.list(POD, self._lease_id)
            return [pod for pod in pods if pod["metadata"]["uid"] in uids and not owners.finished(pod)]

        there = self._await("pods to end", left)
        if there:
            held = stuck.held(there) or ", ".join(pod["metadata"]["name"] for pod in there)
            problems.append(PermanentError(f"pods have not ended: {held}. Nothing was forced", "stuck"))
        return problems

    def _claim(self, claim: Obj) -> list[ProviderError]:
        """Delete one unless a pod mounts it: then it goes with the namespace, after the pod."""
        pods = self._site.api.list(POD, self._lease_id)
        if ending(claim) or volumes.mounting(claim, pods):
            return []
        return self._do(CLAIM, claim, foreground=False)

    def _gone(self, space: Obj) -> list[ProviderError]:
        """See the namespace gone; what holds it where it is not."""
        uid = space["metadata"]["uid"]

        def left() -> list[Obj]:
            there = self._site.api.get(NAMESPACE, self._lease_id)
            return [there] if there is not None and there["metadata"]["uid"] == uid else []

        there = self._await("the namespace to go", left)
        if not there:
            return []
        inside = [obj for kind in (POD, CLAIM) for obj in self._site.api.list(kind, self._lease_id)]
        return [PermanentError(stuck.namespace(there[0], inside), "stuck")]

    def _given_up(self, volume: Obj) -> bool:
        """Tell a volume's driver to delete the disk with it, where the organisation wants that."""
        if not self._site.config.delete_retained or not volumes.driven(volume):
            return False
        change = {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}
        self._heartbeat(f"giving up the disk of {identity(volume)}")
        self._site.api.patch(VOLUME, volume["metadata"]["name"], "", change, volume["metadata"]["uid"])
        return True

    def _released(self) -> list[Obj]:
        """Volumes of the lease whose claim is gone: while it is there, its volume is in use or held by it."""
        claims = {one["metadata"]["uid"] for one in self._site.api.list(CLAIM, self._lease_id)}
        bound = [one for one in self._site.api.list(VOLUME) if volumes.bound_in(one, self._lease_id)]
        return [one for one in bound if one["spec"]["claimRef"].get("uid") not in claims]

    def _await(self, what: str, left: Callable[[], list[Obj]]) -> list[Obj]:
        return lifecycle.awaited(self._site, self._heartbeat, what, left, self._until - self._site.clock())

    def _do(self, kind: ApiKind, obj: Obj, *, foreground: bool) -> list[ProviderError]:
        """Delete that very object; a refusal is kept and keeps nothing else from going (law 11)."""
        meta = obj["metadata"]
        self._heartbeat(f"deleting {kind.kind} {meta['name']}")
        try:
            self._site.api.delete(kind, meta["name"], meta.get("namespace", ""), meta["uid"], foreground=foreground)
        except PermanentError as error:
            return [error]
        return []

    def _kept(self, claims: Sequence[Obj], until: datetime) -> ProviderError:
        now = self._site.clock()
        what = "; ".join(volumes.told(self._site, one, now) for one in claims)
        return PermanentError(
            f"kept until {until:%Y-%m-%d %H:%M} UTC, as the organisation says of claims that people made: {what}. "
            f"Nothing new gets GPUs in namespace {self._lease_id}; whoever needs the data copies it until then",
            "kept",
        )

    def _retained(self, volume: Obj) -> ProviderError:
        what = volumes.told(self._site, volume, self._site.clock())
        why = "" if volumes.driven(volume) else " No driver made it, so only its owner can delete the disk behind it."
        return PermanentError(
            f"{what}, is released and its class retains the disk; it was kept and goes on costing.{why} "
            "Save what is needed, delete the disk and then the volume",
            "retained",
        )

    def _lasting(self, volume: Obj) -> ProviderError:
        what = volumes.told(self._site, volume, self._site.clock())
        status = volume.get("status", {})
        said = f" ({status['message']})" if status.get("message") else ""
        held = stuck.held([volume])
        return PermanentError(
            f"{what}, is {str(status.get('phase', 'there')).lower()} and not gone{said}; its driver has to delete the "
            f"disk{f', {held}' if held else ''}. Nothing was forced",
            "stuck",
        )


def _not_ours(kind: Kind, obj: Obj, lease_id: str) -> ProviderError:
    if kind is Kind.VOLUME:
        return PermanentError(
            f"volume {identity(obj)} was bound to a claim in {lease_id} that is not on record as the lease's; it was "
            "kept. Look whose data it holds, then delete the volume and the disk behind it",
            "not-ours",
        )
    return PermanentError(
        f"{kind.value} {identity(obj)} carries the name or label of {lease_id} but nothing shows that lessor made it; "
        "it was kept. Delete it or take the label lessor.dev/lease off it",
        "not-ours",
    )


def _not_shown(launch: Resource) -> ProviderError:
    return RetryableError(
        f"{launch.id or 'a launch'} of {launch.created_at:%Y-%m-%d %H:%M:%S} UTC is not shown by the cluster yet; "
        "it is looked for again before it is believed to be gone",
        "not-shown-yet",
    )
