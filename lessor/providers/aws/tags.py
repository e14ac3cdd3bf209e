"""Tags on everything a lease creates, in the characters and lengths that all AWS services accept (cases C10, C11)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lessor.contracts import (
    MANAGED_BY,
    TAG_COST_CENTER,
    TAG_ENDS,
    TAG_LEASE,
    TAG_MANAGED_BY,
    TAG_OWNER,
    TAG_PURPOSE,
    TAG_TEAM,
)
from lessor.domain.provisioning import Order
from lessor.domain.request import Market
from lessor.providers.instants import instant

KEY_LENGTH, VALUE_LENGTH, MOST = 128, 256, 50
FOREIGN = re.compile(r"[^\w +\-=.:/@]|[\r\n\t\v\f]", re.UNICODE)
TAG_VOLUME = "lessor:volume"
TAG_GROUP = "aws:autoscaling:groupName"
LAUNCHED = ("instance", "volume", "network-interface")


def for_order(order: Order) -> dict[str, str]:
    """All tags of what an order launches; the full purpose is in the ledger."""
    ours = {
        "Name": order.lease_id,
        TAG_LEASE: order.lease_id,
        TAG_OWNER: order.owner,
        TAG_TEAM: order.team,
        TAG_COST_CENTER: order.cost_center,
        TAG_PURPOSE: order.request.purpose,
        TAG_MANAGED_BY: MANAGED_BY,
    }
    if order.ends is not None:
        ours[TAG_ENDS] = instant(order.ends)
    ours = {key: clean(value) for key, value in ours.items()}
    room = MOST - len(ours) - 1
    theirs = {clean(key)[:KEY_LENGTH]: clean(value) for key, value in sorted(order.request.tags.items())[:room]}
    return {**{key: value for key, value in theirs.items() if _allowed(key)}, **ours}


def clean(value: str) -> str:
    """`value` with foreign characters as spaces, one space at a time, cut to what a tag holds."""
    return " ".join(FOREIGN.sub(" ", value).split())[:VALUE_LENGTH].strip()


def specifications(tags: Mapping[str, str], market: Market) -> list[dict[str, Any]]:
    """`TagSpecifications` of a launch: the spot request is named only where there is one."""
    kinds = (*LAUNCHED, "spot-instances-request") if market is Market.SPOT else LAUNCHED
    return [{"ResourceType": kind, "Tags": pairs(tags)} for kind in kinds]


def pairs(tags: Mapping[str, str]) -> list[Any]:
    """Tags as EC2 takes them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def read(item: Mapping[str, Any]) -> dict[str, str]:
    """Tags as EC2 gives them."""
    return {tag["Key"]: tag.get("Value", "") for tag in item.get("Tags", item.get("TagSet", []))}


def _allowed(key: str) -> bool:
    return bool(key) and not key.lower().startswith(("aws:", "lessor:")) and key != "Name"
