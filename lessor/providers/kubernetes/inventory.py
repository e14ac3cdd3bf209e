"""All that a lease has in a cluster, read whole, and the same for everything of ours at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from lessor.contracts import LABEL_LEASE, LABEL_MANAGED_BY, LABEL_TEAM, MANAGED_BY
from lessor.domain.identity import LEASE_ID
from lessor.domain.request import LeaseKind
from lessor.domain.resource import EVERY, Condition, Kind, Resource, Sighting, Tagged
from lessor.ports import Heartbeat, ProviderError
from lessor.providers.kubernetes import owners, pods, seen, volumes
from lessor.providers.kubernetes.amiss import looked_over
from lessor.providers.kubernetes.api import (
    CLAIM,
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    STATEFUL_SET,
    VOLUME,
    ApiKind,
    Obj,
)
from lessor.providers.kubernetes.forbidden import Forbidden
from lessor.providers.kubernetes.misplaced import Around
from lessor.providers.kubernetes.ours import Record, applied_by_us, identity, labels, made_by_us, note, noted_at
from lessor.providers.kubernetes.owners import Top, Tree
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.volumes import STOPPED_AT

ELSEWHERE = {
    STATEFUL_SET: Kind.WORKLOAD,
    DEPLOYMENT: Kind.WORKLOAD,
    JOB: Kind.WORKLOAD,
    POD: Kind.WORKLOAD,
    CLAIM: Kind.CLAIM,
}
"""What may carry a lease's label outside of its namespace: copies that somebody made."""

SHOWN = 100
"""How many workloads of one lease a sighting carries: its namespace stands for the others."""


@dataclass(frozen=True)
class Inventory:
    """The cluster's own answers. `namespace` is the lease's, proven; `foreign` what only carries its label or name."""

    record: Record
    namespace: Obj | None = None
    foreign: tuple[tuple[Kind, Obj], ...] = ()
    tree: Tree = field(default_factory=Tree)
    claims: tuple[Obj, ...] = ()
    volumes: tuple[Obj, ...] = ()

    def resources(self, site: Site, now: datetime) -> tuple[Resource, ...]:
        running = self.tree.pods
        found = [_space(site, self.namespace, running, Around(site))] if self.namespace is not None else []
        found += [seen.workload(top) for top in self.tops[:SHOWN]]
        found += [seen.claim(site, one, running, now) for one in self.claims]
        theirs = _peoples(self.namespace, self.claims) if self.namespace is not None else {}
        found += [_volume(site, one, theirs, now) for one in self.volumes]
        return (*found, *(seen.other(kind, obj) for kind, obj in self.foreign))

    @property
    def tops(self) -> tuple[Top, ...]:
        """What keeps pods alive, or could again; what has finished is only a record of itself."""
        return tuple(top for top in self.tree.tops if not owners.done(top) and not owners.finished(top.obj))

    @property
    def not_ours(self) -> tuple[str, ...]:
        """The refs of what is shown and not proven the lease's."""
        unproven = [one for one in self.volumes if not volumes.proven(one, self.record, self.claims)]
        refs = [(Kind.VOLUME, one) for one in unproven]
        return tuple(f"{kind.value}:{identity(obj)}" for kind, obj in (*self.foreign, *refs))

    @property
    def own_claims(self) -> tuple[Obj, ...]:
        """Claims of the lease's own workload; all others were made by people."""
        return tuple(one for one in self.claims if applied_by_us(one, self.record.lease_id))

    @property
    def peoples_claims(self) -> tuple[Obj, ...]:
        """Claims that people made to last: those that go with their owner are not among them."""
        theirs = (one for one in self.claims if not applied_by_us(one, self.record.lease_id))
        return tuple(one for one in theirs if not one["metadata"].get("ownerReferences"))

    def kept_until(self, site: Site) -> datetime | None:
        """Until when people's claims, and so the namespace, stay on purpose; `None` when anything else is left."""
        if self.namespace is None or not self.peoples_claims or noted_at(self.namespace, STOPPED_AT) is None:
            return None
        claims = {one["metadata"]["uid"] for one in self.claims}
        released = [one for one in self.volumes if one["spec"]["claimRef"].get("uid") not in claims]
        if released or self.own_claims or any(not owners.finished(pod) for pod in self.tree.pods):
            return None
        until = volumes.kept_until(site, self.namespace, site.clock())
        return until if until > site.clock() else None


