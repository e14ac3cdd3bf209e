"""Whose a thing is. A tag can be copied by hand: destruction needs the tag and proof of our launch (law 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.contracts import MANAGED_BY, TAG_LEASE, TAG_MANAGED_BY
from lessor.domain.request import Market
from lessor.domain.resource import Resource
from lessor.providers.aws import tags
from lessor.providers.aws.tokens import generations

MADE_BY_LAUNCH = (timedelta(minutes=-1), timedelta(minutes=10))
"""A volume or interface attached in this span around the launch came with it; others are somebody's own.

A restarted machine has a new launch time: then only the record proves.
"""


def market_of(machine: Mapping[str, Any]) -> Market:
    """The market that a machine was bought in."""
    return Market.SPOT if machine.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND


def launched_for(machine: Mapping[str, Any], lease_id: str) -> bool:
    """Whether the machine's client token is one that only a launch for this lease derives."""
    zone = machine.get("Placement", {}).get("AvailabilityZone", "")
    return machine.get("ClientToken", "") in generations(
        lease_id, machine.get("InstanceType", ""), zone, market_of(machine)
    )


def group_of(machine: Mapping[str, Any]) -> str:
    """The auto scaling group that a machine belongs to; empty if none (case C21)."""
    return tags.read(machine).get(tags.TAG_GROUP, "")


@dataclass(frozen=True)
class Proof:
    """What shows that things are the lease's: ids and tokens on record, and the lease's id for its tag and tokens."""

    lease_id: str
    ids: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    machines: Mapping[str, datetime] = field(default_factory=dict)

    @classmethod
    def of(cls, lease_id: str, known: Sequence[Resource], machines: Collection[Mapping[str, Any]] = ()) -> Proof:
        """Proof from the ledger's `known`; `machines` of ours prove what was attached when they were launched."""
        proof = cls(lease_id, frozenset(r.id for r in known if r.id), frozenset(r.token for r in known if r.token))
        ours = {m["InstanceId"]: m["LaunchTime"] for m in machines if proof.covers_machine(m)}
        return cls(lease_id, proof.ids, proof.tokens, ours)

    def covers_machine(self, machine: Mapping[str, Any]) -> bool:
        """Ours by tag, and by record or by the token of our own launch."""
        recorded = machine["InstanceId"] in self.ids or machine.get("ClientToken", "") in self.tokens - {""}
        return self.tagged(machine) and (recorded or launched_for(machine, self.lease_id))

    def covers(self, item: Mapping[str, Any], item_id: str, attachments: Sequence[Mapping[str, Any]] = ()) -> bool:
        """A volume, interface, address or spot request: ours by tag, and by record or made by our launch."""
        if not self.tagged(item):
            return False
        return item_id in self.ids or any(self._came_with_launch(attachment) for attachment in attachments)

    def covers_spot(self, request: Mapping[str, Any]) -> bool:
        """A spot request of ours: its machine is, or it is on record."""
        recorded = request["SpotInstanceRequestId"] in self.ids or request.get("InstanceId", "") in self.machines
        return self.tagged(request) and recorded

    def tagged(self, item: Mapping[str, Any]) -> bool:
        """Carries the lease's tag and the mark that only a launch sets."""
        found = tags.read(item)
        return found.get(TAG_LEASE) == self.lease_id and found.get(TAG_MANAGED_BY) == MANAGED_BY

    def _came_with_launch(self, attachment: Mapping[str, Any]) -> bool:
        launched = self.machines.get(attachment.get("InstanceId", ""))
        attached: datetime | None = attachment.get("AttachTime")
        if launched is None or attached is None:
            return False
        return MADE_BY_LAUNCH[0] <= attached - launched <= MADE_BY_LAUNCH[1]
