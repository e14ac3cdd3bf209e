"""Prices of the simulated AWS: list prices of GPU types, and spot prices that differ by zone and change over time.

The on-demand figures are AWS's Linux list prices for us-east-1 as of `LIST_DATE`; other regions are scaled, since the
simulator needs plausible differences, not a catalogue. A GPU type that is not in the list has no price here, as new
families have none for a while in the real price list.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from lessor.sandbox.aws.instance_types import zones_of, zones_offering

LIST_DATE = datetime(2025, 6, 15, tzinfo=UTC)
ON_DEMAND_US_EAST_1 = {
    "g4dn.xlarge": "0.5260",
    "g4dn.2xlarge": "0.7520",
    "g4dn.4xlarge": "1.2040",
    "g4dn.8xlarge": "2.1760",
    "g4dn.12xlarge": "3.9120",
    "g4dn.16xlarge": "4.3520",
    "g4dn.metal": "7.8240",
    "g5.xlarge": "1.0060",
    "g5.2xlarge": "1.2120",
    "g5.4xlarge": "1.6240",
    "g5.8xlarge": "2.4480",
    "g5.12xlarge": "5.6720",
    "g5.16xlarge": "4.0960",
    "g5.24xlarge": "8.1440",
    "g5.48xlarge": "16.2880",
    "g6.xlarge": "0.8048",
    "g6.2xlarge": "0.9776",
    "g6.4xlarge": "1.3232",
    "g6.8xlarge": "2.0144",
    "g6.12xlarge": "4.6016",
    "g6.16xlarge": "3.3968",
    "g6.24xlarge": "6.6752",
    "g6.48xlarge": "13.3504",
    "g6e.xlarge": "1.8610",
    "g6e.2xlarge": "2.2421",
    "g6e.4xlarge": "3.0042",
    "g6e.8xlarge": "4.5286",
    "g6e.12xlarge": "10.4926",
    "g6e.16xlarge": "7.5772",
    "g6e.24xlarge": "15.0656",
    "g6e.48xlarge": "30.1312",
    "p3.2xlarge": "3.0600",
    "p3.8xlarge": "12.2400",
    "p3.16xlarge": "24.4800",
    "p3dn.24xlarge": "31.2120",
    "p4d.24xlarge": "21.9576",
    "p4de.24xlarge": "27.4471",
    "p5.4xlarge": "6.8800",
    "p5.48xlarge": "55.0400",
    "p5en.48xlarge": "63.2960",
    "p6-b200.48xlarge": "113.9328",
}
_REGION_FACTORS = {"us-east-1": "1", "us-east-2": "1", "us-west-2": "1", "eu-west-1": "1.09", "eu-central-1": "1.25"}
_OTHER_REGION = "1.2"
_SPOT_CHANGES_HOURS = (2, 11, 23, 50)
_CENTS_OF_A_CENT = Decimal("0.0001")


class PriceBook:
    """Prices in US dollars per hour; `without` holds types that were made to have none."""

    def __init__(self) -> None:
        self.unreachable = False
        self.without: set[str] = set()
        self._overrides: dict[str, Decimal] = {}

    def set_on_demand(self, instance_type: str, us_east_1: Decimal) -> None:
        self._overrides[instance_type] = us_east_1

    def listed(self, instance_type: str, region: str) -> Decimal | None:
        """The list price, None where AWS publishes none."""
        if instance_type in self.without:
            return None
        base = self._overrides.get(instance_type) or ON_DEMAND_US_EAST_1.get(instance_type)
        return None if base is None else _scaled(Decimal(base), region)

    def on_demand(self, instance_type: str, region: str) -> Decimal:
        """What a machine costs, listed or not: the ceiling of a spot request without a maximum."""
        return self.listed(instance_type, region) or Decimal("100.0000")

    def spot(self, instance_type: str, zone: str, change: int = 0) -> Decimal:
        """The spot price after the latest change (`change` 0) or an earlier one: 30 to 60 % of on-demand."""
        share = 30 + zlib.crc32(f"{instance_type}/{zone}/{change}".encode()) % 30
        return (self.on_demand(instance_type, zone[:-1]) * share / 100).quantize(_CENTS_OF_A_CENT)

    def spot_history(
        self, region: str, kinds: Iterable[str], zones: Iterable[str], *, since: datetime | None, now: datetime
    ) -> list[dict[str, Any]]:
        """DescribeSpotPriceHistory: dated changes by zone, newest first; from `since` on, and the one then in force."""
        wanted_zones, wanted_kinds = set(zones) or set(zones_of(region)), list(kinds) or list(ON_DEMAND_US_EAST_1)
        entries = []
        for change, hours in enumerate(_SPOT_CHANGES_HOURS):
            at = now - timedelta(hours=hours)
            entries += [
                self._spot_entry(kind, zone, change, at)
                for kind in wanted_kinds
                for zone in zones_offering(region, kind)
                if zone in wanted_zones
            ]
            if since is not None and at <= since:
                break
        return entries

    def _spot_entry(self, kind: str, zone: str, change: int, at: datetime) -> dict[str, Any]:
        return {
            "AvailabilityZone": zone,
            "InstanceType": kind,
            "ProductDescription": "Linux/UNIX",
            "SpotPrice": str(self.spot(kind, zone, change)),
            "Timestamp": at,
        }


def _scaled(base: Decimal, region: str) -> Decimal:
    return (base * Decimal(_REGION_FACTORS.get(region, _OTHER_REGION))).quantize(_CENTS_OF_A_CENT)
