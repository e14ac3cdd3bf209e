"""RunInstances: idempotency, partial fulfilment, and what a launch creates."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.utils import random_spot_request_id

from lessor.sandbox.aws.ec2.admission import LaunchAdmission
from lessor.sandbox.aws.ec2.lifecycle import InstanceRecord
from lessor.sandbox.aws.ec2.machines import SpotRequest
from lessor.sandbox.aws.errors import AwsError


class LaunchActions(LaunchAdmission):
    """The launch, on top of moto's."""

    def run_instances(self) -> ActionResult:
        self.check_launch()
        self.error_on_dryrun()
        zone = self.named_zone()
        token, scope = self._get_param("ClientToken"), (self.current_account, self.region, "RunInstances", zone or "")
        asked = deepcopy(dict(self.params))
        if token:
            earlier = self.state.tokens.recall(token, scope, asked)
            if earlier is not None:
                return ActionResult(self._still_alive(earlier))
        zone, count = self.place(zone)
        reservation = self._launch(zone, count)
        if token:
            self.state.tokens.remember(token, scope, reservation)
        return ActionResult(reservation)

    def request_spot_instances(self) -> ActionResult:
        raise _only_run_instances()

    def request_spot_fleet(self) -> ActionResult:
        raise _only_run_instances()

    def create_fleet(self) -> ActionResult:
        raise _only_run_instances()

    def _still_alive(self, reservation: Any) -> Any:
        if all(instance.state == "terminated" for instance in reservation.instances):
            raise AwsError(
                "IdempotentInstanceTerminated",
                "The client token you have provided is associated with a terminated instance. "
                "Please use a different client token.",
            )
        return reservation

    def _launch(self, zone: str, count: int) -> Any:
        self.params["MinCount"] = count
        if not self._get_param("SubnetId") and not any(
            i.get("SubnetId") for i in self._get_param("NetworkInterfaces", [])
        ):
            self.params["Placement"] = {**(self._get_param("Placement") or {}), "AvailabilityZone": zone}
        self._complete_disks()
        reservation: Any = super().run_instances().result
        for instance in reservation.instances:
            self._complete(instance)
        self.state.capacity.take(count, reservation.instances[0].instance_type, zone, self.market())
        self._spread_instance_profile(reservation.instances)
        return reservation

    def _complete_disks(self) -> None:
        """EC2 adds the image's root disk when the request does not mention it, and deletes it on termination."""
        root = self.ec2_backend.amis[self._get_param("ImageId")].root_device_name or "/dev/sda1"
        mappings = list(self._get_param("BlockDeviceMappings", []))
        named = next((m for m in mappings if m.get("DeviceName") == root), None)
        if named is None:
            mappings.insert(
                0, {"DeviceName": root, "Ebs": {"VolumeSize": 8, "VolumeType": "gp3", "DeleteOnTermination": True}}
            )
        elif "Ebs" in named:
            named["Ebs"].setdefault("DeleteOnTermination", True)
            named["Ebs"].setdefault("VolumeSize", 8)
        self.params["BlockDeviceMappings"] = mappings

    def _complete(self, instance: Any) -> None:
        now, hiding = self.state.clock.now(), self.state.hiding
        tags = self.tag_specifications()
        instance.client_token = self._get_param("ClientToken") or ""
        instance.disable_api_termination = bool(self._get_param("DisableApiTermination"))
        specified = {int(i.get("DeviceIndex", 0)): i for i in self._get_param("NetworkInterfaces", [])}
        for index, interface in instance.nics.items():
            given = specified.get(index, {})
            if not given.get("NetworkInterfaceId"):
                interface.delete_on_termination = given.get("DeleteOnTermination") is not False
                interface.add_tags(tags.get("network-interface", {}))
        if not instance.security_groups:
            instance.security_groups = [self.ec2_backend.get_security_group_from_id(g) for g in _groups_of(instance)]
        record = InstanceRecord(
            instance,
            self.current_account,
            self.region,
            self.market(),
            launched_at=now,
            visible_at=now + timedelta(seconds=hiding.seconds),
            hidden_reads=hiding.reads,
        )
        if record.market == "spot":
            record.spot_request = self._spot_request(instance, tags.get("spot-instances-request", {}))
        self.state.fleet.admit(record, self.state.launch_failure(instance.instance_type))

    def _spot_request(self, instance: Any, tags: dict[str, str]) -> SpotRequest:
        options = self._get_param("InstanceMarketOptions.SpotOptions") or {}
        request = SpotRequest(
            self.ec2_backend,
            random_spot_request_id(),
            instance,
            kind=options.get("SpotInstanceType", "one-time"),
            price=options.get("MaxPrice") or str(self.state.prices.on_demand(instance.instance_type, self.region)),
            behavior=options.get("InstanceInterruptionBehavior", "terminate"),
            now=self.state.clock.now(),
        )
        self.ec2_backend.spot_instance_requests[request.id] = request
        request.add_tags(tags)
        return request

    def _spread_instance_profile(self, instances: list[Any]) -> None:
        """moto gives the profile to the first instance of a reservation only."""
        profile = self._get_param("IamInstanceProfile") or {}
        for instance in instances[1:] if profile else []:
            self.ec2_backend.associate_iam_instance_profile(
                instance_id=instance.id,
                iam_instance_profile_name=profile.get("Name"),
                iam_instance_profile_arn=profile.get("Arn"),
            )


def _only_run_instances() -> AwsError:
    return AwsError("UnsupportedOperation", "The simulated AWS starts machines by RunInstances only.")


def _groups_of(instance: Any) -> list[str]:
    return [group.id for interface in instance.nics.values() for group in interface.group_set]
