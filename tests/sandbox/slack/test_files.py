"""Files as slack_sdk uploads them, and images of them in messages: shown once Slack is done with them, else refused."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Page, expect
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, RunningSandbox, running_slack_sandbox
from lessor.sandbox.slack.persistence import Snapshot
from tests.sandbox.slack.conftest import everything_granted

REQUESTS = "C0GPUREQUESTS"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd0000000d49444154789c63f8"
    "cf0004ff01070001ffe2239e590000000049454e44ae426082"
)
Json = dict[str, Any]


def image(**slack_file: str) -> Json:
    return {"type": "image", "alt_text": "two dots", "slack_file": slack_file}


async def refused(call: Awaitable[Any]) -> tuple[str, list[str]]:
    with pytest.raises(SlackApiError) as error:
        await call
    answer = error.value.response
    return str(answer["error"]), list((answer.get("response_metadata") or {}).get("messages", []))


async def uploaded(api: AsyncWebClient, content: bytes = PNG) -> Json:
    answer = await api.files_upload_v2(content=content, filename="use.png", title="What the GPUs did")
    file: Json = answer["file"]
    return file


async def test_an_image_can_be_shown_some_time_after_its_upload() -> None:
    clock = ManualClock()
    async with running_slack_sandbox(workspace=everything_granted(), clock=clock) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        file = await uploaded(api)
        assert (file["title"], file["size"], file["mimetype"]) == ("What the GPUs did", len(PNG), "")
        blocks = [image(id=file["id"])]
        code, reasons = await refused(api.chat_postMessage(channel=REQUESTS, text="x", blocks=blocks))
        assert (code, reasons) == ("invalid_blocks", ["[ERROR] invalid slack file [json-pointer:/blocks/0/slack_file]"])
        await clock.advance(0.5)
        known = (await api.files_info(file=file["id"]))["file"]
        assert (known["mimetype"], known["filetype"]) == ("image/png", "png")
        posted = await api.chat_postMessage(channel=REQUESTS, text="x", blocks=blocks)
        assert posted["message"]["blocks"][0]["slack_file"] == {"id": file["id"]}
        async with aiohttp.ClientSession() as session, session.get(known["url_private"]) as answer:
            assert (answer.content_type, await answer.read()) == ("image/png", PNG)


async def test_images_stand_by_id_or_address_in_all_places(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.switch(file_seconds=0)
    file = await uploaded(api)
    by_id, by_address = image(id=file["id"]), image(url=file["url_private"])
    words = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}, "accessory": by_id}
    posted = await api.chat_postMessage(
        channel=REQUESTS, text="x", blocks=[by_id, by_address, words, {"type": "context", "elements": [by_address]}]
    )
    assert posted["ok"] is True
    updated = await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="x", blocks=[by_address])
    assert updated["message"]["blocks"][0]["slack_file"] == {"url": file["url_private"]}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"id": "F0NOSUCHFILE"}, "invalid slack file [json-pointer:/blocks/0/slack_file]"),
        ({"url": "https://files.slack.com/x.png"}, "invalid slack file [json-pointer:/blocks/0/slack_file]"),
        (
            {"id": "https://files.slack.com/x.png"},
            "input must match regex pattern: ^[F][A-Z0-9]{8,}$ [json-pointer:/blocks/0/slack_file/id]",
        ),
        ({}, "must define exactly one of `id` and `url` [json-pointer:/blocks/0/slack_file]"),
        (
            {"id": "F0NOSUCHFILE", "url": "https://files.slack.com/x.png"},
            "must define exactly one of `id` and `url` [json-pointer:/blocks/0/slack_file]",
        ),
    ],
)
async def test_what_is_no_file_is_refused_with_the_place(api: AsyncWebClient, wrong: Json, reason: str) -> None:
    blocks = [image(**wrong)]
    code, reasons = await refused(api.chat_postMessage(channel=REQUESTS, text="x", blocks=blocks))
    assert (code, reasons) == ("invalid_blocks", [f"[ERROR] {reason}"])


async def test_a_home_with_an_unknown_image_is_refused(api: AsyncWebClient) -> None:
    view = {"type": "home", "blocks": [image(id="F0NOSUCHFILE")]}
    code, reasons = await refused(api.views_publish(user_id="U0REQUESTER", view=view))
    assert (code, reasons) == (
        "invalid_arguments",
        ["[ERROR] invalid slack file [json-pointer:/view/blocks/0/slack_file]"],
    )


async def test_only_images_are_shown_whatever_their_name(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.switch(file_seconds=0)
    file = await uploaded(api, b"a,b\n")
    code, _ = await refused(api.chat_postMessage(channel=REQUESTS, text="x", blocks=[image(id=file["id"])]))
    assert code == "invalid_blocks"
    assert (await api.files_info(file=file["id"]))["file"]["mimetype"] == "application/octet-stream"


async def test_an_upload_is_completed_only_when_everything_was_sent(api: AsyncWebClient) -> None:
    asked = await api.files_getUploadURLExternal(filename="use.png", length=len(PNG))
    completion: list[dict[str, str | None]] = [{"id": asked["file_id"]}]
    assert (await refused(api.files_completeUploadExternal(files=completion)))[0] == "file_not_found"
    async with aiohttp.ClientSession() as session:
        async with session.post(asked["upload_url"], data=PNG[:-1]) as answer:
            assert (answer.status, await answer.text()) == (400, "file size does not match the announced length")
        assert (await refused(api.files_completeUploadExternal(files=completion)))[0] == "file_not_found"
        async with session.post(asked["upload_url"], data=PNG) as answer:
            assert (answer.status, await answer.text()) == (200, f"OK - {len(PNG)}")
    assert (await refused(api.files_info(file=asked["file_id"])))[0] == "file_not_found"
    assert (await api.files_completeUploadExternal(files=completion))["files"][0]["name"] == "use.png"


async def test_wrong_arguments_are_refused(api: AsyncWebClient) -> None:
    assert (await refused(api.files_getUploadURLExternal(filename="use.png", length=0)))[0] == "invalid_arguments"
    long = "x" * 1001
    call = api.files_getUploadURLExternal(filename="use.png", length=1, alt_txt=long)
    assert (await refused(call))[0] == "alt_txt_too_large"
    assert (await refused(api.api_call("files.completeUploadExternal", json={"files": ["F1"]})))[0] == (
        "invalid_arguments"
    )
    assert (await refused(api.files_info(file="F0NOSUCHFILE")))[0] == "file_not_found"


async def test_the_place_where_files_are_sent_can_be_down(slack: RunningSandbox, api: AsyncWebClient) -> None:
    asked = await api.files_getUploadURLExternal(filename="use.png", length=len(PNG))
    await slack.add_fault("down", "upload")
    async with aiohttp.ClientSession() as session, session.post(asked["upload_url"], data=PNG) as answer:
        assert answer.status == 503
    async with aiohttp.ClientSession() as session, session.post(asked["upload_url"], data=PNG) as answer:
        assert answer.status == 200


async def test_files_need_their_scopes() -> None:
    async with running_slack_sandbox() as slack:
        granted = slack.core.workspace.app.scopes
    assert {"files:read", "files:write"} <= set(granted)
    workspace = everything_granted().with_manifest({"oauth_config": {"scopes": {"bot": ["chat:write"]}}})
    async with running_slack_sandbox(workspace=workspace) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        with pytest.raises(SlackApiError) as error:
            await api.files_getUploadURLExternal(filename="use.png", length=1)
    assert (error.value.response["error"], error.value.response["needed"]) == ("missing_scope", "files:write")


async def test_files_are_kept_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "slack.json"
    async with running_slack_sandbox(workspace=everything_granted()) as slack:
        await slack.switch(file_seconds=0)
        file = await uploaded(AsyncWebClient(token=slack.bot_token, base_url=slack.api_url))
        Snapshot(path).save(slack.core.store, slack.core.files)
    async with running_slack_sandbox(workspace=everything_granted()) as slack:
        Snapshot(path).load(slack.core.store, slack.core.files)
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        posted = await api.chat_postMessage(channel=REQUESTS, text="x", blocks=[image(id=file["id"])])
        async with aiohttp.ClientSession() as session, session.get(f"{slack.url}/files/{file['id']}") as answer:
            assert (posted["ok"], await answer.read()) == (True, PNG)


async def test_the_page_draws_the_picture(page: Page, slack: RunningSandbox) -> None:
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    await slack.switch(file_seconds=0)
    file = await uploaded(api)
    await api.chat_postMessage(channel=REQUESTS, text="x", blocks=[{**image(id=file["id"]), "block_id": "chart"}])
    picture = page.get_by_test_id("block-chart").get_by_role("img", name="two dots")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("async node => { await node.decode(); return node.naturalWidth }") == 2
