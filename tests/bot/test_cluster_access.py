"""Getting into a lease from Slack: to whom it is told, and that an access is shown to nobody else and kept nowhere."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.request import Place
from lessor.ports import Credentials, Heartbeat
from tests.bot.lab import in_the_lab, told
from tests.bot.world import World

WAY_IN = "lessor access ID --kubeconfig FILE\nkubectl --kubeconfig FILE get pods"


async def test_the_way_in_is_told_to_those_who_may_use_it(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id}")
    text = await told(requester, "Get in with:")
    assert f"`{lease.id}` (namespace with 2 x A100-80GB) in kubernetes/lab" in text
    assert WAY_IN in text
    assert "an access that ends by itself and is kept nowhere" in text
    finance = lab.slack.person("finance")
    await finance.command("/gpu", f"access {lease.id}")
    await finance.wait_for_ephemeral(f"{lease.id} belongs to somebody else")
    admin = lab.slack.person("admin")
    await admin.command("/gpu", f"access {lease.id}")
    assert WAY_IN in await told(admin, "Get in with:")


KUBECONFIG = "apiVersion: v1\nusers:\n- name: me\n  user: {token: s3cret-<&>}"


def with_keys(world: World, text: str = KUBECONFIG) -> list[str]:
    """The provider hands out access; the ids of leases for which it did."""
    given: list[str] = []

    def credentials(lease_id: str, place: Place, heartbeat: Heartbeat) -> Credentials:
        given.append(lease_id)
        return Credentials(text, world.clock() + timedelta(hours=8))

    world.cloud.credentials = credentials  # type: ignore[attr-defined]
    return given


async def test_a_kubeconfig_is_shown_to_who_asks_alone_and_goes_nowhere_else(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    given = with_keys(lab)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id} kubeconfig")
    text = (await requester.wait_for_ephemeral(lambda message: "s3cret" in str(message)))["text"]
    assert "for you alone. Save it as `kubeconfig`" in text
    assert "user: {token: s3cret-&lt;&amp;&gt;}" in text
    assert given == [lease.id]
    events = await lab.gateway.events(lease.id)
    assert [one.event.data["via"] for one in events if one.event.type == "access-given"] == ["slack"]
    assert "s3cret" not in str(events)
    assert all("s3cret" not in str(call) for call in await lab.slack.calls("chat.postMessage"))
    assert all("s3cret" not in str(call) for call in await lab.slack.calls("chat.postEphemeral"))


async def test_a_kubeconfig_is_never_posted_where_it_would_stay(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    given = with_keys(lab)
    requester = lab.slack.person("requester")
    await requester.say(f"access {lease.id} kubeconfig")
    await requester.wait_for_message("an access is shown in no message that stays; write it as /gpu access, or write")
    assert given == []


@pytest.mark.parametrize("who", ["finance", "manager-2"])
async def test_a_kubeconfig_is_for_those_who_may_enter(lab: World, who: str) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    given = with_keys(lab)
    person = lab.slack.person(who)
    await person.command("/gpu", f"access {lease.id} kubeconfig")
    await person.wait_for_ephemeral(f"{lease.id} belongs to somebody else")
    assert given == []


async def test_an_access_that_is_too_long_is_thrown_away(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    with_keys(lab, "&" * 1_000)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id} kubeconfig")
    text = await told(requester, "this access is too long for a message")
    assert f"lessor access {lease.id} --kubeconfig FILE" in text


async def test_a_machine_is_got_into_by_what_its_provider_says(lab: World) -> None:
    lease = await lab.running(await lab.ask())
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id}")
    text = await told(requester, "Get in with:")
    assert "aws ssm start-session --target i-0aaa" in text
    assert "kept nowhere" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the lease id is missing; write /gpu access ID"), ("all", "'all' is no lease id; write /gpu access ID")],
)
async def test_access_needs_a_lease(lab: World, text: str, message: str) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {text}".strip())
    await requester.wait_for_ephemeral(message)


async def test_there_is_no_way_into_what_does_not_run(lab: World) -> None:
    lease = await in_the_lab(lab)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id}")
    await requester.wait_for_ephemeral(f"{lease.id} is awaiting approval; there is nothing to get into")
