"""RunInstances: the order of EC2's refusals, idempotency, partial fulfilment, and what a launch creates."""

from __future__ import annotations

import base64
import binascii
from copy import deepcopy
from datetime import timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.utils import random_spot_request_id

from lessor.sandbox.aws import instance_types
from lessor.sandbox.aws.ec2.base import Ec2Actions
from lessor.sandbox.aws.ec2.lifecycle import InstanceRecord
from lessor.sandbox.aws.ec2.machines import ALIVE, SpotRequest
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.images import publish_images
from lessor.sandbox.aws.quotas import Market, quota_code

_TAGGABLE = ("instance", "volume", "network-interface", "spot-instances-request", "elastic-gpu")
_USER_DATA_BYTES = 16384


class LaunchActions(Ec2Actions):
    """The launch, on top of moto's."""

    def run_instances(self) -> ActionResult:
        self._check_launch()
        self.error_on_dryrun()
        zone = self._named_zone()
        token, scope = self._get_param("ClientToken"), (self.current_account, self.region, "RunInstances", zone or "")
        asked = deepcopy(dict(self.params))
        if token:
            earlier = self.state.tokens.recall(token, scope, asked)
            if earlier is not None:
                return ActionResult(self._still_alive(earlier))
        zone, count = self._place(zone)
        reservation = self._launch(zone, count)
        if token:
            self.state.tokens.remember(token, scope, reservation)
        return ActionResult(reservation)

    def _check_launch(self) -> None:
        least, most = int(self._get_param("MinCount") or 0), int(self._get_param("MaxCount") or 0)
        if least < 1 or most < least:
            raise AwsError(
                "InvalidParameterValue",
                f"Value ({least}) for parameter minCount is invalid. Expected 1 to maxCount ({most}).",
            )
        instance_type = self._get_param("InstanceType", "m1.small")
        if not instance_types.is_known(instance_type):
            raise AwsError("InvalidParameterValue", f"Invalid value '{instance_type}' for InstanceType.")
        self._check_image()
        self._check_user_data()
        for resource_type, tags in self.tag_specifications().items():
            if resource_type not in _TAGGABLE:
                raise AwsError(
                    "InvalidParameterValue",
                    f"'{resource_type}' is not a valid taggable resource type for this operation.",
                )
            self.check_tags(tags)
        if "spot-instances-request" in self.tag_specifications() and self.market() != "spot":
            raise AwsError(
                "InvalidParameterCombination",
                "You cannot specify tags for Spot instances requests if there are no Spot instances requests being created by the request.",
            )

    def _check_image(self) -> None:
        image = self._get_param("ImageId") or ""
        if not image.startswith("ami-"):
            raise AwsError("InvalidAMIID.Malformed", f'Invalid id: "{image}" (expecting "ami-...")')
        publish_images(self.ec2_backend)
        if image not in self.ec2_backend.amis:
            raise AwsError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")

    def _check_user_data(self) -> None:
        text = self._get_param("UserData") or ""
        try:
            size = len(base64.b64decode(text, validate=True)) if isinstance(text, str) else len(text)
        except (ValueError, binascii.Error) as error:
            raise AwsError("InvalidParameterValue", "Invalid BASE64 encoding of user data.") from error
        if size > _USER_DATA_BYTES:
            raise AwsError("InvalidParameterValue", f"User data is limited to {_USER_DATA_BYTES} bytes")

    def market(self) -> Market:
        market = self._get_param("InstanceMarketOptions.MarketType")
        return market if market in ("spot", "capacity-block") else "on-demand"

    def _named_zone(self) -> str | None:
        """The zone that the request names, directly or by its subnet."""
        interfaces = self._get_param("NetworkInterfaces", [])
        subnet = self._get_param("SubnetId") or next((i["SubnetId"] for i in interfaces if i.get("SubnetId")), None)
        zone = (
            self.ec2_backend.get_subnet(subnet).availability_zone
            if subnet
            else self._get_param("Placement.AvailabilityZone")
        )
        if zone and zone not in instance_types.zones_of(self.region):
            raise AwsError("InvalidParameterValue", f"Invalid availability zone: [{zone}]")
        return str(zone) if zone else None

    def _still_alive(self, reservation: Any) -> Any:
        if all(instance.state == "terminated" for instance in reservation.instances):
            raise AwsError(
                "IdempotentInstanceTerminated",
                "The client token you have provided is associated with a terminated instance. Please use a different client token.",
            )
        return reservation

    def _place(self, zone: str | None) -> tuple[str, int]:
        """The zone to launch in and how many machines: the largest number between minimum and maximum."""
        instance_type, market = self._get_param("InstanceType", "m1.small"), self.market()
        zones = self._offering_zones(instance_type, zone)
        self._check_spot(instance_type, zones)
        least = int(self._get_param("MinCount"))
        most = min(int(self._get_param("MaxCount")), self._within_quota(instance_type, market, least))
        for candidate in zones:
            free = self.state.capacity.free(instance_type, candidate, market)
            if free is None or free >= least:
                return candidate, most if free is None else min(most, free)
        raise no_capacity(instance_type, market, zone, self._zones_with_room(instance_type, market, least))

    def _offering_zones(self, instance_type: str, zone: str | None) -> list[str]:
        offered = [
            z
            for z in instance_types.zones_offering(self.region, instance_type)
            if self.state.capacity.is_offered(instance_type, z)
        ]
        if not offered:
            raise AwsError(
                "Unsupported",
                "The requested configuration is currently not supported. Please check the documentation for supported configurations.",
            )
        if zone and zone not in offered:
            raise AwsError(
                "Unsupported",
                f"Your requested instance type ({instance_type}) is not supported in your requested Availability Zone ({zone}). "
                f"Please retry your request by not specifying an Availability Zone or choosing {', '.join(offered)}.",
            )
        return [zone] if zone else offered

    def _zones_with_room(self, instance_type: str, market: Market, least: int) -> list[str]:
        zones = instance_types.zones_offering(self.region, instance_type)
        free = {zone: self.state.capacity.free(instance_type, zone, market) for zone in zones}
        return [zone for zone, number in free.items() if number is None or number >= least]

    def _check_spot(self, instance_type: str, zones: list[str]) -> None:
        if self.market() != "spot":
            return
        offer = self._get_param("InstanceMarketOptions.SpotOptions.MaxPrice")
        lowest = min(self.state.prices.spot(instance_type, zone) for zone in zones)
        if offer is not None and float(offer) < float(lowest):
            raise AwsError(
                "SpotMaxPriceTooLow",
                f"Your Spot request price of {offer} is lower than the minimum required Spot request fulfillment price of {lowest}.",
            )
        limit = self.state.spot_count_limit
        running = sum(1 for r in self._own_fleet() if r.market == "spot" and r.state in ALIVE)
        if limit is not None and running + int(self._get_param("MinCount")) > limit:
            raise AwsError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")

    def _within_quota(self, instance_type: str, market: Market, least: int) -> int:
        """How many machines of this type the vCPU quota still allows, or the refusal when fewer than `least`."""
        code = quota_code(instance_type, market)
        if not code:
            return int(self._get_param("MaxCount"))
        limit = int(self.state.quotas.value(code, self.current_account, self.region))
        left = max(0, limit - self.vcpus_in_use(code)) // instance_types.vcpus(instance_type)
        if left >= least:
            return left
        if market == "spot":
            raise AwsError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        raise vcpu_limit_exceeded(limit)

    def vcpus_in_use(self, code: str) -> int:
        return sum(
            instance_types.vcpus(r.instance.instance_type)
            for r in self._own_fleet()
            if r.state in ("pending", "running") and quota_code(r.instance.instance_type, _as_market(r.market)) == code
        )

    def _launch(self, zone: str, count: int) -> Any:
        self.params["MinCount"] = count
        if not self._get_param("SubnetId") and not any(
            i.get("SubnetId") for i in self._get_param("NetworkInterfaces", [])
        ):
            self.params["Placement"] = {**(self._get_param("Placement") or {}), "AvailabilityZone": zone}
        self._complete_disks()
        reservation: Any = super().run_instances().result
        for instance in reservation.instances:
            self._complete(instance)
        self.state.capacity.take(count, reservation.instances[0].instance_type, zone, self.market())
        self._spread_instance_profile(reservation.instances)
        return reservation

    def _complete_disks(self) -> None:
        """EC2 adds the image's root disk when the request does not mention it, and deletes it on termination."""
        root = self.ec2_backend.amis[self._get_param("ImageId")].root_device_name or "/dev/sda1"
        mappings = list(self._get_param("BlockDeviceMappings", []))
        named = next((m for m in mappings if m.get("DeviceName") == root), None)
        if named is None:
            mappings.insert(
                0, {"DeviceName": root, "Ebs": {"VolumeSize": 8, "VolumeType": "gp3", "DeleteOnTermination": True}}
            )
        elif "Ebs" in named:
            named["Ebs"].setdefault("DeleteOnTermination", True)
            named["Ebs"].setdefault("VolumeSize", 8)
        self.params["BlockDeviceMappings"] = mappings

    def _complete(self, instance: Any) -> None:
        now, hiding = self.state.clock.now(), self.state.hiding
        tags = self.tag_specifications()
        instance.client_token = self._get_param("ClientToken") or ""
        instance.disable_api_termination = bool(self._get_param("DisableApiTermination"))
        specified = {int(i.get("DeviceIndex", 0)): i for i in self._get_param("NetworkInterfaces", [])}
        for index, interface in instance.nics.items():
            given = specified.get(index, {})
            if not given.get("NetworkInterfaceId"):
                interface.delete_on_termination = given.get("DeleteOnTermination") is not False
                interface.add_tags(tags.get("network-interface", {}))
        if not instance.security_groups:
            instance.security_groups = [self.ec2_backend.get_security_group_from_id(g) for g in _groups_of(instance)]
        record = InstanceRecord(
            instance,
            self.current_account,
            self.region,
            self.market(),
            launched_at=now,
            visible_at=now + timedelta(seconds=hiding.seconds),
            hidden_reads=hiding.reads,
        )
        if record.market == "spot":
            record.spot_request = self._spot_request(instance, tags.get("spot-instances-request", {}))
        self.state.fleet.admit(record, self.state.launch_failure(instance.instance_type))

    def _spot_request(self, instance: Any, tags: dict[str, str]) -> SpotRequest:
        options = self._get_param("InstanceMarketOptions.SpotOptions") or {}
        request = SpotRequest(
            self.ec2_backend,
            random_spot_request_id(),
            instance,
            kind=options.get("SpotInstanceType", "one-time"),
            price=options.get("MaxPrice") or str(self.state.prices.on_demand(instance.instance_type, self.region)),
            behavior=options.get("InstanceInterruptionBehavior", "terminate"),
            now=self.state.clock.now(),
        )
        self.ec2_backend.spot_instance_requests[request.id] = request
        request.add_tags(tags)
        instance.spot_instance_request_id = request.id
        instance.instance_lifecycle = "spot"
        return request

    def _spread_instance_profile(self, instances: list[Any]) -> None:
        """moto gives the profile to the first instance of a reservation only."""
        profile = self._get_param("IamInstanceProfile") or {}
        for instance in instances[1:] if profile else []:
            self.ec2_backend.associate_iam_instance_profile(
                instance_id=instance.id,
                iam_instance_profile_name=profile.get("Name"),
                iam_instance_profile_arn=profile.get("Arn"),
            )


def no_capacity(instance_type: str, market: str, zone: str | None, others: list[str]) -> AwsError:
    """InsufficientInstanceCapacity in the words that EC2 uses for this market and place."""
    if market == "spot":
        return AwsError(
            "InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.", 500
        )
    if not zone:
        return AwsError(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {instance_type} capacity in zones with support for the requested configuration. "
            "Our system will be working on provisioning additional capacity.",
            500,
        )
    advice = f" or choosing {', '.join(others)}" if others else ""
    return AwsError(
        "InsufficientInstanceCapacity",
        f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested ({zone}). "
        "Our system will be working on provisioning additional capacity. "
        f"You can currently get {instance_type} capacity by not specifying an Availability Zone in your request{advice}.",
        500,
    )


def vcpu_limit_exceeded(limit: int) -> AwsError:
    return AwsError(
        "VcpuLimitExceeded",
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket that "
        "the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an "
        "adjustment to this limit.",
    )


def _groups_of(instance: Any) -> list[str]:
    return [group.id for interface in instance.nics.values() for group in interface.group_set]


def _as_market(text: str) -> Market:
    return text if text in ("spot", "capacity-block") else "on-demand"  # type: ignore[return-value]
