"""One account in one region: its clients, and lists read to their last page (case C29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.place import Ec2Place
from lessor.providers.aws.sessions import Accounts

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

PAGE_SIZES = {"describe_instance_types": 100, "describe_addresses": 0, "describe_images": 0, "describe_subnets": 0}
"""Largest page that an operation gives, where it is not 1,000; 0 where the operation takes no page size."""


@dataclass(frozen=True)
class Site:
    """Where calls go. Two sites are the same when account and region are."""

    accounts: Accounts
    place: Ec2Place
    region: str

    @property
    def key(self) -> tuple[str, str]:
        return (self.place.role_arn or self.place.account, self.region)

    @property
    def ec2(self) -> EC2Client:
        client: EC2Client = self.accounts.client(self.place, "ec2", self.region)
        return client

    def client(self, service: str, region: str = "") -> Any:
        """The client of another service, in this region unless said otherwise."""
        return self.accounts.client(self.place, service, region or self.region)

    def read(self, operation: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
        """Every item of every page; an empty page with a next token is read on. Raises if any page is missing."""
        named = any(name.endswith("Ids") and name != "OwnerIds" for name in arguments)
        size = 0 if named else PAGE_SIZES.get(operation, 1000)
        with sorted_errors(f"reading {key} in {self.region}"):
            if not self.ec2.can_paginate(operation):
                return list(getattr(self.ec2, operation)(**arguments)[key])
            pages = self.ec2.get_paginator(operation).paginate(  # type: ignore[call-overload]
                **arguments, PaginationConfig={"PageSize": size} if size else {}
            )
            return [item for page in pages for item in page.get(key, [])]


def by(**wanted: str | list[str]) -> list[dict[str, Any]]:
    """EC2 filters; `_` is a dash, `__` a point, and `tag__x` is `tag:lessor:x`."""
    return [
        {"Name": _filter_name(name), "Values": [value] if isinstance(value, str) else value}
        for name, value in wanted.items()
    ]


def _filter_name(name: str) -> str:
    if name.startswith("tag__"):
        return "tag:lessor:" + name.removeprefix("tag__").replace("_", "-")
    return name.replace("__", ".").replace("_", "-")
