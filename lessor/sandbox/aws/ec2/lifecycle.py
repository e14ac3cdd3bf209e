"""Instance states over time: pending takes a while, stopping takes a while, terminated things leave things behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lessor.sandbox.aws.capacity import CapacityBoard
from lessor.sandbox.aws.clock import SimulatedClock
from lessor.sandbox.aws.ec2.machines import SimulatedInstance, SpotRequest


@dataclass
class Delays:
    """Seconds between what is asked and what is seen; `terminated_visible` is how long the dead are still listed,
    `replacement` how long an auto scaling group or an open spot request waits before it starts another machine.
    """

    pending: float = 0.0
    stopping: float = 0.0
    shutting_down: float = 0.0
    terminated_visible: float = 3600.0
    replacement: float = 60.0


@dataclass(frozen=True)
class LaunchFailure:
    """A launch that is accepted and then ends in `terminated` with this state reason."""

    code: str
    message: str


@dataclass(frozen=True)
class _Transition:
    at: datetime
    state: str
    reason_code: str = ""
    reason: str = ""
    transition: str = ""


@dataclass
class InstanceRecord:
    """What EC2 knows about an instance and moto does not."""

    instance: SimulatedInstance
    account: str
    region: str
    market: str
    launched_at: datetime
    visible_at: datetime
    hidden_reads: int = 0
    spot_request: SpotRequest | None = None
    terminated_at: datetime | None = None
    next: _Transition | None = None

    @property
    def state(self) -> str:
        return str(self.instance.state)

    @property
    def group(self) -> str | None:
        """The auto scaling group it belongs to."""
        tags: dict[str, str] = self.instance.ec2_backend.tags.get(self.instance.id, {})
        return tags.get("aws:autoscaling:groupName")


class Fleet:
    """All instances of all simulated accounts and their next transitions."""

    def __init__(self, clock: SimulatedClock, capacity: CapacityBoard) -> None:
        self._clock = clock
        self._capacity = capacity
        self.delays = Delays()
        self.records: dict[str, InstanceRecord] = {}
        self.on_left: Callable[[InstanceRecord, datetime], None] = lambda record, at: None

    def __iter__(self) -> Iterator[InstanceRecord]:
        return iter(self.records.values())

    def admit(self, record: InstanceRecord, failure: LaunchFailure | None) -> None:
        """Take up a new instance: pending first, then running, or terminated when `failure` says so."""
        self.records[record.instance.id] = record
        record.instance.launch_time = record.launched_at
        record.instance.enter("pending")
        if failure:
            self._schedule(record, "terminated", self.delays.pending, failure.code, failure.message)
        else:
            self._schedule(record, "running", self.delays.pending)

    def start(self, record: InstanceRecord) -> None:
        record.instance.enter("pending")
        record.instance.launch_time = self._clock.now()
        self._schedule(record, "running", self.delays.pending)

    def stop(
        self, record: InstanceRecord, code: str = "Client.UserInitiatedShutdown", what: str = "User initiated shutdown"
    ) -> None:
        reason, transition = f"{code}: {what}", self._transition_text(code)
        record.instance.enter("stopping", reason_code=code, reason=reason, transition=transition)
        self._schedule(record, "stopped", self.delays.stopping, code, reason, transition)

    def terminate(
        self, record: InstanceRecord, code: str = "Client.UserInitiatedShutdown", what: str = "User initiated shutdown"
    ) -> None:
        """Begin the end of the instance; a dead or dying one stays as it is."""
        if record.state in ("terminated", "shutting-down"):
            return
        reason, transition = f"{code}: {what}", self._transition_text(code)
        record.instance.enter("shutting-down", reason_code=code, reason=reason, transition=transition)
        self._schedule(record, "terminated", self.delays.shutting_down, code, reason, transition)

    def settle(self) -> None:
        """Let everything happen that is due by now."""
        now = self._clock.now()
        for record in list(self.records.values()):
            while record.next and record.next.at <= now:
                self._arrive(record, record.next)
            if record.terminated_at and now - record.terminated_at >= timedelta(seconds=self.delays.terminated_visible):
                self._forget(record)

    def _schedule(
        self, record: InstanceRecord, state: str, seconds: float, code: str = "", reason: str = "", transition: str = ""
    ) -> None:
        at = self._clock.now() + timedelta(seconds=seconds)
        record.next = _Transition(at, state, code, reason, transition)

    def _arrive(self, record: InstanceRecord, transition: _Transition) -> None:
        record.next = None
        if transition.state == "terminated":
            dismantle(record.instance)
            record.terminated_at = transition.at
        elif transition.state == "stopped":
            for interface in record.instance.nics.values():
                interface.stop()
        elif transition.state == "running":
            for interface in record.instance.nics.values():
                interface.start()
        record.instance.enter(
            transition.state,
            reason_code=transition.reason_code,
            reason=transition.reason,
            transition=transition.transition,
        )
        if transition.state in ("terminated", "stopped"):
            self.on_left(record, transition.at)

    def _forget(self, record: InstanceRecord) -> None:
        backend, instance = record.instance.ec2_backend, record.instance
        for reservation_id, reservation in list(backend.reservations.items()):
            if instance in reservation.instances:
                reservation.instances = [other for other in reservation.instances if other is not instance]
                if not reservation.instances:
                    del backend.reservations[reservation_id]
        backend.tags.pop(instance.id, None)
        del self.records[instance.id]

    def _transition_text(self, code: str) -> str:
        who = "User initiated" if code.startswith("Client.") else "Service initiated"
        return f"{who} ({self._clock.now():%Y-%m-%d %H:%M:%S} GMT)"


def dismantle(instance: Any) -> None:
    """What termination takes and leaves: disks and interfaces by their own flag, addresses are only let go."""
    backend = instance.ec2_backend
    interfaces = list(instance.nics.values())
    volumes = [device.volume_id for device in instance.block_device_mapping.values()]
    for address in backend.addresses:
        if address.instance is instance or address.eni in interfaces:
            address.instance = address.eni = address.association_id = None
    for interface in interfaces:
        interface.stop()
        if interface.delete_on_termination:
            interface.delete()
            backend.tags.pop(interface.id, None)
        else:
            instance.detach_eni(interface)
    instance.nics = {}
    instance.teardown_defaults()
    for volume in volumes:
        if volume not in backend.volumes:
            backend.tags.pop(volume, None)
    association = backend.iam_instance_profile_associations.get(instance.id)
    if association:
        backend.disassociate_iam_instance_profile(association_id=association.association_id)