def read(site: Site, lease_id: str, known: Sequence[Resource] = (), forbidden: Forbidden | None = None) -> Inventory:
    """Everything of one lease. Raises `ProviderError` if anything was unread.

    With `forbidden` that is kept there of what may not be read and decides nothing but what it is itself: what keeps
    pods alive, claims, volumes and copies. Whose a volume is cannot be told where claims are not read.
    """
    record = Record.of(lease_id, known)
    marked = f"{LABEL_LEASE}={lease_id}"
    named = site.api.get(NAMESPACE, lease_id)
    space = named if named is not None and record.proves(Kind.NAMESPACE, named) else None
    spaces = [one for one in site.api.list(NAMESPACE, labels=marked) if identity(one) != (space and identity(space))]
    if named is not None and space is None and record.has(Kind.NAMESPACE, named):
        # It is the one on record, and somebody has taken our label off: it is shown, and touched no more.
        spaces += [named] if named["metadata"]["uid"] not in {one["metadata"]["uid"] for one in spaces} else []
    foreign = [(Kind.NAMESPACE, one) for one in spaces]
    listed = _listing(site, forbidden)
    copies = _elsewhere(listed, marked)
    foreign += [(kind, one) for kind, one in copies if space is None or not _inside(one, space)]
    claims = tuple(listed(CLAIM, Kind.CLAIM, lease_id)) if space is not None else ()
    disks = tuple(one for one in listed(VOLUME, Kind.VOLUME) if volumes.bound_in(one, lease_id))
    if forbidden is not None and CLAIM in forbidden.within(lease_id) and disks:
        forbidden.kinds.add(Kind.VOLUME)
        disks = ()
    tree = owners.read(site, lease_id, forbidden) if space is not None else Tree()
    return Inventory(record, space, tuple(foreign), tree, claims, disks)


def look(site: Site, lease_id: str, known: Sequence[Resource] = ()) -> Sighting:
    """All of the lease; `complete` is false if anything was unread. A launch whose answer is unclear is `unknown`."""
    now, forbidden = site.clock(), Forbidden()
    try:
        found = read(site, lease_id, known, forbidden)
    except ProviderError as error:
        return Sighting((), now, complete=False, problem=str(error))
    late = [_unclear(one) for one in found.record.missing(found.namespace, now)]
    return Sighting(
        (*(_known(one, forbidden.hides(one, lease_id)) for one in found.resources(site, now)), *late),
        now,
        complete=not forbidden.kinds,
        problem=forbidden.problem,
        foreign=found.not_ours,
        kept_until=None if forbidden.kinds else found.kept_until(site),
        unread=forbidden.unread,
    )


def conditions(site: Site) -> tuple[Tagged, ...]:
    """Every namespace, workload, claim and volume of ours. Raises `ProviderError` when any page is missing.

    Where the pods of one namespace may not be read its condition is unknown, and the others are told (case D15). Where
    a kind may not be read something unknown stands for all of it that each lease may have.
    """
    managed, now, forbidden = f"{LABEL_MANAGED_BY}={MANAGED_BY}", site.clock(), Forbidden()
    listed = _listing(site, forbidden)
    leased = _leases(site)
    by_space, unread = pods.by_namespace(site, leased)
    around = Around(site)
    found: list[Tagged] = []
    for name, space in leased.items():
        resource = _known(_space(site, space, by_space[name], around), unread.get(name, ""))
        found.append(Tagged(**vars(resource), lease=name, changed_at=seen.changed_at(space, by_space[name])))
    for one in listed(STATEFUL_SET, Kind.WORKLOAD, labels=managed):
        if (name := one["metadata"]["namespace"]) in leased:
            mine = tuple(pod for pod in by_space[name] if _of(one, pod))
            resource = _known(seen.workload(Top(STATEFUL_SET, one, mine)), unread.get(name, ""))
            found.append(Tagged(**vars(resource), lease=name))
    theirs: dict[str, Obj] = {}
    for one in listed(CLAIM, Kind.CLAIM, labels=LABEL_LEASE):
        if (name := one["metadata"]["namespace"]) in leased:
            theirs |= _peoples(leased[name], (one,))
            found.append(Tagged(**vars(seen.claim(site, one, by_space[name], now)), lease=name))
    for one in listed(VOLUME, Kind.VOLUME):
        name = str((one.get("spec", {}).get("claimRef") or {}).get("namespace", ""))
        if LEASE_ID.fullmatch(name):
            found.append(Tagged(**vars(_volume(site, one, theirs, now)), lease=name))
    if CLAIM in forbidden.within(""):
        forbidden.kinds.add(Kind.VOLUME)
    return (*found, *(_unread(kind, name, forbidden.problem) for kind in forbidden.unread for name in leased))


def spaces(site: Site) -> tuple[tuple[Obj, Tagged], ...]:
    """Every namespace that is a lease's, as it is; unknown where its pods may not be read. Raises `ProviderError`."""
    leased = _leases(site)
    by_space, unread = pods.by_namespace(site, leased)

    def tagged(name: str, space: Obj) -> Tagged:
        resource = _known(seen.namespace(space, by_space[name]), unread.get(name, ""))
        return Tagged(**vars(resource), lease=name, changed_at=seen.changed_at(space, by_space[name]))

    return tuple((space, tagged(name, space)) for name, space in leased.items())


