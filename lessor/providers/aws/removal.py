"""Taking a lease's resources down: only what is proven ours, each on its own, and everything that follows a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, PermanentError, ProviderError, RetryableError
from lessor.providers.aws import inventory
from lessor.providers.aws.errors import MISSING, sorted_errors
from lessor.providers.aws.inventory import Inventory
from lessor.providers.aws.lifecycle import ENDED, group_member
from lessor.providers.aws.ownership import Proof, group_of
from lessor.providers.aws.site import Site
from lessor.providers.aws.waiting import Waits, not_shown_yet

Item = dict[str, Any]
PROTECTED = "OperationNotPermitted"


class Removal:
    """Deletes. One thing that cannot be deleted never keeps the others (law 11); all problems come at the end."""

    def __init__(self, waits: Waits, clock: Callable[[], datetime]) -> None:
        self._waits, self._clock = waits, clock

    def delete(self, sites: Sequence[Site], lease_id: str, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        """End machines, then what they leave. Raises when something is left: `RetryableError` if it may go later.

        What is known and was launched lately must be seen before it is believed to be gone (case C08).
        """
        problems: list[ProviderError] = []
        shown: list[Resource] = []
        for site in sites:
            found = inventory.of_lease(site, lease_id)
            shown += found.resources()
            problems += self._delete_at(site, found, Proof.of(lease_id, known, found.machines), heartbeat)
        problems += [_not_shown(resource) for resource in not_shown_yet(known, shown, self._clock())]
        lasting = [problem for problem in problems if not isinstance(problem, RetryableError)]
        if lasting:
            raise PermanentError(
                "; ".join(map(str, [*lasting, *(p for p in problems if p not in lasting)])), lasting[0].code
            )
        if problems:
            raise RetryableError("; ".join(map(str, problems)), problems[0].code)

    def _delete_at(self, site: Site, found: Inventory, proof: Proof, heartbeat: Heartbeat) -> list[ProviderError]:
        step = _Step(site, heartbeat)
        for request in found.spot_requests:
            if request.get("State") in ("open", "active", "disabled") and proof.covers_spot(request):
                step.cancel_spot_request(request)
        ending = [machine for machine in found.machines if step.end_machine(machine, proof)]
        ids = [machine["InstanceId"] for machine in ending]
        if ids:
            born = {machine["InstanceId"]: machine["LaunchTime"] for machine in ending}
            self._waits.until(site, ids, ("terminated",), heartbeat, born)
        # Volumes and interfaces are read again: most have gone with their machine.
        left = inventory.of_lease(site, proof.lease_id) if found.machines else found
        attachments = _attachments(found)
        for volume in left.volumes:
            step.delete_volume(volume, proof, attachments.get(volume["VolumeId"], []))
        for interface in left.interfaces:
            step.delete_interface(interface, proof, attachments.get(interface["NetworkInterfaceId"], []))
        for address in left.addresses:
            step.release_address(address, proof)
        return step.problems


def _not_shown(resource: Resource) -> RetryableError:
    return RetryableError(
        f"{resource.id or 'a launch'} of {resource.created_at:%Y-%m-%d %H:%M:%S} UTC is not shown by EC2 yet; "
        "it is looked for again before it is believed to be gone",
        "not-shown-yet",
    )


class _Step:
    """Single deletions at a site, with the problems that they had."""

    def __init__(self, site: Site, heartbeat: Heartbeat) -> None:
        self._site, self._heartbeat = site, heartbeat
        self.problems: list[ProviderError] = []

    def end_machine(self, machine: Item, proof: Proof) -> bool:
        """Whether the machine is ending now."""
        instance_id, state = machine["InstanceId"], machine["State"]["Name"]
        if state in ENDED:
            return bool(state == "shutting-down")
        if not proof.covers_machine(machine):
            return self._not_ours(instance_id, proof)
        if group := group_of(machine):
            self.problems.append(group_member(instance_id, group, "terminated"))
            return False
        return self._do(f"ending {instance_id}", lambda: self._site.ec2.terminate_instances(InstanceIds=[instance_id]))

    def cancel_spot_request(self, request: Item) -> None:
        request_id = request["SpotInstanceRequestId"]
        self._do(
            f"cancelling {request_id}",
            lambda: self._site.ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=[request_id]),
        )

    def delete_volume(self, volume: Item, proof: Proof, attachments: list[Item]) -> None:
        volume_id, users = volume["VolumeId"], [a["InstanceId"] for a in volume.get("Attachments", [])]
        if volume.get("State") == "deleting":
            return
        if not proof.covers(volume, volume_id, attachments):
            self._not_ours(volume_id, proof, f"{volume.get('Size', '?')} GiB")
        elif users:
            self._in_use(volume_id, users)
        else:
            self._do(f"deleting {volume_id}", lambda: self._site.ec2.delete_volume(VolumeId=volume_id))

    def delete_interface(self, interface: Item, proof: Proof, attachments: list[Item]) -> None:
        interface_id, user = interface["NetworkInterfaceId"], interface.get("Attachment", {}).get("InstanceId")
        if not proof.covers(interface, interface_id, attachments):
            self._not_ours(interface_id, proof)
        elif user:
            self._in_use(interface_id, [user])
        else:
            self._do(
                f"deleting {interface_id}",
                lambda: self._site.ec2.delete_network_interface(NetworkInterfaceId=interface_id),
            )

    def release_address(self, address: Item, proof: Proof) -> None:
        """Let go and release; an address that serves a machine still is reported instead."""
        allocation, user = address["AllocationId"], address.get("InstanceId")
        if not proof.covers(address, allocation):
            self._not_ours(allocation, proof)
        elif user:
            self._in_use(allocation, [user])
        else:
            if association := address.get("AssociationId"):
                self._do(
                    f"taking {allocation} off its interface",
                    lambda: self._site.ec2.disassociate_address(AssociationId=association),
                )
            self._do(f"releasing {allocation}", lambda: self._site.ec2.release_address(AllocationId=allocation))

    def _do(self, what: str, call: Callable[[], Any]) -> bool:
        """Do it; what is absent already counts as done, any other refusal is kept as a problem."""
        self._heartbeat(what)
        try:
            with sorted_errors(what):
                call()
        except ProviderError as error:
            if error.code not in MISSING:
                self.problems.append(_protected(what, error) if error.code == PROTECTED else error)
            return error.code in MISSING
        return True

    def _not_ours(self, what: str, proof: Proof, detail: str = "") -> bool:
        size = f" ({detail})" if detail else ""
        self.problems.append(
            PermanentError(
                f"{what}{size} carries the tag of {proof.lease_id} but nothing shows that lessor made it; it was kept. "
                "Delete it or take the tag lessor:lease off it",
                "not-ours",
            )
        )
        return False

    def _in_use(self, what: str, users: list[str]) -> None:
        self.problems.append(
            PermanentError(
                f"{what} is in use by {', '.join(users)} and was kept; detach it first, then it is deleted", "in-use"
            )
        )


def _protected(what: str, error: ProviderError) -> PermanentError:
    return PermanentError(
        f"{what} was refused because termination protection is on; nothing was forced. Somebody who may has to "
        "switch the protection off, then it goes on by itself",
        error.code,
    )


def _attachments(found: Inventory) -> Mapping[str, list[Item]]:
    """What each volume and interface was attached to before the machines ended."""
    volumes = {item["VolumeId"]: list(item.get("Attachments", [])) for item in found.volumes}
    interfaces = {
        item["NetworkInterfaceId"]: [item["Attachment"]] for item in found.interfaces if item.get("Attachment")
    }
    return {**volumes, **interfaces}
