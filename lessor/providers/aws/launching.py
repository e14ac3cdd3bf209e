"""The launch: one RunInstances per token, whatever is retried, and nothing before a look at what exists already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from lessor.domain.provisioning import Candidate, Order
from lessor.domain.request import Market
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import Heartbeat, PermanentError
from lessor.providers.aws import network, seen, tags
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.image import image, user_data
from lessor.providers.aws.ownership import launched_for
from lessor.providers.aws.site import Site, by
from lessor.providers.aws.tokens import generations
from lessor.rendering import Renderer

APPEARS_WITHIN = timedelta(minutes=5)
"""How long EC2 may not show what it has created (case C07)."""
LOOK_EVERY = timedelta(seconds=10)
USED_UP = "IdempotentInstanceTerminated"
MISMATCH = "IdempotentParameterMismatch"


class Launcher:
    """Launches for one provider. `templates` has the user data of the organisation or of the package."""

    def __init__(self, templates: Renderer, sleep: Callable[[float], None]) -> None:
        self._templates = templates
        self._sleep = sleep

    def existing(self, site: Site, lease_id: str, tokens: Sequence[str]) -> tuple[Resource, ...]:
        """Machines of the lease that live, by tag or by any of the tokens, whatever zone they are in (case C03)."""
        tagged = site.read("describe_instances", "Reservations", Filters=by(tag__lease=lease_id))
        launched = tokens and site.read("describe_instances", "Reservations", Filters=by(client_token=list(tokens)))
        machines = {machine["InstanceId"]: machine for machine in seen.machines([*tagged, *launched])}
        ours = [machine for machine in machines.values() if launched_for(machine, lease_id)]
        return tuple(r for r in (seen.instance(machine, site.region) for machine in ours) if _alive(r))

    def launch(
        self, site: Site, order: Order, candidate: Candidate, machines: int, architecture: str, heartbeat: Heartbeat
    ) -> tuple[Resource, ...]:
        """Machines for the order, launched now or by an earlier attempt. Fewer than `machines` if EC2 gave fewer."""
        tokens = generations(order.lease_id, candidate.instance_type, candidate.zone, candidate.market)
        found = self.existing(site, order.lease_id, tokens)
        if found:
            return found
        parameters = self._parameters(site, order, candidate, machines, architecture, heartbeat)
        for token in tokens:
            launched = self._once(site, order, candidate, {**parameters, "ClientToken": token}, heartbeat)
            if launched:
                return launched
        raise PermanentError(
            f"{candidate} was launched {len(tokens)} times for {order.lease_id} and ended each time; "
            "nothing is left running, ask an administrator to look at the account",
            USED_UP,
        )

    def _once(
        self, site: Site, order: Order, candidate: Candidate, parameters: dict[str, Any], heartbeat: Heartbeat
    ) -> tuple[Resource, ...]:
        """What this token made; nothing if it is used up, since its machines were terminated."""
        heartbeat(f"launching {candidate}")
        try:
            with sorted_errors(f"launching {candidate}", str(candidate)):
                reservation = site.ec2.run_instances(**parameters)
        except PermanentError as error:
            if error.code == USED_UP:
                return ()
            if error.code == MISMATCH:
                return self._adopt(site, order, parameters["ClientToken"], heartbeat)
            raise
        made = seen.launched(reservation, site.region, parameters["ClientToken"])
        living = tuple(resource for resource in made if _alive(resource))
        return living if any(resource.kind is Kind.INSTANCE for resource in living) else ()

    def _adopt(self, site: Site, order: Order, token: str, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """The machines of an earlier launch with this token and other parameters (case C04).

        They may not be shown yet: only after `APPEARS_WITHIN` is it believed that there are none.
        """
        waited = timedelta()
        while True:
            found = self.existing(site, order.lease_id, [token])
            if found or waited >= APPEARS_WITHIN:
                return found
            heartbeat(f"looking for what token {token[:12]} has launched")
            self._sleep(LOOK_EVERY.total_seconds())
            waited += LOOK_EVERY

    def _parameters(
        self, site: Site, order: Order, candidate: Candidate, machines: int, architecture: str, heartbeat: Heartbeat
    ) -> dict[str, Any]:
        """All arguments of RunInstances but the token, the same for every attempt of an order (case C04)."""
        start, place = image(site, architecture), site.place
        subnet = network.subnet(site, candidate.zone, str(candidate))
        disk: dict[str, Any] = {
            "VolumeSize": max(order.request.disk_gib, start.root_gib),
            "VolumeType": "gp3",
            "Encrypted": True,
            "DeleteOnTermination": True,
        }
        if place.kms_key:
            disk["KmsKeyId"] = place.kms_key
        interface = {
            "DeviceIndex": 0,
            "SubnetId": subnet["SubnetId"],
            "Groups": [network.security_group(site, subnet["VpcId"], heartbeat)],
            "AssociatePublicIpAddress": False,
            "DeleteOnTermination": True,
        }
        parameters: dict[str, Any] = {
            "ImageId": start.id,
            "InstanceType": candidate.instance_type,
            "MinCount": machines,
            "MaxCount": machines,
            "NetworkInterfaces": [interface],
            "BlockDeviceMappings": [{"DeviceName": start.root_device, "Ebs": disk}],
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled"},
            "TagSpecifications": tags.specifications(tags.for_order(order), candidate.market),
            "UserData": user_data(site, order, self._templates),
        }
        if place.instance_profile:
            parameters["IamInstanceProfile"] = {"Name": place.instance_profile}
        return {**parameters, **_market(candidate)}


def _market(candidate: Candidate) -> dict[str, Any]:
    if candidate.market is not Market.SPOT:
        return {"InstanceInitiatedShutdownBehavior": "stop"}
    options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    return {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": options}}


def _alive(resource: Resource) -> bool:
    return resource.condition not in (Condition.GONE, Condition.DELETING)
