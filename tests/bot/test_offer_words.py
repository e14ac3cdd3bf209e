"""What is offered is named once: its type where that says more than the GPUs that were asked for do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.facts import facts
from lessor.cli import leases
from lessor.domain.lease import Lease, State
from lessor.domain.request import LeaseKind
from lessor.rendering import slack_renderer
from tests.builders import ENDS, REQUESTER, a_lease, a_need, a_quote, a_request, an_offer
from workflows.details import details

TYPES = {
    "p4de.24xlarge": ("8 x A100-80GB as p4de.24xlarge (8 x A100-80GB)", "p4de.24xlarge (8 x A100-80GB)"),
    "8xA100-80GB": ("8 x A100-80GB", "8 x A100-80GB"),
    "nvidia.com/gpu": ("8 x A100-80GB", "8 x A100-80GB"),
    "gpu/A100-80GB": ("8 x A100-80GB", "8 x A100-80GB"),
    "dgx-1": ("8 x A100-80GB as dgx-1 (8 x A100-80GB)", "dgx-1 (8 x A100-80GB)"),
}


def lease_of(instance_type: str) -> Lease:
    offer = an_offer(instance_type=instance_type, gpu_count=8, gpu_model="A100-80GB", gpu_memory_gib=0)
    return a_lease(State.AWAITING_APPROVAL, quote=a_quote(offer=offer, alternatives=()))


@pytest.mark.parametrize(("instance_type", "words"), [(name, said[0]) for name, said in TYPES.items()])
@pytest.mark.parametrize("template", ["card", "details", "wish_card"])
def test_nothing_is_offered_as_what_it_is(template: str, instance_type: str, words: str) -> None:
    values = {**facts(lease_of(instance_type), ENDS), "zone": "UTC", "may_enter": False, "events": (), "refused": ()}
    assert slack_renderer().parts(f"{template}.j2", **values)["field_what"] == f"*What*\n{words}"


def test_what_was_not_named_is_told_as_what_it_is_offered() -> None:
    asked = a_request(need=a_need(model="", count=2, memory_gib=40), kind=LeaseKind.NAMESPACE)
    offer = an_offer(instance_type="nvidia.com/gpu", gpu_count=2, gpu_model="H100")
    lease = replace(a_lease(State.AWAITING_APPROVAL, quote=a_quote(offer=offer)), request=asked)
    values = {**facts(lease, ENDS), "zone": "UTC"}
    said = slack_renderer().parts("card.j2", **values)["field_what"]
    assert said == "*What*\nnamespace with 2 x any GPU 40 GB as 2 x H100"


@pytest.mark.parametrize(("instance_type", "words"), [(name, said[1]) for name, said in TYPES.items()])
def test_the_command_line_and_the_record_name_it_the_same_way(instance_type: str, words: str) -> None:
    lease = lease_of(instance_type)
    assert dict(leases.details(lease, (), ENDS, REQUESTER))["GPUs"].startswith(f"{words}, ")
    assert f"| quote | {words} at 98.32 USD an hour" in details(lease, ENDS)
