"""Describe calls: what is not visible yet is left out, and every list comes in pages."""

from __future__ import annotations

import copy
from datetime import UTC
from typing import Any

from moto.core.responses import ActionResult

from lessor.sandbox.aws.ec2 import filters
from lessor.sandbox.aws.ec2.base import Ec2Actions
from lessor.sandbox.aws.errors import AwsError

_ID_ATTRIBUTES = ("id", "allocation_id")


class DescribeActions(Ec2Actions):
    """Lists that moto gives whole, cut as EC2 cuts them."""

    def describe_instances(self) -> ActionResult:
        instance_ids = self._get_param("InstanceIds", [])
        if instance_ids and self._get_param("MaxResults"):
            raise AwsError(
                "InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults"
            )
        self.error_on_dryrun()
        wanted: Any = self._filters_from_querystring()
        filters.check_names(wanted)
        try:
            named = {record.instance.id for record in self.records(instance_ids)}
            chosen = [
                record.instance
                for record in self._own_fleet()
                if self.is_visible(record)
                and (not instance_ids or record.instance.id in named)
                and filters.matches(record.instance, wanted)
            ]
        finally:
            self.count_look_up()
        page, token = self._page(chosen)
        return ActionResult({"Reservations": self._reservations(page), "NextToken": token})

    def describe_instance_status(self) -> ActionResult:
        try:
            self.records(self._get_param("InstanceIds", []))
            hidden = self.hidden_ids()
        finally:
            self.count_look_up()
        statuses = [s for s in _listed(super().describe_instance_status(), "InstanceStatuses") if s.id not in hidden]
        return self._paged("InstanceStatuses", statuses)

    def describe_volumes(self) -> ActionResult:
        return self._shown("Volumes", super().describe_volumes())

    def describe_network_interfaces(self) -> ActionResult:
        return self._shown("NetworkInterfaces", super().describe_network_interfaces())

    def describe_snapshots(self) -> ActionResult:
        return self._paged("Snapshots", self._without_images(_listed(super().describe_snapshots(), "Snapshots")))

    def describe_spot_instance_requests(self) -> ActionResult:
        return self._paged(
            "SpotInstanceRequests", _listed(super().describe_spot_instance_requests(), "SpotInstanceRequests")
        )

    def describe_tags(self) -> ActionResult:
        hidden = self.hidden_ids()
        tags = [tag for tag in _listed(super().describe_tags(), "Tags") if tag["resource_id"] not in hidden]
        return self._paged("Tags", tags)

    def describe_instance_types(self) -> ActionResult:
        return self._paged("InstanceTypes", _listed(super().describe_instance_types(), "InstanceTypes"))

    def describe_instance_type_offerings(self) -> ActionResult:
        offerings = _listed(super().describe_instance_type_offerings(), "InstanceTypeOfferings")
        board = self.state.capacity
        offered = [o for o in offerings if board.is_offered(o["InstanceType"], o["Location"])]
        return self._paged("InstanceTypeOfferings", offered)

    def describe_spot_price_history(self) -> ActionResult:
        kinds, wanted = self._get_param("InstanceTypes", []), self._filters_from_querystring()
        kinds = kinds or wanted.get("instance-type", [])
        zone = self._get_param("AvailabilityZone")
        zones = [zone] if zone else wanted.get("availability-zone", [])
        since = self._get_param("StartTime")
        since = since.replace(tzinfo=since.tzinfo or UTC) if since else None
        history = self.state.prices.spot_history(self.region, kinds, zones, since=since, now=self.state.clock.now())
        return self._paged("SpotPriceHistory", history)

    def _shown(self, key: str, result: ActionResult) -> ActionResult:
        hidden = self.hidden_ids()
        return self._paged(key, [item for item in _listed(result, key) if item.id not in hidden])

    def _without_images(self, snapshots: list[Any]) -> list[Any]:
        """moto keeps a snapshot for every public image; they belong to the image's owner."""
        if self._get_param("SnapshotIds") or "self" not in (self._get_param("OwnerIds") or ["self"]):
            return snapshots
        return [
            snapshot for snapshot in snapshots if snapshot.owner_id == self.current_account and not snapshot.from_ami
        ]

    def _paged(self, key: str, items: list[Any]) -> ActionResult:
        page, token = self._page(items)
        return ActionResult({key: page, "NextToken": token})

    def _page(self, items: list[Any]) -> tuple[list[Any], str | None]:
        size = self._get_param("MaxResults")
        return self.state.pages.cut(
            self._get_action(), items, int(size) if size else None, self._get_param("NextToken")
        )

    def _reservations(self, instances: list[Any]) -> list[Any]:
        wanted = {instance.id for instance in instances}
        reservations = []
        for reservation in self.ec2_backend.reservations.values():
            mine = [instance for instance in reservation.instances if instance.id in wanted]
            if mine:
                shown = copy.copy(reservation)
                shown.instances = mine
                reservations.append(shown)
        return reservations


def _listed(result: ActionResult, key: str) -> list[Any]:
    answer: Any = result.result
    return list(answer[key])
