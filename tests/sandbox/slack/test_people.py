"""What people see and may do: membership, privacy, unread counts, refusals that say what to do."""

from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import PersonError, RunningSandbox
from tests.sandbox.slack.rehearsal import button, section

REQUESTS = "C0GPUREQUESTS"


async def test_direct_and_ephemeral_messages_are_private(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await api.chat_postMessage(channel="U0REQUESTER", text="for you")
    await api.chat_postEphemeral(channel=REQUESTS, user="U0REQUESTER", text="only you")
    requester, manager = slack.person("requester"), slack.person("manager")
    assert [one["text"] for one in await requester.dms()] == ["for you"]
    assert [one["text"] for one in await requester.messages("gpu-requests")] == ["only you"]
    assert (await manager.dms(), await manager.messages("gpu-requests")) == ([], [])
    with pytest.raises(PersonError, match="this conversation is not yours"):
        await manager.messages("D0REQUESTER")
    history = await api.conversations_history(channel=REQUESTS)
    assert history["messages"] == []


async def test_only_members_are_in_a_channel(slack: RunningSandbox) -> None:
    with pytest.raises(PersonError, match="requester is not in #gpu-approvals"):
        await slack.person("requester").messages("gpu-approvals")
    with pytest.raises(PersonError, match="no channel or person is called `nowhere`"):
        await slack.person("requester").say("x", channel="nowhere")


async def test_deactivated_people_do_nothing(slack: RunningSandbox) -> None:
    await slack.change_person("manager", deleted=True)
    with pytest.raises(PersonError, match="the account of `manager` is deactivated"):
        await slack.person("manager").say("x", channel="gpu-requests")
    with pytest.raises(PersonError, match="nobody is called `stranger`"):
        await slack.person("stranger").dms()


async def test_people_talk_to_each_other_without_the_app_hearing(slack: RunningSandbox) -> None:
    await slack.person("requester").say("psst", channel="@manager")
    (seen,) = await slack.person("manager").messages("requester")
    assert (seen["text"], seen["author"]) == ("psst", "Requester")
    assert await slack.deliveries() == []
    assert await slack.person("requester").dms() == []


async def test_unread_messages_are_counted_until_read(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await api.chat_postMessage(channel="C0TEAMRESEARCH", text="one")
    await slack.person("requester").say("two", channel="team-research")
    state = await slack.request("GET", "people/manager/state")
    unread = {one["name"]: one["unread"] for one in state["conversations"]}
    assert (unread["team-research"], state["people"]["U0MANAGER"], state["people"]["U0FINANCE"]) == (2, 2, 0)
    await slack.request("POST", "people/manager/read", {"channel": "team-research"})
    state = await slack.request("GET", "people/manager/state")
    assert state["people"]["U0MANAGER"] == 0


async def test_an_unknown_command_is_answered_by_the_client(slack: RunningSandbox) -> None:
    requester = slack.person("requester")
    assert await requester.command("/cpu", "x") == {"acked": False, "error": "unknown_command"}
    assert [one["text"] for one in await requester.ephemerals()] == ["`/cpu` is not a valid command."]


async def test_a_missing_button_is_named_with_those_that_are_there(slack: RunningSandbox, api: AsyncWebClient) -> None:
    blocks = [{"type": "actions", "elements": [button("a", "Approve"), button("b", "Deny")]}]
    await api.chat_postMessage(channel=REQUESTS, text="card", blocks=blocks)
    requester = slack.person("requester")
    (card,) = await requester.messages("gpu-requests")
    with pytest.raises(PersonError, match=r"nothing here with label `Extend`; there is: \['Approve', 'Deny'\]"):
        await requester.click(card, label="Extend")


async def test_waiting_says_what_was_there_instead(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await api.chat_postMessage(channel=REQUESTS, text="other", blocks=[section("another thing")])
    with pytest.raises(TimeoutError, match=r"sought `this`; there is: \['another thing'\]"):
        await slack.person("requester").wait_for_message("this", channel="gpu-requests", timeout=0.02)


async def test_only_json_is_taken_so_that_foreign_pages_cannot_act(slack: RunningSandbox) -> None:
    url = f"{slack.url}/sandbox/api/people/requester/say"
    async with aiohttp.ClientSession() as session, session.post(url, data='{"text": "x"}') as answer:
        assert (answer.status, await answer.json()) == (415, {"ok": False, "error": "send application/json"})


async def test_messages_are_deleted_by_their_author_or_an_admin(slack: RunningSandbox, api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel=REQUESTS, text="card")
    where = {"channel": REQUESTS, "ts": posted["ts"]}
    with pytest.raises(PersonError, match="only its author or an admin can delete a message"):
        await slack.person("manager").delete(where)
    await slack.person("admin").delete(where)
    assert await slack.person("manager").messages("gpu-requests") == []


async def test_initial_choices_in_a_message_are_its_state(slack: RunningSandbox, api: AsyncWebClient) -> None:
    picker = {"type": "datepicker", "action_id": "day", "initial_date": "2026-06-01"}
    blocks = [{"type": "actions", "block_id": "b", "elements": [picker]}]
    posted = await api.chat_postMessage(channel=REQUESTS, text="card", blocks=blocks)
    (seen,) = await slack.person("manager").messages("gpu-requests")
    assert seen["values"] == {"b": {"day": {"type": "datepicker", "selected_date": "2026-06-01"}}}
    await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="over", blocks=[section("over")])
    (seen,) = await slack.person("manager").messages("gpu-requests")
    assert seen["values"] == {}
