"""What any cluster has to show of storage that people make in their namespace: charged while its volume is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from lessor.domain import disks
from lessor.domain.money import Money
from lessor.domain.resource import Disk
from lessor.providers.kubernetes import api as kinds
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE, KubeWorld
from tests.providers.lives import create

Until = Callable[[Callable[[], object]], object]
PRICE = Money(Decimal("0.10"))


def charged_while_it_is_there(world: KubeWorld, storage_class: str, until: Until) -> None:
    """Lease, claim, sweep, look, delete the claim and see that what was charged has ended."""
    world.place = replace(world.place, disk_monthly=PRICE)
    provider, admin = world.provider(), world.ground.admin
    made = create(provider, world.order()).resources
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1536Mi"}}}
    about = {"name": "data", "namespace": LEASE_ID}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about}
    claim = admin.create({**body, "spec": {**spec, "storageClassName": storage_class}})
    until(lambda: [one for one in admin.list(kinds.VOLUME) if one.get("status", {}).get("phase") == "Bound"])
    assert [one.id for one in provider.attribute(PLACE, silent)] == [f"{LEASE_ID}/data@{claim['metadata']['uid']}"]
    seen = provider.look(LEASE_ID, PLACE, made)
    (disk,) = [one.disk for one in seen.resources if one.disk]
    assert disk == Disk(disk.since, Decimal("1.5"), PRICE, f"{LEASE_ID}/data")
    assert timedelta() <= world.ground.now() - disk.since < timedelta(minutes=10)
    assert [one.disk for one in provider.conditions(PLACE) if one.disk] == [disk]
    (line,) = disks.brought_up((), seen.resources, world.ground.now())
    admin.delete(kinds.CLAIM, "data", LEASE_ID, claim["metadata"]["uid"])
    until(lambda: not admin.list(kinds.VOLUME))
    gone, now = provider.look(LEASE_ID, PLACE, made), world.ground.now()
    assert disks.brought_up((line,), gone.resources, now) == (replace(line, end=max(now, line.start)),)
    assert disks.brought_up((line,), provider.conditions(PLACE), now) == (replace(line, end=max(now, line.start)),)
