"""The shipped app manifest fits the bot: what it listens to is registered, what it calls is permitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.ids import COMMAND, Form
from lessor.sandbox.slack import Workspace, running_slack_sandbox
from tests.bot.doing_nothing import Easel, metered, seen_idle, warned
from tests.bot.world import World, a_world

MANIFEST = Path(__file__).parents[2] / "deploy" / "slack" / "manifest.yaml"

NEEDED = {
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "conversations.open": "im:write",
    "conversations.history": "channels:history groups:history im:history",
    "conversations.replies": "channels:history groups:history im:history",
    "conversations.list": "channels:read groups:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "users.info": "users:read users:read.email",
    "users.list": "users:read",
    "bots.info": "users:read",
    "views.open": "",
    "views.update": "",
    "views.publish": "",
    "auth.test": "",
    "apps.connections.open": "",
}
"""Scopes by method, from each method's page on docs.slack.dev."""


@pytest.fixture
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(MANIFEST.read_text())
    return loaded


def test_command_shortcut_events_and_socket_mode_are_registered(manifest: dict[str, Any]) -> None:
    features, settings = manifest["features"], manifest["settings"]
    assert [one["command"] for one in features["slash_commands"]] == [COMMAND]
    assert features["slash_commands"][0]["should_escape"] is True
    assert [one["callback_id"] for one in features["shortcuts"]] == [Form.SHORTCUT]
    assert settings["event_subscriptions"]["bot_events"] == ["app_home_opened", "app_mention", "message.im"]
    assert settings["interactivity"]["is_enabled"]
    assert settings["socket_mode_enabled"]
    assert features["app_home"]["home_tab_enabled"]


async def test_everything_that_a_story_calls_is_permitted(manifest: dict[str, Any], sqlite_url: str) -> None:
    scopes = set(manifest["oauth_config"]["scopes"]["bot"])
    workspace = Workspace.default().with_manifest_file(MANIFEST)
    easel = Easel()
    async with running_slack_sandbox(workspace=workspace) as slack, a_world(slack, sqlite_url, draw=easel.png) as world:
        await slack.switch(file_seconds=0)
        await story(world)
        called = {call["method"] for call in await slack.calls()}
    assert "files.completeUploadExternal" in called
    assert called <= set(NEEDED)
    assert {scope for method in called for scope in NEEDED[method].split()} <= scopes
    assert "commands" in scopes


async def story(world: World) -> None:
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    await requester.shortcut(Form.SHORTCUT)
    form = await requester.wait_for_view("Price:")
    values = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}
    assert (await requester.submit_view(values, form))["errors"] == {}
    await world.settled()
    await requester.open_home()
    await requester.wait_for_home(world.only_lease().id)
    await manager.click(await manager.wait_for_message("GPU request"), "approve")
    await world.settled()
    assert world.only_lease().decided_by == "U0MANAGER"
    lease = await seen_idle(world, await world.provisioned(world.only_lease()))
    metered(world, lease)
    await warned(world, lease)
