"""The account's vCPU quota for a family, so that the approver sees it before the launch is refused (case C12)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from lessor.domain.request import Market
from lessor.ports import ProviderError
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.site import Site
from lessor.providers.aws.types import Remembered

KEPT_FOR = timedelta(minutes=10)


class VcpuQuotas:
    """Reads Service Quotas; `None` is unknown, for instance because the role may not ask."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._values: Remembered[int | None] = Remembered(KEPT_FOR, clock)

    def vcpus(self, site: Site, instance_type: str, market: Market) -> int | None:
        """vCPUs that all running machines of the type's family may have together in this region and market."""
        code = quota_code(instance_type, market)
        return self._values.get((site.key, code), lambda: _read(site, code)) if code else None


def quota_code(instance_type: str, market: Market) -> str:
    """The quota that counts a GPU type, from the Service Quotas console; empty where none does (capacity blocks)."""
    family = instance_type.partition(".")[0]
    spot = market is Market.SPOT
    if market is Market.CAPACITY_BLOCK:
        return ""
    if family.startswith("g"):
        return "L-3819A6DF" if spot else "L-DB2E81BA"
    if spot:
        return "L-7212CCBC" if family.startswith(("p2", "p3", "p4")) else "L-C4BD4855"
    return "L-417A185B"


def _read(site: Site, code: str) -> int | None:
    try:
        with sorted_errors(f"reading quota {code}"):
            answer = site.client("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=code)
        return int(answer["Quota"]["Value"])
    except ProviderError:
        return None
