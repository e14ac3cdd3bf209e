"""Machines that AWS starts by itself: what an open persistent spot request or an auto scaling group calls back.

Whoever ends such a machine alone finds another one in its place, without the tags of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lessor.sandbox.aws.clock import SimulatedClock
from lessor.sandbox.aws.ec2.lifecycle import Fleet, InstanceRecord

GROUP_TAG = "aws:autoscaling:groupName"


@dataclass(frozen=True)
class Blueprint:
    """What a machine is made from."""

    image_id: str
    instance_type: str
    zone: str
    market: str = "on-demand"

    @classmethod
    def of(cls, record: InstanceRecord) -> Blueprint:
        made = record.instance
        return cls(made.image_id, made.instance_type, str(made.availability_zone), record.market)


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
        old, request = vacancy.left, vacancy.left.spot_request
        tags = {GROUP_TAG: vacancy.group} if vacancy.group else {}
        (record,) = start_machines(
            self._fleet, old.instance.ec2_backend, plan=Blueprint.of(old), count=1, tags=tags, now=self._clock.now()
        )
        if request and request.state == "open":
            request.serve(record.instance, self._clock.now())
            record.spot_request = request


def start_machines(
    fleet: Fleet, backend: Any, *, plan: Blueprint, count: int, tags: dict[str, str], now: datetime
) -> list[InstanceRecord]:
    """Start machines without a call to the API: no token, no limits, a public address as default subnets give it."""
    reservation = backend.run_instances(
        plan.image_id,
        count,
        None,
        [],
        instance_type=plan.instance_type,
        is_instance_type_default=False,
        placement=plan.zone,
        region_name=backend.region_name,
        tags={"instance": tags},
    )
    records = []
    for instance in reservation.instances:
        instance.client_token = ""
        for interface in instance.nics.values():
            interface.delete_on_termination = True
        record = InstanceRecord(instance, backend.account_id, backend.region_name, plan.market, now, visible_at=now)
        fleet.admit(record, None)
        records.append(record)
    return records
