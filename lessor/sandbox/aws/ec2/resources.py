"""Tags, volumes, interfaces and spot requests: refusals, idempotent creation and left-overs as EC2 has them."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult

from lessor.sandbox.aws.ec2.base import Ec2Actions
from lessor.sandbox.aws.ec2.refusals import unknown_instances
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.tags import MOST_TAGS, too_many_tags

_UNKNOWN = {
    "vol": ("InvalidVolume.NotFound", "The volume '{}' does not exist."),
    "eni": ("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '{}' does not exist"),
}


class ResourceActions(Ec2Actions):
    """What surrounds instances."""

    def create_tags(self) -> ActionResult:
        resources = self._get_param("Resources", [])
        tags = {tag["Key"]: tag.get("Value", "") for tag in self._get_param("Tags", [])}
        self.check_tags(tags)
        self._check_resources(resources)
        for resource in resources:
            held = {key for key in self.ec2_backend.tags.get(resource, {}) if not key.startswith("aws:")}
            if len(held | tags.keys()) > MOST_TAGS:
                raise too_many_tags()
        return super().create_tags()

    def delete_tags(self) -> ActionResult:
        self._check_resources(self._get_param("Resources", []))
        return super().delete_tags()

    def delete_volume(self) -> ActionResult:
        return self._deleted(super().delete_volume(), "VolumeId")

    def delete_snapshot(self) -> ActionResult:
        return self._deleted(super().delete_snapshot(), "SnapshotId")

    def create_volume(self) -> ActionResult:
        return self._create("CreateVolume", self._get_param("AvailabilityZone") or "", super().create_volume)

    def create_network_interface(self) -> ActionResult:
        return self._create("CreateNetworkInterface", "", super().create_network_interface)

    def create_snapshot(self) -> ActionResult:
        for tags in self.tag_specifications().values():
            self.check_tags(tags)
        result = super().create_snapshot()
        self.state.snapshots.begin(result.result)
        return result

    def attach_volume(self) -> ActionResult:
        self.records([self._get_param("InstanceId")])
        return super().attach_volume()

    def modify_instance_attribute(self) -> ActionResult:
        self.records([self._get_param("InstanceId")])
        return super().modify_instance_attribute()

    def delete_network_interface(self) -> ActionResult:
        interface = self.ec2_backend.enis.get(self._get_param("NetworkInterfaceId"))
        if interface is not None and interface.instance is not None:
            raise AwsError("InvalidNetworkInterface.InUse", f"Network interface '{interface.id}' is currently in use.")
        return self._deleted(super().delete_network_interface(), "NetworkInterfaceId")

    def release_address(self) -> ActionResult:
        allocation = self._get_param("AllocationId")
        address = next((a for a in self.ec2_backend.addresses if a.allocation_id == allocation), None)
        if address is not None and address.association_id:
            raise AwsError(
                "InvalidIPAddress.InUse", f"The address with allocation id '{allocation}' is currently associated."
            )
        return self._deleted(super().release_address(), "AllocationId")

    def _deleted(self, result: ActionResult, parameter: str) -> ActionResult:
        """Tags go with the resource; moto would list them for ever."""
        self.ec2_backend.tags.pop(self._get_param(parameter), None)
        return result

    def cancel_spot_instance_requests(self) -> ActionResult:
        requests = self.ec2_backend.spot_instance_requests
        cancelled = []
        for request_id in self._get_param("SpotInstanceRequestIds", []):
            if request_id not in requests:
                raise AwsError(
                    "InvalidSpotInstanceRequestID.NotFound",
                    f"The spot instance request ID '{request_id}' does not exist",
                )
            cancelled.append(requests[request_id])
        for request in cancelled:
            self._cancel(request)
        answers = [{"SpotInstanceRequestId": request.id, "State": "cancelled"} for request in cancelled]
        return ActionResult({"CancelledSpotInstanceRequests": answers})

    def _cancel(self, request: Any) -> None:
        if request.state in ("closed", "cancelled"):
            return
        runs = request.instance.state in ("pending", "running")
        status = "request-canceled-and-instance-running" if runs else "canceled-before-fulfillment"
        request.enter("cancelled", status, "Your Spot request is canceled.", self.state.clock.now())

    def _create(self, action: str, zone: str, create: Any) -> ActionResult:
        for tags in self.tag_specifications().values():
            self.check_tags(tags)
        token = self._get_param("ClientToken")
        if not token or self._get_param("DryRun"):
            return create()  # type: ignore[no-any-return]
        scope = (self.current_account, self.region, action, zone)
        earlier = self.state.tokens.recall(token, scope, dict(self.params))
        if earlier is None:
            earlier = create()
            self.state.tokens.remember(token, scope, earlier)
        return earlier  # type: ignore[no-any-return]

    def _check_resources(self, resources: list[str]) -> None:
        """Unknown and not yet visible resources are refused by kind."""
        hidden = self.hidden_ids()
        self.count_look_up()
        for resource in resources:
            kind = resource.split("-")[0]
            if kind == "i" and (resource in hidden or resource not in {r.instance.id for r in self._own_fleet()}):
                raise unknown_instances([resource])
            if kind in _UNKNOWN and resource in hidden:
                code, message = _UNKNOWN[kind]
                raise AwsError(code, message.format(resource))
