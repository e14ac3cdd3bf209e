"""What the organisation has set for one place on EC2: account, regions, network, image, and what may be launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from lessor.domain.money import Money
from lessor.domain.request import Market, Place
from lessor.ports import PermanentError

AMI_PARAMETER = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"


@dataclass(frozen=True)
class OwnPrice:
    """What the organisation has agreed for one machine of a type an hour, from the start of `since` in UTC."""

    on_demand: Money | None = None
    spot: Money | None = None
    since: date = date.min

    def holds(self, at: datetime) -> bool:
        return at.astimezone(UTC).date() >= self.since


@dataclass(frozen=True)
class OwnDiskPrice:
    """What the organisation has agreed for a GiB of disk and calendar month, from the start of `since` in UTC."""

    gib_month: Money
    since: date = date.min

    def holds(self, at: datetime) -> bool:
        return at.astimezone(UTC).date() >= self.since


@dataclass(frozen=True)
class Ec2Place:
    """One place on EC2, as `lessor.yaml` describes it.

    `role_arn` and `external_id` are for accounts other than the one that the process has credentials for;
    `external_id_env` names the variable that the latter was to be read from, if any. Empty
    `zones` and `instance_types` mean all that AWS offers. `subnets` is by zone; a zone without one uses the default
    subnet of the default network. `security_group` is an id or a name; without it, one without inbound rules is kept.
    `ami_parameter` is the name of an SSM parameter; machines with ARM processors are offered only with
    `ami_parameter_arm`. `prices` by instance type win over AWS's list, and `disks` over the catalogue's price of disks.
    """

    name: str
    regions: tuple[str, ...]
    account: str = ""
    role_arn: str = ""
    external_id: str = field(default="", repr=False)
    external_id_env: str = ""
    zones: tuple[str, ...] = ()
    markets: tuple[Market, ...] = (Market.ON_DEMAND, Market.SPOT)
    instance_types: tuple[str, ...] = ()
    subnets: Mapping[str, str] = field(default_factory=dict)
    security_group: str = ""
    instance_profile: str = "lessor-instance"
    ami_parameter: str = AMI_PARAMETER
    ami_parameter_arm: str = ""
    kms_key: str = ""
    user_data_template: str = "user-data.sh.j2"
    prices: Mapping[str, OwnPrice] = field(default_factory=dict)
    disks: OwnDiskPrice | None = None

    def region_of(self, place: Place) -> str:
        """The region to launch in: the one asked for, that of the zone asked for, or the first of the place."""
        wanted = place.region or self._region_of_zone(place.zone) or self.regions[0]
        if wanted not in self.regions:
            raise PermanentError(
                f"{wanted} is not a region of {self.name}; nothing was created, "
                f"choose one of: {', '.join(self.regions)}",
                "unknown-region",
            )
        return wanted

    def regions_of(self, place: Place) -> tuple[str, ...]:
        """The regions in which something of a lease in `place` can be."""
        if place.region or place.zone:
            return (self.region_of(place),)
        return self.regions

    def _region_of_zone(self, zone: str) -> str:
        inside = [region for region in self.regions if zone.startswith(region)]
        return max(inside, key=len, default="")