def _space(site: Site, space: Obj, running: Sequence[Obj], around: Around) -> Resource:
    return looked_over(site, space, running, around, seen.namespace(space, running))


def _peoples(space: Obj, claims: Iterable[Obj]) -> dict[str, Obj]:
    """Claims by uid that people made in a lease's namespace, where only a workspace has one of ours."""
    workspace = note(space, "kind") == LeaseKind.WORKSPACE.value
    return {
        one["metadata"]["uid"]: one
        for one in claims
        if not (workspace and applied_by_us(one, space["metadata"]["name"]))
    }


def _volume(site: Site, volume: Obj, theirs: Mapping[str, Obj], now: datetime) -> Resource:
    return replace(seen.volume(site, volume, now), disk=volumes.added(site, volume, theirs, now))


def attribute(site: Site, heartbeat: Heartbeat) -> tuple[Resource, ...]:
    """Label claims that people made in our namespaces as the lease's; returns what was labelled (case C10).

    They do not get the mark of what we make: they stay people's own.
    """
    leased, now = _leases(site), site.clock()
    marked: list[Resource] = []
    for claim in site.api.list(CLAIM, labels=f"!{LABEL_LEASE}"):
        meta = claim["metadata"]
        space = leased.get(meta["namespace"])
        if space is None or meta.get("deletionTimestamp"):
            continue
        wanted = {name: value for name, value in labels(space).items() if name in (LABEL_LEASE, LABEL_TEAM)}
        heartbeat(f"labelling claim {meta['namespace']}/{meta['name']}")
        change = {"metadata": {"labels": wanted}}
        after = site.api.patch(CLAIM, meta["name"], meta["namespace"], change, meta["uid"])
        marked += [seen.claim(site, after, (), now)] if after is not None else []
    return tuple(marked)


def namespace_of(site: Site, lease_id: str) -> Obj | None:
    """The lease's own namespace, by its label and the server's word; `None` where there is none."""
    space = site.api.get(NAMESPACE, lease_id)
    return space if space is not None and made_by_us(space, lease_id) else None


def _listing(site: Site, forbidden: Forbidden | None) -> Callable[..., Sequence[Obj]]:
    """How kinds are read: what is forbidden is kept there, and raises without it."""

    def listed(what: ApiKind, decides: Kind, namespace: str = "", *, labels: str = "") -> Sequence[Obj]:
        if forbidden is None:
            return site.api.list(what, namespace, labels=labels)
        return forbidden.listed(site, what, decides, namespace, labels=labels)

    return listed


def _unread(kind: Kind, lease_id: str, why: str) -> Tagged:
    return Tagged(kind, f"{lease_id}/{EVERY}", Condition.UNKNOWN, reason=why, lease=lease_id)


def _known(resource: Resource, why_not: str) -> Resource:
    if not why_not:
        return resource
    return replace(resource, condition=Condition.UNKNOWN, reason=why_not, fault="", unchecked=True)


def _elsewhere(listed: Callable[..., Sequence[Obj]], marked: str) -> Iterator[tuple[Kind, Obj]]:
    """Those that nothing of the cluster's own keeps: what an owner makes again is told by its owner."""
    for kind, shown in ELSEWHERE.items():
        alone = (one for one in listed(kind, shown, labels=marked) if not one["metadata"].get("ownerReferences"))
        yield from ((shown, one) for one in alone)


def _inside(obj: Obj, space: Obj) -> bool:
    return bool(obj["metadata"]["namespace"] == space["metadata"]["name"])


def _leases(site: Site) -> dict[str, Obj]:
    """The namespaces of leases, by name."""
    managed = site.api.list(NAMESPACE, labels=f"{LABEL_MANAGED_BY}={MANAGED_BY}")
    return {one["metadata"]["name"]: one for one in managed if _leased(one)}


def _leased(space: Obj) -> bool:
    """Whether a namespace is that of the lease whose label it carries, and made by us."""
    name = space["metadata"]["name"]
    return labels(space).get(LABEL_LEASE) == name and made_by_us(space, name)


def _of(owner: Obj, pod: Obj) -> bool:
    uid = owner["metadata"]["uid"]
    return any(one.get("uid") == uid for one in pod["metadata"].get("ownerReferences") or ())


def _unclear(launch: Resource) -> Resource:
    reason = "not shown by the cluster yet"
    return Resource(
        launch.kind, launch.id, Condition.UNKNOWN, "", "", launch.type, launch.created_at, reason, launch.token
    )
