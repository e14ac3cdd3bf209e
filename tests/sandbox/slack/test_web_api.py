"""The Web API as slack_sdk calls it: places, messages, people, and the refusals Slack gives."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import RunningSandbox
from tests.sandbox.slack.rehearsal import card, section

REQUESTS = "C0GPUREQUESTS"


async def refusal(call: Awaitable[Any]) -> str:
    with pytest.raises(SlackApiError) as refused:
        await call
    return str(refused.value.response["error"])


async def test_tokens_are_checked(slack: RunningSandbox) -> None:
    assert await refusal(AsyncWebClient(base_url=slack.api_url).auth_test()) == "not_authed"
    assert await refusal(AsyncWebClient(token="xoxb-other", base_url=slack.api_url).auth_test()) == "invalid_auth"
    swapped = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
    assert await refusal(swapped.auth_test()) == "not_allowed_token_type"


async def test_an_unknown_method_is_refused(api: AsyncWebClient) -> None:
    assert await refusal(api.api_call("chat.shout")) == "unknown_method"


async def test_posting_to_places_that_do_not_take_messages(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.change_channel("gpu-fleet", app_in=False)
    await slack.change_channel("gpu-admins", app_in=False)
    await slack.change_channel("team-research", is_archived=True)
    assert await refusal(api.chat_postMessage(channel="C0GPUFLEET", text="x")) == "not_in_channel"
    assert await refusal(api.chat_postMessage(channel="C0GPUADMINS", text="x")) == "channel_not_found"
    assert await refusal(api.chat_postMessage(channel="C0TEAMRESEARCH", text="x")) == "is_archived"
    assert await refusal(api.chat_postMessage(channel="C0NOWHERE", text="x")) == "channel_not_found"
    blank = {"channel": REQUESTS, "text": " \n"}
    assert await refusal(api.api_call("chat.postMessage", json=blank)) == "no_text"
    await api.conversations_join(channel="C0GPUFLEET")
    assert (await api.chat_postMessage(channel="C0GPUFLEET", text="x"))["ok"] is True


async def test_deactivated_people_cannot_be_reached(slack: RunningSandbox, api: AsyncWebClient) -> None:
    opened = await api.conversations_open(users="U0MANAGER")
    await slack.change_person("manager", deleted=True)
    await slack.change_person("finance", deleted=True)
    assert await refusal(api.conversations_open(users="U0FINANCE")) == "user_disabled"
    assert await refusal(api.conversations_open(users="U0NOBODY")) == "user_not_found"
    assert await refusal(api.chat_postMessage(channel="U0FINANCE", text="x")) == "channel_not_found"
    assert await refusal(api.chat_postEphemeral(channel=REQUESTS, user="U0FINANCE", text="x")) == "user_not_in_channel"
    assert (await api.chat_postMessage(channel=opened["channel"]["id"], text="nobody reads this"))["ok"] is True
    assert (await api.users_info(user="U0MANAGER"))["user"]["deleted"] is True
    assert await refusal(api.users_lookupByEmail(email="manager@example.com")) == "users_not_found"


async def test_only_own_existing_messages_can_be_changed(slack: RunningSandbox, api: AsyncWebClient) -> None:
    theirs = (await slack.person("requester").say("mine", channel="gpu-requests"))["message"]
    assert await refusal(api.chat_update(channel=REQUESTS, ts=theirs["ts"], text="x")) == "cant_update_message"
    assert await refusal(api.chat_delete(channel=REQUESTS, ts=theirs["ts"])) == "cant_delete_message"
    assert await refusal(api.chat_update(channel=REQUESTS, ts="1.000001", text="x")) == "message_not_found"
    own = await api.chat_postMessage(channel=REQUESTS, text="x")
    assert await refusal(api.chat_update(channel=REQUESTS, ts=own["ts"], text="x" * 4001)) == "msg_too_long"
    hidden = await api.chat_postEphemeral(channel=REQUESTS, user="U0REQUESTER", text="x")
    assert await refusal(api.chat_update(channel=REQUESTS, ts=hidden["message_ts"], text="y")) == "message_not_found"


async def test_an_update_with_text_alone_removes_blocks_and_says_edited(
    slack: RunningSandbox, api: AsyncWebClient
) -> None:
    posted = await api.chat_postMessage(channel=REQUESTS, text="card", blocks=card())
    await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="card", blocks=[section("decided")])
    (seen,) = await slack.person("requester").messages("gpu-requests")
    assert "edited" not in seen
    assert [block["text"]["text"] for block in seen["blocks"]] == ["decided"]
    await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="over")
    (seen,) = await slack.person("requester").messages("gpu-requests")
    assert seen["edited"]["user"] == "U0LESSOR"
    assert seen["text"] == "over"
    assert "blocks" not in seen


async def test_bare_characters_come_back_escaped_and_no_longer_fit(api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel=REQUESTS, text="x", blocks=[section(">" * 3000)])
    stored = posted["message"]["blocks"]
    assert stored[0]["text"]["text"] == "&gt;" * 3000
    assert (
        await refusal(api.chat_update(channel=REQUESTS, ts=posted["ts"], text="x", blocks=stored)) == "invalid_blocks"
    )


async def test_long_text_is_cut_at_40000_characters(api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel=REQUESTS, text="x" * 40_001)
    assert len(posted["message"]["text"]) == 40_000


async def test_threads_and_replies_to_a_missing_root(slack: RunningSandbox, api: AsyncWebClient) -> None:
    root = await api.chat_postMessage(channel=REQUESTS, text="root")
    await api.chat_postMessage(channel=REQUESTS, text="reply", thread_ts=root["ts"])
    await api.chat_postMessage(channel=REQUESTS, text="astray", thread_ts="1.000001")
    thread = (await api.conversations_replies(channel=REQUESTS, ts=root["ts"]))["messages"]
    assert [message["text"] for message in thread] == ["root", "reply"]
    history = (await api.conversations_history(channel=REQUESTS))["messages"]
    assert [(message["text"], message.get("reply_count")) for message in history] == [("astray", None), ("root", 1)]
    assert await refusal(api.conversations_replies(channel=REQUESTS, ts="1.000001")) == "thread_not_found"


async def test_lists_are_paged(api: AsyncWebClient) -> None:
    first = await api.users_list(limit=4)
    rest = await api.users_list(limit=4, cursor=first["response_metadata"]["next_cursor"])
    ids = [user["id"] for page in (first, rest) for user in page["members"]]
    assert ids == ["U0REQUESTER", "U0MANAGER", "U0MANAGER2", "U0FINANCE", "U0ADMIN", "U0LESSOR"]
    assert rest["response_metadata"]["next_cursor"] == ""
    assert await refusal(api.users_list(cursor="???")) == "invalid_cursor"


async def test_profiles_carry_time_zones(api: AsyncWebClient) -> None:
    user = (await api.users_info(user="U0MANAGER2"))["user"]
    assert (user["tz"], user["tz_offset"], user["tz_label"]) == ("Asia/Tokyo", 32400, "JST")


async def test_groups_and_channels_can_be_listed(api: AsyncWebClient) -> None:
    assert (await api.usergroups_users_list(usergroup="S0GPUMANAGERS"))["users"] == ["U0MANAGER", "U0MANAGER2"]
    names = [one["name"] for one in (await api.conversations_list(types="public_channel,private_channel"))["channels"]]
    assert names == ["gpu-requests", "gpu-approvals", "gpu-fleet", "gpu-admins", "team-research"]
    assert (await api.conversations_members(channel="C0TEAMRESEARCH"))["members"] == [
        "U0REQUESTER",
        "U0MANAGER",
        "U0LESSOR",
    ]


async def test_a_file_is_uploaded_and_shown(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await api.files_upload_v2(channel=REQUESTS, content="a,b\n", filename="cost.csv", initial_comment="The costs")
    (seen,) = await slack.person("requester").messages("gpu-requests")
    assert (seen["text"], seen["files"][0]["name"], seen["files"][0]["size"]) == ("The costs", "cost.csv", 4)
    async with aiohttp.ClientSession() as session, session.get(seen["files"][0]["url_private"]) as answer:
        assert await answer.text() == "a,b\n"


async def test_a_permalink_leads_to_the_page(slack: RunningSandbox, api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel=REQUESTS, text="x")
    link = (await api.chat_getPermalink(channel=REQUESTS, message_ts=posted["ts"]))["permalink"]
    assert link == f"{slack.url}/archives/{REQUESTS}/p{posted['ts'].replace('.', '')}"
    async with aiohttp.ClientSession() as session, session.get(link, allow_redirects=False) as answer:
        assert answer.headers["location"] == f"/#{REQUESTS}/{posted['ts']}"


async def test_the_log_of_calls_names_refusals(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await api.chat_postMessage(channel=REQUESTS, text="x")
    await refusal(api.chat_postMessage(channel="C0NOWHERE", text="y"))
    calls = await slack.calls("chat.postMessage")
    assert [(call["args"]["text"], call["outcome"]) for call in calls] == [("x", "ok"), ("y", "channel_not_found")]


@pytest.mark.parametrize(
    ("content_type", "body", "error"),
    [
        ("application/json", "{", "invalid_json"),
        ("application/json", "[]", "json_not_object"),
        ("application/x-www-form-urlencoded", "channel=C0GPUREQUESTS&blocks=%7B", "invalid_blocks_format"),
    ],
)
async def test_garbage_is_refused(slack: RunningSandbox, content_type: str, body: str, error: str) -> None:
    headers = {"Authorization": f"Bearer {slack.bot_token}", "Content-Type": content_type}
    url = f"{slack.api_url}chat.postMessage"
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
        assert (answer.status, await answer.json()) == (200, {"ok": False, "error": error})
