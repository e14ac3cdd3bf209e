"""Things that happen to instances without lessor asking: interruptions, strangers, clocks, left-overs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from moto.ec2.models import ec2_backends

from lessor.sandbox.aws.cloud import SimulatedCloud
from lessor.sandbox.aws.ec2.lifecycle import InstanceRecord
from lessor.sandbox.aws.ec2.replacements import Blueprint, start_machines
from lessor.sandbox.aws.identity import HOME_ACCOUNT
from lessor.sandbox.aws.instance_types import zones_offering
from lessor.sandbox.aws.state import CloudState


class Events:
    """One-off events; each names the instance it happens to."""

    def __init__(self, cloud: SimulatedCloud) -> None:
        self._cloud = cloud

    @property
    def _state(self) -> CloudState:
        return self._cloud.state

    def advance(self, seconds: float) -> datetime:
        """Move the simulator's clock forward; what falls due happens."""
        with self._cloud.lock:
            now = self._state.clock.advance(seconds)
            self._state.settle()
            return now

    def freeze_clock(self) -> None:
        """Time passes only by `advance` from now on."""
        with self._cloud.lock:
            self._state.clock.freeze()

    def interrupt_spot(self, instance_id: str) -> None:
        """AWS takes the spot machine back: terminated, or stopped where the request says so."""
        with self._cloud.lock:
            record = self._record(instance_id)
            request = record.spot_request
            if request is None:
                raise ValueError(f"{instance_id} is not a spot instance; only those can be interrupted")
            now = self._state.clock.now()
            if request.instance_interruption_behavior == "stop":
                self._state.fleet.stop(record, "Server.SpotInstanceShutdown", "Spot instance shutdown")
                request.enter("disabled", "instance-stopped-no-capacity", "Stopped: there is no spot capacity.", now)
            else:
                self._state.fleet.terminate(record, "Server.SpotInstanceTermination", "Spot instance termination")
                request.enter(
                    "open" if request.type == "persistent" else "closed",
                    "instance-terminated-no-capacity",
                    "Terminated: there is no spot capacity.",
                    now,
                )

    def terminate(
        self, instance_id: str, code: str = "Client.UserInitiatedShutdown", message: str = "User initiated shutdown"
    ) -> None:
        """Somebody else ends the machine (`Client.InstanceInitiatedShutdown`, `Server.InternalError`, ...)."""
        with self._cloud.lock:
            self._state.fleet.terminate(self._record(instance_id), code, message)

    def stop(self, instance_id: str) -> None:
        """Somebody else stops the machine."""
        with self._cloud.lock:
            self._state.fleet.stop(self._record(instance_id))

    def protect(self, instance_id: str, on: bool = True) -> None:
        """Termination protection: OperationNotPermitted."""
        with self._cloud.lock:
            self._record(instance_id).instance.disable_api_termination = on

    def join_auto_scaling_group(self, instance_id: str, group: str) -> None:
        """The machine becomes a member of a group by its tag `aws:autoscaling:groupName`."""
        with self._cloud.lock:
            self._record(instance_id).instance.add_tags({"aws:autoscaling:groupName": group})

    def populate(
        self, count: int, instance_type: str = "t3.micro", region: str = "us-east-1", tags: dict[str, str] | None = None
    ) -> list[str]:
        """Machines that somebody else runs in the home account, without a call to the API; returns their ids."""
        with self._cloud.lock:
            backend: Any = ec2_backends[HOME_ACCOUNT][region]
            plan = Blueprint(next(iter(backend.amis)), instance_type, zones_offering(region, instance_type)[0])
            now = self._state.clock.now()
            records = start_machines(self._state.fleet, backend, plan=plan, count=count, tags=tags or {}, now=now)
            return [record.instance.id for record in records]

    def attach_volume(
        self, instance_id: str, size_gib: int = 100, tags: dict[str, str] | None = None, *, kind: str = "gp3"
    ) -> str:
        """A user attaches a volume that survives termination; returns its id."""
        with self._cloud.lock:
            instance, backend = self._machine(instance_id)
            volume = backend.create_volume(size=size_gib, zone_name=instance.availability_zone, volume_type=kind)
            volume.add_tags(tags or {})
            backend.attach_volume(
                volume.id, instance_id, f"/dev/sd{chr(ord('f') + len(instance.block_device_mapping))}", False
            )
            return str(volume.id)

    def attach_interface(self, instance_id: str, tags: dict[str, str] | None = None) -> str:
        """A user attaches a second interface that survives termination; returns its id."""
        with self._cloud.lock:
            instance, backend = self._machine(instance_id)
            interface = backend.create_network_interface(
                backend.get_subnet(instance.subnet_id), None, delete_on_termination=False
            )
            interface.add_tags(tags or {})
            instance.attach_eni(interface, len(instance.nics))
            return str(interface.id)

    def associate_address(self, instance_id: str, tags: dict[str, str] | None = None) -> str:
        """A user gives the machine an elastic address, which stays allocated afterwards; returns its allocation id."""
        with self._cloud.lock:
            instance, backend = self._machine(instance_id)
            address = backend.allocate_address(domain="vpc")
            address.add_tags(tags or {})
            backend.associate_address(instance=instance, allocation_id=address.allocation_id)
            return str(address.allocation_id)

    def _machine(self, instance_id: str) -> tuple[Any, Any]:
        record = self._record(instance_id)
        return record.instance, record.instance.ec2_backend

    def _record(self, instance_id: str) -> InstanceRecord:
        record = self._state.fleet.records.get(instance_id)
        if record is None:
            raise ValueError(f"there is no instance {instance_id!r} in the simulated AWS")
        return record
