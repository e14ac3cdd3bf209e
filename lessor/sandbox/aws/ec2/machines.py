"""moto's instance and spot request, made to keep and show what EC2 keeps and shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import moto.ec2.models.instances as moto_instances
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.models.instances import Instance, InstanceState, StateReason

STATE_CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
ALIVE = ("pending", "running", "stopping", "stopped", "shutting-down")


class SimulatedInstance(Instance):
    """An instance that gives up interfaces, disks and addresses when terminated, and knows its spot request."""

    spot_instance_request_id: str | None = None
    instance_lifecycle: str | None = None

    @property
    def instance_id(self) -> str:
        return str(self.id)

    @property
    def private_ip(self) -> str | None:
        return self.nics[0].private_ip_address if 0 in self.nics else None

    @property
    def private_ip_address(self) -> str | None:
        return self.private_ip

    @property
    def private_dns_name(self) -> str:
        return str(super().private_dns_name) if self.private_ip else ""

    @property
    def public_ip(self) -> str | None:
        return self.nics[0].public_ip if 0 in self.nics else None

    @property
    def public_ip_address(self) -> str | None:
        return self.public_ip

    @property
    def vpc_id(self) -> str | None:
        return None if self.state == "terminated" else super().vpc_id

    @property
    def subnet_id(self) -> str | None:
        return None if self.state == "terminated" else super().subnet_id

    def enter(self, state: str, *, reason_code: str = "", reason: str = "", transition: str = "") -> None:
        """Show `state` from now on, with the reason as EC2 gives it."""
        self._state = InstanceState(state, STATE_CODES[state])
        # EC2 leaves the reason out where there is none; moto's annotation does not know that.
        reasons: Any = StateReason(reason, reason_code) if reason_code else None
        self.state_reason = reasons
        self._reason = transition


class SpotRequest(TaggedEC2Resource):
    """A spot request as DescribeSpotInstanceRequests shows it; RunInstances makes one for each spot instance."""

    product_description = "Linux/UNIX"

    def __init__(
        self,
        backend: Any,
        request_id: str,
        instance: SimulatedInstance,
        *,
        kind: str,
        price: str,
        behavior: str,
        now: datetime,
    ) -> None:
        self.ec2_backend = backend
        self.id = request_id
        self.spot_instance_request_id = request_id
        self.type = kind
        self.spot_price = price
        self.instance_interruption_behavior = behavior
        self.launched_availability_zone = instance.availability_zone
        self.create_time = now
        self.launch_specification = {"ImageId": instance.image_id, "InstanceType": instance.instance_type}
        self.state = ""
        self.status: dict[str, Any] = {}
        self.serve(instance, now)

    def serve(self, instance: SimulatedInstance, now: datetime) -> None:
        """The request has this machine from now on."""
        self.instance, self.instance_id = instance, instance.id
        instance.spot_instance_request_id, instance.instance_lifecycle = self.id, "spot"
        self.enter("active", "fulfilled", "Your spot request is fulfilled.", now)

    def enter(self, state: str, status: str, message: str, now: datetime) -> None:
        self.state = state
        self.status = {"Code": status, "Message": message, "UpdateTime": now}


def install() -> None:
    """Make moto launch our instances, and read tags of one resource without scanning all tags of the account."""
    patched: Any = moto_instances
    patched.Instance = SimulatedInstance
    tagged: Any = TaggedEC2Resource
    tagged.get_tags = _tags_of


def _tags_of(resource: Any) -> list[dict[str, str]]:
    if not resource.id:
        return []
    tags = resource.ec2_backend.tags.get(resource.id, {})
    return [{"resource_id": resource.id, "key": key, "value": value} for key, value in tags.items()]
