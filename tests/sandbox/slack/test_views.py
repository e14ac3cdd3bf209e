"""Triggers, modals and App Home, with time under control."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, RunningSandbox, running_slack_sandbox
from tests.sandbox.slack.rehearsal import plain, request_view, section

Json = dict[str, Any]


@pytest_asyncio.fixture
async def slack(clock: ManualClock) -> AsyncIterator[RunningSandbox]:
    async with running_slack_sandbox(clock=clock) as running:
        yield running


def simple(text: str = "hello", **more: Any) -> Json:
    return {"type": "modal", "title": plain("Title"), "blocks": [section(text, block_id="words")], **more}


async def refused(call: Any) -> Json:
    with pytest.raises(SlackApiError) as error:
        await call
    answer: Json = dict(error.value.response.data)
    return answer


async def opened(slack: RunningSandbox, api: AsyncWebClient, view: Json) -> Json:
    trigger = slack.core.screens.issue_trigger("U0REQUESTER")
    answer: Json = (await api.views_open(trigger_id=trigger, view=view))["view"]
    return answer


async def test_a_trigger_works_for_three_seconds_and_once(
    slack: RunningSandbox, api: AsyncWebClient, clock: ManualClock
) -> None:
    trigger = slack.core.screens.issue_trigger("U0REQUESTER")
    await clock.advance(3.0)
    assert (await api.views_open(trigger_id=trigger, view=simple()))["ok"] is True
    again = await refused(api.views_open(trigger_id=trigger, view=simple()))
    assert again == {"ok": False, "error": "exchanged_trigger_id"}
    late = slack.core.screens.issue_trigger("U0REQUESTER")
    await clock.advance(3.1)
    assert await refused(api.views_open(trigger_id=late, view=simple())) == {"ok": False, "error": "expired_trigger_id"}
    made_up = await refused(api.views_open(trigger_id="1.2.abc", view=simple()))
    assert made_up == {"ok": False, "error": "invalid_trigger_id"}


async def test_an_expired_trigger_has_a_second_shape(
    slack: RunningSandbox, api: AsyncWebClient, clock: ManualClock
) -> None:
    second = {
        "ok": False,
        "error": "invalid_arguments",
        "response_metadata": {"messages": ["[ERROR] `trigger_id` expired [json-pointer:/trigger_id]"]},
    }
    await slack.switch(trigger_refusal_shape="arguments")
    late = slack.core.screens.issue_trigger("U0REQUESTER")
    await clock.advance(3.1)
    assert await refused(api.views_open(trigger_id=late, view=simple())) == second
    await slack.switch(trigger_refusal_shape="code")
    await slack.add_fault("expire_trigger", "views.open", shape="arguments")
    fresh = slack.core.screens.issue_trigger("U0REQUESTER")
    assert await refused(api.views_open(trigger_id=fresh, view=simple())) == second


async def test_an_update_needs_the_current_hash(slack: RunningSandbox, api: AsyncWebClient) -> None:
    view = await opened(slack, api, simple())
    updated = await api.views_update(view_id=view["id"], hash=view["hash"], view=simple("new"))
    assert updated["view"]["hash"] != view["hash"]
    stale = await refused(api.views_update(view_id=view["id"], hash=view["hash"], view=simple("old")))
    assert stale["error"] == "hash_conflict"
    (shown,) = await slack.person("requester").views()
    assert shown["blocks"][0]["text"]["text"] == "new"


async def test_a_closed_view_is_not_found(slack: RunningSandbox, api: AsyncWebClient) -> None:
    view = await opened(slack, api, simple())
    await slack.person("requester").close_view()
    assert (await refused(api.views_update(view_id=view["id"], view=simple())))["error"] == "not_found"


async def test_at_most_three_views_stand_on_each_other(slack: RunningSandbox, api: AsyncWebClient) -> None:
    root = await opened(slack, api, simple("1"))
    screens = slack.core.screens
    second = (await api.views_push(trigger_id=screens.issue_trigger("U0REQUESTER"), view=simple("2")))["view"]
    assert (second["root_view_id"], second["previous_view_id"]) == (root["id"], root["id"])
    await api.views_push(trigger_id=screens.issue_trigger("U0REQUESTER"), view=simple("3"))
    fourth = await refused(api.views_push(trigger_id=screens.issue_trigger("U0REQUESTER"), view=simple("4")))
    assert fourth["error"] == "push_limit_reached"
    await slack.person("requester").close_view()
    assert [view["blocks"][0]["text"]["text"] for view in await slack.person("requester").views()] == ["1", "2"]


async def test_an_external_id_is_used_once(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await opened(slack, api, simple(external_id="mine"))
    trigger = slack.core.screens.issue_trigger("U0MANAGER")
    again = await refused(api.views_open(trigger_id=trigger, view=simple(external_id="mine")))
    assert again["error"] == "duplicate_external_id"
    assert (await api.views_update(external_id="mine", view=simple("new", external_id="mine")))["ok"] is True


async def test_what_was_typed_survives_an_update(slack: RunningSandbox, api: AsyncWebClient) -> None:
    view = await opened(slack, api, request_view())
    requester = slack.person("requester")
    (shown,) = await requester.views()
    await requester.select(shown, "reason", "purpose_typed")
    await requester.select(shown, ["manager", "U0FINANCE"], "watchers_picked")
    updated = await api.views_update(view_id=view["id"], view=request_view("USD 1"))
    values = updated["view"]["state"]["values"]
    assert values["purpose"]["purpose_typed"] == {"type": "plain_text_input", "value": "reason"}
    assert values["watchers"]["watchers_picked"]["selected_users"] == ["U0MANAGER", "U0FINANCE"]
    assert values["ends"]["ends_picked"] == {"type": "datetimepicker", "selected_date_time": 1780318800}


async def test_home_is_published_for_one_person(slack: RunningSandbox, api: AsyncWebClient) -> None:
    home: Json = {"type": "home", "blocks": [section("yours")]}
    published = (await api.views_publish(user_id="U0REQUESTER", view=home))["view"]
    assert await slack.person("manager").home() is None
    shown = await slack.person("requester").wait_for_home("yours")
    assert shown["id"] == published["id"]
    await api.views_publish(user_id="U0REQUESTER", hash=published["hash"], view=home)
    stale = await refused(api.views_publish(user_id="U0REQUESTER", hash=published["hash"], view=home))
    assert stale["error"] == "hash_conflict"


async def test_nobody_touches_another_persons_modal(slack: RunningSandbox, api: AsyncWebClient) -> None:
    view = await opened(slack, api, simple())
    with pytest.raises(Exception, match=f"manager has no view `{view['id']}` open"):
        await slack.person("manager").close_view(view)
