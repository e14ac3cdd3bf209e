"""From launched to usable: all machines run or none is kept, and everything that came with them is tagged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from lessor.contracts import TAG_LEASE, TAG_MANAGED_BY
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.resource import Kind, Resource
from lessor.ports import Heartbeat, NoCapacityError, PermanentError, RetryableError
from lessor.providers.aws import disks, seen, tags
from lessor.providers.aws.errors import MISSING, sorted_errors
from lessor.providers.aws.launching import Launcher
from lessor.providers.aws.offers import Offers
from lessor.providers.aws.ownership import market_of
from lessor.providers.aws.site import Site, by
from lessor.providers.aws.waiting import Waits

Item = dict[str, Any]
SETTLED = ("running", "shutting-down", "terminated", "stopping", "stopped")
OURS_ALONE = ("Name", TAG_MANAGED_BY)
"""Tags that only a launch sets: what is tagged afterwards is attributed to the lease, not made deletable."""


class Usable:
    """Completes launches."""

    def __init__(self, launcher: Launcher, offers: Offers, waits: Waits, clock: Callable[[], datetime]) -> None:
        self._launcher, self._offers, self._waits, self._clock = launcher, offers, waits, clock

    def await_usable(
        self, sites: Sequence[Site], order: Order, resources: Sequence[Resource], heartbeat: Heartbeat
    ) -> Provisioned:
        """Wait for the machines of one launch; end those of any other for the same lease.

        Raises `NoCapacityError` when there are fewer than needed or EC2 ended one, `PermanentError` when one ended
        for a reason of its own; then all are ended.
        """
        kept = self._settle_on_one_launch(sites, order, resources, heartbeat)
        site = _site_of(kept[0], sites)
        ids = [machine.id for machine in kept]
        born = {machine.id: machine.created_at or self._clock() for machine in kept}
        found = self._waits.until(site, ids, SETTLED, heartbeat, born)
        ended = [i for i in ids if i not in found or found[i]["State"]["Name"] != "running"]
        if ended:
            _end(site, [i for i in ids if i in found], heartbeat)
            raise _ended(ended[0], found.get(ended[0]), kept[0])
        machines = [found[i] for i in ids]
        volumes = site.read("describe_volumes", "Volumes", Filters=by(attachment__instance_id=ids))
        attached = _tag_whole(site, order, machines, volumes, heartbeat)
        return self._provisioned(site, order, machines, volumes, attached)

    def _settle_on_one_launch(
        self, sites: Sequence[Site], order: Order, resources: Sequence[Resource], heartbeat: Heartbeat
    ) -> list[Resource]:
        """The machines of one token, complete; others, in any region, are surplus and ended (cases B12, C03, C23)."""
        alive = {r.id: r for r in resources if r.kind is Kind.INSTANCE}
        alive |= {r.id: r for site in sites for r in self._launcher.existing(site, order.lease_id, ())}
        if not alive:
            raise RetryableError(f"EC2 shows no machine of {order.lease_id} yet; it is looked for again", "none-seen")
        launches: dict[str, list[Resource]] = {}
        for machine in alive.values():
            launches.setdefault(machine.token, []).append(machine)
        chosen = min(launches.values(), key=lambda launch: self._preference(sites, order, launch))
        needed = self._needed(sites, order, chosen)
        chosen = sorted(chosen, key=lambda machine: machine.id)
        wanted = {machine.id for machine in chosen[:needed]} if len(chosen) >= needed else set()
        for machine in alive.values():
            if machine.id not in wanted:
                _end(_site_of(machine, sites), [machine.id], heartbeat)
        if not wanted:
            what = f"{chosen[0].type} in {chosen[0].zone}"
            raise NoCapacityError(
                f"EC2 gave {len(chosen)} of {needed} machines ({what}); a lease is whole or not at all, so these "
                "were ended again",
                (what,),
                "partial",
            )
        return chosen[:needed]

    def _needed(self, sites: Sequence[Site], order: Order, launch: list[Resource]) -> int:
        return self._offers.machines(_site_of(launch[0], sites), order.request.need, launch[0].type)

    def _preference(self, sites: Sequence[Site], order: Order, launch: list[Resource]) -> tuple[bool, float, str]:
        """Complete launches first, then the oldest: every attempt that looks picks the same one."""
        needed = self._needed(sites, order, launch)
        oldest = min((m.created_at.timestamp() for m in launch if m.created_at), default=0.0)
        return (len(launch) < needed, oldest, launch[0].token)

    def _provisioned(
        self, site: Site, order: Order, machines: list[Item], volumes: list[Item], attached: tuple[Resource, ...]
    ) -> Provisioned:
        first, market = machines[0], market_of(machines[0])
        zone = first["Placement"]["AvailabilityZone"]
        commands = [_access(machine["InstanceId"], site.region) for machine in machines]
        return Provisioned(
            resources=(*(seen.instance(machine, site.region) for machine in machines), *attached),
            access="\n".join(commands),
            launched_at=min(seen.launched_at(machine) for machine in machines),
            hourly=self._offers.hourly(site, first["InstanceType"], zone, market, len(machines)),
            stoppable=first.get("InstanceLifecycle") != "spot",
            volatile=self._offers.local_disk(site, first["InstanceType"]),
            disk_gib=disks.size_of(machines, volumes, order.request.disk_gib),
            disk_monthly=self._offers.disk_monthly(site) if disks.priced(volumes) else None,
        )


def _site_of(machine: Resource, sites: Sequence[Site]) -> Site:
    return next(site for site in sites if site.region == machine.region)


def _access(instance_id: str, region: str) -> str:
    """The whole command that opens a session; it needs no key and no open port."""
    return f"aws ssm start-session --target {instance_id} --region {region}"


def _end(site: Site, ids: list[str], heartbeat: Heartbeat) -> None:
    """End machines of our own launch that are not wanted; those that are gone already are fine."""
    for instance_id in ids:
        heartbeat(f"ending {instance_id}")
        try:
            with sorted_errors(f"ending {instance_id}"):
                site.ec2.terminate_instances(InstanceIds=[instance_id])
        except RetryableError as error:
            if error.code not in MISSING:
                raise


def _ended(instance_id: str, machine: Item | None, launched: Resource) -> PermanentError | NoCapacityError:
    """What a machine that ended while it was awaited means (case C25)."""
    what = f"{launched.type} in {launched.zone}"
    why = seen.reason(machine) if machine else "EC2 no longer knows it"
    state = machine["State"]["Name"] if machine else "gone"
    code = str((machine or {}).get("StateReason", {}).get("Code", ""))
    text = f"{instance_id} ({what}) was {state} before it could be used: {why}. What was launched was ended again"
    if machine is None or code.startswith("Server."):
        return NoCapacityError(text, (what,), code)
    return PermanentError(f"{text}; correct the cause and ask again", code)


def _tag_whole(
    site: Site, order: Order, machines: list[Item], volumes: list[Item], heartbeat: Heartbeat
) -> tuple[Resource, ...]:
    """Volumes, interfaces and spot requests of the machines, each seen with the lease's tag (case C10)."""
    ids = [machine["InstanceId"] for machine in machines]
    requests = [machine["SpotInstanceRequestId"] for machine in machines if machine.get("SpotInstanceRequestId")]
    interfaces = site.read("describe_network_interfaces", "NetworkInterfaces", Filters=by(attachment__instance_id=ids))
    spot = requests and site.read(
        "describe_spot_instance_requests", "SpotInstanceRequests", SpotInstanceRequestIds=requests
    )
    found = [
        *((item, seen.volume(item, site.region)) for item in volumes),
        *((item, seen.interface(item, site.region)) for item in interfaces),
        *((item, seen.spot_request(item, site.region)) for item in spot),
    ]
    bare = [resource.id for item, resource in found if tags.read(item).get(TAG_LEASE) != order.lease_id]
    if bare:
        heartbeat(f"tagging {', '.join(bare)}")
        wanted = {key: value for key, value in tags.for_order(order).items() if key.startswith("lessor:")}
        with sorted_errors(f"tagging {', '.join(bare)}"):
            site.ec2.create_tags(
                Resources=bare, Tags=tags.pairs({k: v for k, v in wanted.items() if k not in OURS_ALONE})
            )
    return tuple(resource for _, resource in found)
