"""Machines that AWS starts by itself: what an open persistent spot request or an auto scaling group calls back.

Whoever ends such a machine alone finds another one in its place, without the tags of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.sandbox.aws.clock import SimulatedClock
from lessor.sandbox.aws.ec2.lifecycle import Fleet, InstanceRecord

GROUP_TAG = "aws:autoscaling:groupName"


@dataclass(frozen=True)
class _Vacancy:
    at: datetime
    left: InstanceRecord
    group: str | None


class Replacements:
    """Watches machines leave and starts their successors."""

    def __init__(self, fleet: Fleet, clock: SimulatedClock) -> None:
        self._fleet, self._clock = fleet, clock
        self._vacancies: list[_Vacancy] = []
        fleet.on_left = self.note

    def note(self, record: InstanceRecord, left_at: datetime) -> None:
        """A machine has stopped or died. A group ends its stopped member and wants another; so does an open request."""
        group, request = record.group, record.spot_request
        if group and record.state == "stopped":
            self._fleet.terminate(record, "Client.UserInitiatedShutdown", "Auto Scaling replaced an unhealthy instance")
        elif group or (request and request.state == "open"):
            due = left_at + timedelta(seconds=self._fleet.delays.replacement)
            self._vacancies.append(_Vacancy(due, record, group))

    def settle(self) -> None:
        """Start what is due by now."""
        due = [vacancy for vacancy in self._vacancies if vacancy.at <= self._clock.now()]
        self._vacancies = [vacancy for vacancy in self._vacancies if vacancy not in due]
        for vacancy in due:
            request = vacancy.left.spot_request
            if vacancy.group or (request and request.state == "open"):
                self._start_successor(vacancy)

    def _start_successor(self, vacancy: _Vacancy) -> None:
        old, backend, now = vacancy.left, vacancy.left.instance.ec2_backend, self._clock.now()
        reservation = backend.run_instances(
            old.instance.image_id,
            1,
            None,
            [],
            instance_type=old.instance.instance_type,
            is_instance_type_default=False,
            placement=old.instance.availability_zone,
            region_name=old.region,
        )
        instance = reservation.instances[0]
        instance.client_token = ""
        for interface in instance.nics.values():
            interface.delete_on_termination = True
        if vacancy.group:
            instance.add_tags({GROUP_TAG: vacancy.group})
        record = InstanceRecord(instance, old.account, old.region, old.market, launched_at=now, visible_at=now)
        request = old.spot_request
        if request and request.state == "open":
            record.spot_request, request.instance, request.instance_id = request, instance, instance.id
            instance.spot_instance_request_id, instance.instance_lifecycle = request.id, "spot"
            request.enter("active", "fulfilled", "Your spot request is fulfilled.", now)
        self._fleet.admit(record, None)
