"""What all simulated EC2 actions share: the memory beside moto, who asks, which resources they may see yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from moto.ec2.responses import EC2Response

from lessor.sandbox.aws.ec2.lifecycle import InstanceRecord
from lessor.sandbox.aws.ec2.refusals import unknown_instances
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.identity import Caller
from lessor.sandbox.aws.state import CloudState
from lessor.sandbox.aws.tags import check_tags


class Ec2Actions(EC2Response):
    """moto's EC2 with the simulator's `state`, acting for one `caller`."""

    def __init__(self, state: CloudState, caller: Caller, authorize: Callable[[Ec2Actions], None]) -> None:
        super().__init__()
        self.state = state
        self.caller = caller
        self._authorize = authorize

    def get_current_account(self) -> str:
        return self.caller.account

    def call_action(self) -> Any:
        self._authorize(self)
        return super().call_action()

    def tag_specifications(self) -> dict[str, dict[str, str]]:
        """Tags to set at creation, by resource type."""
        specifications = self._get_param("TagSpecifications") or self._get_param("TagSpecification") or []
        tags: dict[str, dict[str, str]] = {}
        for specification in specifications:
            listed = {tag["Key"]: tag.get("Value", "") for tag in specification.get("Tags", [])}
            tags.setdefault(specification.get("ResourceType", ""), {}).update(listed)
        return tags

    def check_tags(self, tags: dict[str, str]) -> None:
        check_tags(tags, strict_characters=self.state.strict_tag_characters)

    def records(self, instance_ids: Iterable[str]) -> list[InstanceRecord]:
        """The instances of these ids in this account and region, or EC2's refusal of the ones it does not know."""
        wanted = list(instance_ids)
        malformed = next((i for i in wanted if not re.fullmatch(r"i-[0-9a-f]{8}([0-9a-f]{9})?", i)), None)
        if malformed is not None:
            raise AwsError("InvalidInstanceID.Malformed", f'Invalid id: "{malformed}"')
        known = {record.instance.id: record for record in self._own_fleet() if self.is_visible(record)}
        missing = [instance_id for instance_id in wanted if instance_id not in known]
        if missing:
            raise unknown_instances(missing)
        return [known[instance_id] for instance_id in wanted]

    def is_visible(self, record: InstanceRecord) -> bool:
        return record.hidden_reads <= 0 and self.state.clock.now() >= record.visible_at

    def hidden_ids(self) -> set[str]:
        """Ids of new instances, their volumes and interfaces that EC2 does not show yet; counts as one look-up."""
        hidden: set[str] = set()
        for record in self._own_fleet():
            if self.is_visible(record):
                continue
            hidden.add(record.instance.id)
            hidden |= {device.volume_id for device in record.instance.block_device_mapping.values()}
            hidden |= {interface.id for interface in record.instance.nics.values()}
        return hidden

    def count_look_up(self) -> None:
        """One more look-up has passed for instances hidden by number of look-ups."""
        for record in self._own_fleet():
            record.hidden_reads = max(0, record.hidden_reads - 1)

    def _own_fleet(self) -> list[InstanceRecord]:
        return [r for r in self.state.fleet if r.account == self.current_account and r.region == self.region]
