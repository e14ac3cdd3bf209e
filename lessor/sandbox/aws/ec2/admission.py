"""Whether and where a launch may be: EC2's refusals in EC2's order."""

from __future__ import annotations

import base64
import binascii

from moto.ssm.models import ssm_backends

from lessor.sandbox.aws import instance_types
from lessor.sandbox.aws.ec2.base import Ec2Actions
from lessor.sandbox.aws.ec2.machines import ALIVE
from lessor.sandbox.aws.ec2.refusals import no_capacity, not_offered, vcpu_limit_exceeded
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.images import image_id
from lessor.sandbox.aws.quotas import Market, quota_code

_TAGGABLE = ("instance", "volume", "network-interface", "spot-instances-request", "elastic-gpu")
_USER_DATA_BYTES = 16384


class LaunchAdmission(Ec2Actions):
    """What a launch must pass before anything is created."""

    def check_launch(self) -> None:
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
                "You cannot specify tags for Spot instances requests if there are no Spot instances requests being "
                "created by the request.",
            )

    def _check_image(self) -> None:
        image = self._resolved(self._get_param("ImageId") or "")
        if not image.startswith("ami-"):
            raise AwsError("InvalidAMIID.Malformed", f'Invalid id: "{image}" (expecting "ami-...")')
        if image not in self.ec2_backend.amis:
            raise AwsError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")

    def _resolved(self, image: str) -> str:
        """EC2 resolves `resolve:ssm:PARAMETER` itself."""
        if not image.startswith("resolve:ssm:"):
            return image
        name = image.removeprefix("resolve:ssm:")
        found = image_id(name, self.region)
        if found is None:
            parameter = ssm_backends[self.current_account][self.region].get_parameter(name)
            if parameter is None:
                raise AwsError("InvalidParameterValue", f"The SSM parameter '{name}' was not found.")
            found = str(parameter.value)
        self.params["ImageId"] = found
        return found

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

    def named_zone(self) -> str | None:
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

    def place(self, zone: str | None) -> tuple[str, int]:
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
        if not offered or (zone and zone not in offered):
            raise not_offered(instance_type, zone, offered)
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
                f"Your Spot request price of {offer} is lower than the minimum required Spot request fulfillment price "
                f"of {lowest}.",
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


def _as_market(text: str) -> Market:
    return text if text in ("spot", "capacity-block") else "on-demand"  # type: ignore[return-value]
