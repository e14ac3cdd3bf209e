"""Stop, start, snapshot and mark what a lease has. Each looks first, so that a second call changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from lessor.contracts import (
    GROUP_MEMBER,
    MANAGED_BY,
    TAG_COST_CENTER,
    TAG_ENDS,
    TAG_LEASE,
    TAG_MANAGED_BY,
    TAG_OWNER,
    TAG_TEAM,
)
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, PermanentError, RetryableError
from lessor.providers.aws import inventory, seen, tags
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.ownership import group_of, launched_for
from lessor.providers.aws.site import Site
from lessor.providers.aws.waiting import Waits
from lessor.providers.instants import instant

Item = dict[str, Any]
ENDED = ("shutting-down", "terminated")
TAGS_AT_ONCE = 500


class Lifecycle:
    """Acts on the machines that carry a lease's tag at one or several sites."""

    def __init__(self, waits: Waits, clock: Callable[[], datetime]) -> None:
        self._waits, self._clock = waits, clock

    def stop(self, sites: Sequence[Site], lease_id: str, heartbeat: Heartbeat) -> datetime:
        """See every machine stopped; the latest stop time that EC2 gives. What is terminated counts as stopped."""
        at: list[datetime] = []
        found = self._machines(sites, lease_id)
        _refuse_group_members([machine for _, machines in found for machine in machines], "stopped")
        for site, machines in found:
            running = [m["InstanceId"] for m in machines if m["State"]["Name"] in ("pending", "running")]
            if any(m["State"]["Name"] == "pending" for m in machines):
                self._waits.until(site, running, ("running", "stopping", "stopped", *ENDED), heartbeat)
            if running:
                heartbeat(f"stopping {', '.join(running)}")
                with sorted_errors(f"stopping {', '.join(running)}"):
                    site.ec2.stop_instances(InstanceIds=running)
            waiting = [m["InstanceId"] for m in machines if m["State"]["Name"] not in ("stopped", *ENDED)]
            settled = self._settle(site, machines, waiting, ("stopped", *ENDED), heartbeat)
            at += [seen.changed_at(machine) or self._clock() for machine in settled]
        return max(at)

    def start(self, sites: Sequence[Site], lease_id: str, heartbeat: Heartbeat) -> datetime:
        """See every machine running; the latest launch time that EC2 gives."""
        at: list[datetime] = []
        for site, machines in self._machines(sites, lease_id):
            ended = [m["InstanceId"] for m in machines if m["State"]["Name"] in ENDED]
            if ended:
                raise PermanentError(
                    f"{', '.join(ended)} was terminated and cannot be started again; nothing was changed, "
                    "ask for a new lease",
                    "terminated",
                )
            stopping = [m["InstanceId"] for m in machines if m["State"]["Name"] == "stopping"]
            if stopping:
                self._waits.until(site, stopping, ("stopped", *ENDED), heartbeat)
            asleep = [m["InstanceId"] for m in machines if m["State"]["Name"] in ("stopping", "stopped")]
            if asleep:
                self._start(site, machines, asleep, heartbeat)
            waiting = [m["InstanceId"] for m in machines if m["State"]["Name"] != "running"]
            settled = self._settle(site, machines, waiting, ("running", "stopped", *ENDED), heartbeat)
            at += [_started_at(machine) for machine in settled]
        return max(at)

    def snapshot(self, sites: Sequence[Site], lease_id: str, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """One kept snapshot of every volume that carries the lease's tag; those that exist are returned as they are."""
        made: list[Resource] = []
        for site in sites:
            found = inventory.of_lease(site, lease_id)
            volumes = [item for item in found.volumes if tags.read(item).get(TAG_MANAGED_BY) == MANAGED_BY]
            for volume in volumes:
                same = [s for s in found.snapshots if tags.read(s).get(tags.TAG_VOLUME) == volume["VolumeId"]]
                usable = [s for s in same if s.get("State") != "error"]
                item = usable[0] if usable else _snapshot(site, lease_id, volume, heartbeat)
                made.append(seen.snapshot(item, site.region))
        return tuple(made)

    def set_end(self, sites: Sequence[Site], lease_id: str, ends: datetime) -> None:
        """Write the end on everything that carries the lease's tag and still exists."""
        _mark(sites, lease_id, {TAG_ENDS: instant(ends)}, f"writing the end of {lease_id} on its resources")

    def set_owner(self, sites: Sequence[Site], lease_id: str, owner: str, team: str, cost_center: str) -> None:
        """Write owner and payer on everything that carries the lease's tag and still exists."""
        whose = {TAG_OWNER: owner, TAG_TEAM: team, TAG_COST_CENTER: cost_center}
        marks = {key: tags.clean(value) for key, value in whose.items()}
        _mark(sites, lease_id, marks, f"writing the owner of {lease_id} on its resources")

    def _start(self, site: Site, machines: list[Item], ids: list[str], heartbeat: Heartbeat) -> None:
        heartbeat(f"starting {', '.join(ids)}")
        first = machines[0]
        tried = f"{first['InstanceType']} in {first['Placement']['AvailabilityZone']}"
        with sorted_errors(f"starting {', '.join(ids)}", tried):
            site.ec2.start_instances(InstanceIds=ids)

    def _settle(
        self, site: Site, machines: list[Item], waiting: list[str], states: Sequence[str], heartbeat: Heartbeat
    ) -> list[Item]:
        """All machines with the waiting ones as they were seen in one of `states`."""
        settled = self._waits.until(site, waiting, states, heartbeat) if waiting else {}
        return [settled.get(machine["InstanceId"], machine) for machine in machines]

    def _machines(self, sites: Sequence[Site], lease_id: str) -> list[tuple[Site, list[Item]]]:
        """Machines that were launched for the lease by site; terminated ones only where nothing else is left."""
        found = [(site, inventory.machines_of(site, lease_id)) for site in sites]
        found = [(site, [m for m in machines if launched_for(m, lease_id)]) for site, machines in found]
        if any(machine["State"]["Name"] not in ENDED for _, machines in found for machine in machines):
            found = [(site, [m for m in machines if m["State"]["Name"] not in ENDED]) for site, machines in found]
        found = [(site, machines) for site, machines in found if machines]
        if not found:
            raise PermanentError(
                f"EC2 shows no machine of {lease_id} in {', '.join(site.region for site in sites)}; "
                "nothing was changed, look at the account",
                "none-seen",
            )
        return found


def _mark(sites: Sequence[Site], lease_id: str, marks: dict[str, str], what: str) -> None:
    for site in sites:
        there = [r for r in inventory.of_lease(site, lease_id).resources() if r.condition.value != "gone"]
        for begin in range(0, len(there), TAGS_AT_ONCE):
            ids = [r.id for r in there[begin : begin + TAGS_AT_ONCE]]
            with sorted_errors(what):
                site.ec2.create_tags(Resources=ids, Tags=tags.pairs(marks))


def _started_at(machine: Item) -> datetime:
    if machine["State"]["Name"] != "running":
        raise RetryableError(
            f"{machine['InstanceId']} is {machine['State']['Name']} after it was started: {seen.reason(machine)}; "
            "it is started again",
            "not-started",
        )
    return seen.launched_at(machine)


def _refuse_group_members(machines: list[Item], verb: str) -> None:
    for machine in machines:
        group = group_of(machine)
        if group:
            raise group_member(machine["InstanceId"], group, verb)


def group_member(instance_id: str, group: str, verb: str) -> PermanentError:
    """The refusal for a member of an auto scaling group, which would be replaced at once (case C21)."""
    return PermanentError(
        f"{instance_id} belongs to the auto scaling group {group}, which would replace it; it was not {verb}. "
        f"Set the size of {group} instead, or detach {instance_id} from it",
        GROUP_MEMBER,
    )


def _snapshot(site: Site, lease_id: str, volume: Item, heartbeat: Heartbeat) -> Item:
    volume_id = volume["VolumeId"]
    kept = {key: value for key, value in tags.read(volume).items() if key.startswith("lessor:") or key == "Name"}
    kept |= {TAG_LEASE: lease_id, TAG_MANAGED_BY: MANAGED_BY, tags.TAG_VOLUME: volume_id}
    heartbeat(f"taking a snapshot of {volume_id}")
    with sorted_errors(f"taking a snapshot of {volume_id}"):
        made: Any = site.ec2.create_snapshot(
            VolumeId=volume_id,
            Description=f"{lease_id}: {volume_id} before it was deleted",
            TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags.pairs(kept)}],
        )
    return dict(made)
