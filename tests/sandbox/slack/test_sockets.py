"""Socket Mode with the real Bolt app and client that production uses."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, RunningSandbox, buttons, running_slack_sandbox, visible_text
from tests.sandbox.slack.rehearsal import bolt_app, connected, rehearsal, section

Json = dict[str, Any]


async def test_a_slash_command_is_answered_at_once_and_later(slack: RunningSandbox) -> None:
    app = bolt_app(slack)

    @app.command("/gpu")
    async def gpu(ack: Any, command: Json, client: AsyncWebClient) -> None:
        await ack(f"working on {command['text']}")
        await client.chat_postMessage(channel=command["user_id"], text="done", blocks=[section("*done*")])

    async with connected(slack, app):
        requester = slack.person("requester")
        report = await requester.command("/gpu", "request 2 a100 for @manager in #gpu-fleet & <b>")
        assert report == {"acked": True, "error": ""}
        told = await requester.wait_for_ephemeral("working on")
        assert told["channel"] == "C0GPUREQUESTS"
        assert told["text"] == ("working on request 2 a100 for <@U0MANAGER> in <#C0GPUFLEET|gpu-fleet> &amp; &lt;b&gt;")
        message = await requester.wait_for_message("done")
        assert visible_text(message) == "*done*"
        assert await slack.person("manager").ephemerals() == []
        assert await slack.person("manager").dms() == []


async def test_a_whole_request_from_modal_to_decision(slack: RunningSandbox) -> None:
    heard: list[Json] = []
    async with connected(slack, rehearsal(slack, heard)):
        requester, manager = slack.person("requester"), slack.person("manager")
        await requester.command("/gpu", "request")
        view = await requester.wait_for_view("Choose a GPU")
        assert await requester.select(view, "H100", "gpu_choice") == {"acked": True, "error": "", "dispatched": True}
        await requester.wait_for_view("USD 4.10/h per h100")
        offered = await requester.suggestions(view, "re", "team_typed")
        assert [option["value"] for option in offered] == ["research"]
        typed = {"count": 13, "purpose": "tune & <run>", "market": "Spot", "team_typed": "research"}
        refused = await requester.submit_view(typed)
        assert refused["errors"] == {"count": "13 is more than your team may have."}
        accepted = await requester.submit_view({"count": 2})
        assert accepted == {"acked": True, "error": "", "response_action": "", "errors": {}}
        assert await requester.views() == []
        assert heard[0]["purpose"]["purpose_typed"]["value"] == "tune & <run>"
        assert heard[0]["market"]["market_picked"]["selected_option"]["value"] == "spot"
        card = await manager.wait_for_message("gpu-7k3qxa2m", channel="gpu-approvals")
        assert buttons(card) == ["Approve", "Deny"]
        await manager.click(card, label="Approve")
        decided = await manager.wait_for_message("Approved by <@U0MANAGER>", channel="gpu-approvals")
        assert (decided["ts"], buttons(decided)) == (card["ts"], [])
        await requester.wait_for_message("Your machine is on its way")
        assert heard[1]["message"]["ts"] == card["ts"]
        assert heard[1]["user"]["id"] == "U0MANAGER"


async def test_incomplete_fields_are_held_back_by_the_client(slack: RunningSandbox) -> None:
    heard: list[Json] = []
    async with connected(slack, rehearsal(slack, heard)):
        requester = slack.person("requester")
        await requester.command("/gpu", "request")
        await requester.wait_for_view("Choose a GPU")
        report = await requester.submit_view({"count": 17, "purpose": "x" * 301})
        assert report["errors"] == {
            "gpu": "Please complete this required field.",
            "count": "Please enter 16 or less.",
            "purpose": "Please enter at most 300 characters.",
        }
        assert heard == []


async def test_home_mentions_and_direct_messages_reach_the_app(slack: RunningSandbox) -> None:
    heard: list[Json] = []
    async with connected(slack, rehearsal(slack, heard)):
        requester = slack.person("requester")
        await requester.open_home()
        await requester.wait_for_home("Your leases")
        said = (await requester.say("hello & bye"))["message"]
        await requester.wait_for_message("You said: hello & bye")
        assert [(event["channel_type"], event["text"], event["ts"]) for event in heard] == [
            ("im", "hello &amp; bye", said["ts"])
        ]
        assert (await requester.messages("lessor", thread_ts=said["ts"]))[1]["thread_ts"] == said["ts"]


async def test_load_is_spread_over_connections(slack: RunningSandbox) -> None:
    counts = Counter[str]()

    def counting(name: str) -> AsyncApp:
        app = bolt_app(slack)

        @app.command("/gpu")
        async def gpu(ack: Any) -> None:
            counts[name] += 1
            await ack()

        return app

    async with connected(slack, counting("one")), connected(slack, counting("other")):
        for _ in range(6):
            await slack.person("requester").command("/gpu", "list")
    assert counts == {"one": 3, "other": 3}


async def test_nobody_connected_is_told_to_the_person(slack: RunningSandbox) -> None:
    requester = slack.person("requester")
    assert await requester.command("/gpu", "list") == {"acked": False, "error": "dispatch_failed"}
    (told,) = await requester.ephemerals()
    assert told["text"] == '`/gpu` failed with the error "dispatch_failed"'
    assert told["author"] == "Slackbot"


async def test_a_late_acknowledgement_is_a_timeout_and_a_second_delivery(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        app = bolt_app(slack)
        seen: list[Json] = []
        arrived, go_on = asyncio.Event(), asyncio.Event()

        @app.command("/gpu")
        async def gpu(ack: Any, body: Json) -> None:
            seen.append(body)
            arrived.set()
            await go_on.wait()
            await ack("too late")

        async with connected(slack, app, count=2):
            requester = slack.person("requester")
            command = asyncio.create_task(requester.command("/gpu", "list"))
            await arrived.wait()
            arrived.clear()
            await clock.advance(3.0)
            assert await command == {"acked": False, "error": "operation_timeout"}
            await arrived.wait()
            go_on.set()
            log = await slack.wait_until(lambda: attempts(slack, "slash_commands", 2))
        assert [(one["outcome"], one["attempt"]) for one in log] == [("operation_timeout", 0), ("ok", 0)]
        assert log[0]["envelope_id"] == log[1]["envelope_id"]
        assert seen[0]["trigger_id"] == seen[1]["trigger_id"]
        assert [one["text"] for one in await requester.ephemerals()] == [
            '`/gpu` failed with the error "operation_timeout"'
        ]


async def attempts(slack: RunningSandbox, kind: str, count: int) -> list[Json] | None:
    log = await slack.deliveries(kind)
    return log if len(log) == count else None


async def test_unacknowledged_events_are_retried_three_times(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        await slack.add_fault("ignore_ack", "events_api", times=None)
        app = bolt_app(slack)
        numbers: asyncio.Queue[int] = asyncio.Queue()

        @app.event("message")
        async def said(event: Json, request: Any) -> None:
            numbers.put_nowait(int(request.headers.get("x-slack-retry-num", ["0"])[0]))

        async with connected(slack, app):
            await slack.person("requester").say("hello")
            for number, pause in enumerate([0.0, 0.0, 60.0, 300.0]):
                await clock.advance(pause)
                assert await numbers.get() == number
            log = await slack.deliveries("events_api")
        assert {one["payload"]["event_id"] for one in log} == {log[0]["payload"]["event_id"]}


async def test_retries_can_be_made_to_follow_at_once(slack: RunningSandbox) -> None:
    await slack.add_fault("ignore_ack", "events_api", times=None)
    assert (await slack.switch(event_retry_seconds=[0, 0, 0]))["event_retry_seconds"] == [0.0, 0.0, 0.0]
    async with connected(slack, rehearsal(slack, [])):
        await slack.person("requester").say("hello")
        log = await slack.wait_until(lambda: attempts(slack, "events_api", 4))
    assert [one["attempt"] for one in log] == [0, 1, 2, 3]


async def test_a_lost_delivery_is_only_ever_seen_as_a_retry(slack: RunningSandbox) -> None:
    await slack.add_fault("lose_delivery", "events_api")
    app = bolt_app(slack)
    numbers: asyncio.Queue[str] = asyncio.Queue()

    @app.event("message")
    async def said(request: Any) -> None:
        numbers.put_nowait(request.headers["x-slack-retry-num"][0])

    async with connected(slack, app):
        await slack.person("requester").say("hello")
        assert await numbers.get() == "1"
        assert numbers.empty()


@pytest.mark.parametrize(("ids", "envelopes", "events"), [("same", 1, 1), ("new", 11, 11)])
async def test_one_message_can_arrive_eleven_times(
    slack: RunningSandbox, ids: str, envelopes: int, events: int
) -> None:
    await slack.add_fault("duplicate", "events_api", copies=10, ids=ids)
    app = bolt_app(slack)
    bodies: asyncio.Queue[Json] = asyncio.Queue()

    @app.event("message")
    async def said(body: Json) -> None:
        bodies.put_nowait(body)

    async with connected(slack, app, count=2):
        await slack.person("requester").say("once")
        got = [await bodies.get() for _ in range(11)]
        log = await slack.wait_until(lambda: attempts(slack, "events_api", 11))
    assert len({body["event"]["ts"] for body in got}) == 1
    assert len({body["event_id"] for body in got}) == events
    assert len({one["envelope_id"] for one in log}) == envelopes
    assert {one["outcome"] for one in log} == {"ok"}
    assert {one["attempt"] for one in log} == {0}


async def test_the_app_comes_back_after_a_disconnect(slack: RunningSandbox) -> None:
    app = bolt_app(slack)

    @app.command("/gpu")
    async def gpu(ack: Any) -> None:
        await ack("here")

    async with connected(slack, app):
        assert await slack.disconnect("refresh") == 1
        await slack.wait_for_connections(1)
        assert (await slack.person("requester").command("/gpu", "list"))["acked"] is True


async def test_a_ticket_opens_one_connection(slack: RunningSandbox) -> None:
    client = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
    url = str((await client.apps_connections_open(app_token=slack.app_token))["url"])
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as socket:
            hello = await socket.receive_json()
            assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_interactions_can_carry_other_ids(slack: RunningSandbox) -> None:
    await slack.change_person("requester", enterprise_id="W0REQUESTER")
    await slack.switch(enterprise_ids=True, interaction_team_id="T0OTHER")
    app = bolt_app(slack)
    bodies: list[Json] = []

    @app.command("/gpu")
    async def gpu(ack: Any, body: Json) -> None:
        bodies.append(body)
        await ack()

    async with connected(slack, app):
        await slack.person("requester").command("/gpu", "list")
    assert (bodies[0]["user_id"], bodies[0]["team_id"]) == ("W0REQUESTER", "T0OTHER")
