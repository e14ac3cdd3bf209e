"""Service quotas as EC2 enforces them: vCPUs of running instances per family bucket, account and region.

Codes and names as in the Service Quotas console for Amazon EC2 (service code `ec2`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lessor.sandbox.aws.errors import AwsError

Market = Literal["on-demand", "spot", "capacity-block"]


@dataclass(frozen=True)
class Quota:
    """One quota: its `code`, its console `name` and the `value` in vCPUs that new simulated accounts have."""

    code: str
    name: str
    value: float


QUOTAS = (
    Quota("L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 1152),
    Quota("L-DB2E81BA", "Running On-Demand G and VT instances", 1152),
    Quota("L-417A185B", "Running On-Demand P instances", 1152),
    Quota("L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", 1152),
    Quota("L-3819A6DF", "All G and VT Spot Instance Requests", 1152),
    Quota("L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", 1152),
    Quota("L-C4BD4855", "All P5 Spot Instance Requests", 1152),
)
_BY_CODE = {quota.code: quota for quota in QUOTAS}


def quota_code(instance_type: str, market: Market) -> str:
    """The quota that counts this type in this market; capacity blocks are counted by none and give ``""``."""
    if market == "capacity-block":
        return ""
    family = instance_type.split(".", maxsplit=1)[0]
    if family.startswith(("g", "vt")):
        return "L-DB2E81BA" if market == "on-demand" else "L-3819A6DF"
    if family.startswith("p"):
        if market == "on-demand":
            return "L-417A185B"
        return "L-7212CCBC" if family.startswith(("p2", "p3", "p4")) else "L-C4BD4855"
    return "L-1216C47A" if market == "on-demand" else "L-34B43A08"


class QuotaBook:
    """The current values, by account and region where set, else the default of the quota."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, str], float] = {}

    def set(self, code: str, value: float, *, account: str = "*", region: str = "*") -> None:
        if code not in _BY_CODE:
            raise ValueError(f"unknown quota code {code!r}; known: {', '.join(sorted(_BY_CODE))}")
        self._values[(code, account, region)] = value

    def value(self, code: str, account: str, region: str) -> float:
        for key in ((code, account, region), (code, account, "*"), (code, "*", region), (code, "*", "*")):
            if key in self._values:
                return self._values[key]
        return _BY_CODE[code].value

    def changes(self) -> list[dict[str, Any]]:
        """What was set, for the page."""
        return [
            {"code": code, "name": _BY_CODE[code].name, "account": account, "region": region, "value": value}
            for (code, account, region), value in self._values.items()
        ]

    def get_service_quota(self, document: dict[str, Any], account: str, region: str) -> dict[str, Any]:
        """The answer of `GetServiceQuota`; `NoSuchResourceException` for a code that EC2 does not have."""
        code = str(document.get("QuotaCode", ""))
        if document.get("ServiceCode") != "ec2" or code not in _BY_CODE:
            raise AwsError(
                "NoSuchResourceException", "The request failed because the specified service quota does not exist."
            )
        return {"Quota": self._describe(_BY_CODE[code], account, region)}

    def list_service_quotas(self, document: dict[str, Any], account: str, region: str) -> dict[str, Any]:
        if document.get("ServiceCode") != "ec2":
            raise AwsError(
                "NoSuchResourceException", "The request failed because the specified service does not exist."
            )
        return {"Quotas": [self._describe(quota, account, region) for quota in QUOTAS]}

    def _describe(self, quota: Quota, account: str, region: str) -> dict[str, Any]:
        return {
            "ServiceCode": "ec2",
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaArn": f"arn:aws:servicequotas:{region}:{account}:ec2/{quota.code}",
            "QuotaCode": quota.code,
            "QuotaName": quota.name,
            "Value": float(self.value(quota.code, account, region)),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
