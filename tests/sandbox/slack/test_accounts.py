"""User groups, statuses, deactivation and scopes: what a directory reads, as strict as Slack is."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, PersonError, RunningSandbox, Workspace, running_slack_sandbox
from lessor.sandbox.slack.clock import SystemClock
from lessor.sandbox.slack.files import Files
from lessor.sandbox.slack.persistence import Snapshot
from lessor.sandbox.slack.store import Store
from tests.sandbox.slack.rehearsal import bolt_app, connected

Json = dict[str, Any]
MANIFEST = Path(__file__).parents[3] / "deploy" / "slack" / "manifest.yaml"
NO_STATUS = {"status_text": "", "status_emoji": "", "status_expiration": 0}


async def refused(call: Awaitable[Any]) -> Json:
    with pytest.raises(SlackApiError) as raised:
        await call
    answer: Json = raised.value.response.data
    return answer


async def status_of(api: AsyncWebClient, user: str = "U0MANAGER") -> Json:
    profile = (await api.users_info(user=user))["user"]["profile"]
    return {name: profile[name] for name in NO_STATUS}


def without(*names: str) -> Workspace:
    """The default workspace whose app was installed without these scopes."""
    workspace = Workspace.default()
    app = workspace.app
    return replace(workspace, app=replace(app, scopes=tuple(one for one in app.scopes if one not in names)))


async def test_groups_are_listed_with_their_people_when_asked(api: AsyncWebClient) -> None:
    bare = (await api.usergroups_list())["usergroups"]
    assert [one["handle"] for one in bare] == ["gpu-managers", "gpu-approvers", "gpu-admins"]
    assert all("users" not in one and "user_count" not in one for one in bare)
    full = (await api.usergroups_list(include_users=True, include_count=True))["usergroups"][1]
    assert (full["id"], full["users"], full["user_count"]) == ("S0GPUAPPROVERS", ["U0FINANCE", "U0MANAGER2"], "2")
    assert full["date_delete"] == 0


async def test_a_disabled_group_is_found_only_by_those_who_ask_for_it(
    slack: RunningSandbox, api: AsyncWebClient
) -> None:
    await slack.change_usergroup("gpu-approvers", disabled=1_780_000_000)
    assert "S0GPUAPPROVERS" not in [one["id"] for one in (await api.usergroups_list())["usergroups"]]
    assert (await refused(api.usergroups_users_list(usergroup="S0GPUAPPROVERS")))["error"] == "no_such_subteam"
    listed = (await api.usergroups_list(include_disabled=True))["usergroups"]
    assert {one["id"]: one["date_delete"] for one in listed}["S0GPUAPPROVERS"] == 1_780_000_000
    people = await api.usergroups_users_list(usergroup="S0GPUAPPROVERS", include_disabled=True)
    assert people["users"] == ["U0FINANCE", "U0MANAGER2"]


@pytest.mark.parametrize("name", ["gpu-approvers", "S0NOWHERE", "U0MANAGER"])
async def test_a_group_is_named_by_its_id_only(api: AsyncWebClient, name: str) -> None:
    assert (await refused(api.usergroups_users_list(usergroup=name)))["error"] == "no_such_subteam"


async def test_the_people_of_a_group_change(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.change_usergroup("@gpu-approvers", members=["admin", "U0MANAGER"])
    assert (await api.usergroups_users_list(usergroup="S0GPUAPPROVERS"))["users"] == ["U0ADMIN", "U0MANAGER"]
    with pytest.raises(PersonError, match="no user group is called `gpu-nobody`"):
        await slack.change_usergroup("gpu-nobody", members=[])


async def test_what_the_app_was_not_granted_is_refused_with_what_it_needs() -> None:
    async with running_slack_sandbox(workspace=without("usergroups:read", "users:read.email")) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        answer = await refused(api.usergroups_list())
        assert (answer["error"], answer["needed"]) == ("missing_scope", "usergroups:read")
        assert "chat:write" in answer["provided"].split(",")
        assert (await refused(api.users_lookupByEmail(email="manager@example.com")))["needed"] == "users:read.email"
        assert "email" not in (await api.users_info(user="U0MANAGER"))["user"]["profile"]
        assert (await api.chat_postMessage(channel="C0GPUREQUESTS", text="x"))["ok"] is True


def test_the_sandbox_grants_its_app_what_the_shipped_manifest_asks_for() -> None:
    app = Workspace.default().app
    shipped = Workspace.default().with_manifest_file(MANIFEST).app
    assert sorted(app.scopes) == sorted(shipped.scopes)
    assert (app.events, app.shortcuts) == (shipped.events, shipped.shortcuts)


async def test_a_status_is_seen_until_it_expires(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        assert await status_of(api) == NO_STATUS
        over = int(clock.now()) + 3600
        await slack.person("manager").set_status("Out of office", ":palm_tree:", over)
        away = {"status_text": "Out of office", "status_emoji": ":palm_tree:", "status_expiration": over}
        assert await status_of(api) == away
        state = await slack.request("GET", "people/requester/state")
        assert state["accounts"]["U0MANAGER"] == {"deleted": False, **away}
        await clock.advance(3600)
        assert await status_of(api) == NO_STATUS


async def test_a_status_without_end_stays_until_it_is_cleared(slack: RunningSandbox, api: AsyncWebClient) -> None:
    manager = slack.person("manager")
    await manager.set_status("Vacationing")
    assert await status_of(api) == {
        "status_text": "Vacationing",
        "status_emoji": ":speech_balloon:",
        "status_expiration": 0,
    }
    await manager.set_status("")
    assert await status_of(api) == NO_STATUS


@pytest.mark.parametrize(
    ("text", "expiration", "complaint"),
    [("x" * 101, 0, "at most 100 characters"), ("Out of office", 1, "would be over already")],
)
async def test_a_status_that_cannot_be_is_refused(
    slack: RunningSandbox, text: str, expiration: int, complaint: str
) -> None:
    with pytest.raises(PersonError, match=complaint):
        await slack.person("manager").set_status(text, expiration=expiration)


async def test_the_app_hears_of_changed_accounts_when_it_subscribed() -> None:
    workspace = Workspace.default()
    workspace = replace(workspace, app=replace(workspace.app, events=("user_change",)))
    async with running_slack_sandbox(workspace=workspace) as slack:
        app, heard = listening(slack)
        async with connected(slack, app):
            await slack.person("manager").set_status("Vacationing", ":palm_tree:")
            await slack.change_person("finance", deleted=True)
    assert [(one["id"], one["deleted"], one["profile"]["status_text"]) for one in heard] == [
        ("U0MANAGER", False, "Vacationing"),
        ("U0FINANCE", True, ""),
    ]


def listening(slack: RunningSandbox) -> tuple[AsyncApp, list[Json]]:
    app, heard = bolt_app(slack), list[Json]()

    @app.event("user_change")
    async def changed(event: Json) -> None:
        heard.append(event["user"])

    return app, heard


def test_accounts_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "slack.json"
    workspace = Workspace.default()
    store = Store(workspace, SystemClock())
    workspace.change_person("manager", status="Out of office", status_emoji=":palm_tree:", status_expiration=9)
    workspace.change_person("finance", deleted=True)
    Snapshot(path).save(store, Files(SystemClock()))
    loaded = Store(Workspace.default(), SystemClock())
    Snapshot(path).load(loaded, Files(SystemClock()))
    assert loaded.workspace.people == workspace.people
