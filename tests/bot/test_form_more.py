"""The form's further fields: start, project, working hours, data and checkpoints; and what is said beforehand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from bot import wish
from bot.wish import Wish
from lessor.domain.case import Case
from lessor.domain.errors import Invalid
from lessor.domain.policy import Decision, Outcome, Reason, Suggestion
from lessor.domain.quota import Ceiling, QuotaPlan
from lessor.domain.request import Limits
from lessor.gateway import Choices
from lessor.sandbox.slack import RunningSandbox, visible_text
from tests.bot.world import MODELS, PLACE, REQUESTER, TEAM, World, a_world

FORM = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}
PLAN = QuotaPlan((Ceiling("team:research", Decimal(3)), Ceiling("project:ranker", Decimal(4))))
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def judged(case: Case) -> Decision:
    """People decide, and spot is suggested for what is not spot."""
    spot = () if case.request.checkpoints else (Suggestion("spot", "save checkpoints and use spot", market="spot"),)
    return Decision(Outcome.REQUIRE, (Reason("large", f"{case.request.data or 'some'} data"),), (), "p", spot)


def blocks(view: dict[str, Any]) -> list[str]:
    return [block["block_id"] for block in view["blocks"] if block["type"] == "input"]


async def test_what_is_filled_in_is_asked_for(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request")
    form = await requester.wait_for_view("Price:")
    assert "data" not in blocks(form)
    more = {
        "wish-start": "in 3 days",
        "wish-project": "ranker",
        "wish-schedule": "office",
        "wish-options": ["checkpoints"],
    }
    assert (await requester.submit_view({**FORM, **more}, form))["errors"] == {}
    await world.settled()
    request = world.only_lease().request
    assert (request.project, request.schedule, request.checkpoints) == ("ranker", "office", True)
    assert request.start is not None
    assert abs(request.start - world.clock() - timedelta(days=3)) < timedelta(minutes=1)
    told = visible_text(await requester.wait_for_message("waits for a decision"))
    assert f"`{world.only_lease().id}`" in told


async def test_a_start_that_is_past_or_unclear_speaks_at_its_field(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request")
    form = await requester.wait_for_view("Price:")
    sent = await requester.submit_view({**FORM, "wish-start": "someday"}, form)
    assert "'someday' is not understood" in sent["errors"]["start"]
    sent = await requester.submit_view({**FORM, "wish-start": "in 400 days"}, form)
    assert "up to 90 d from now are allowed" in sent["errors"]["start"]
    assert world.engine.leases == {}


async def test_a_typed_request_fills_in_what_it_says(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request 2 x A100-80GB project:ranker --checkpoints for 2 days schedule:office")
    form = await requester.wait_for_view("Price:")
    schedule = next(block for block in form["blocks"] if block.get("block_id") == "schedule")
    assert schedule["element"]["initial_option"]["value"] == "office"
    project = next(block for block in form["blocks"] if block.get("block_id") == "project")
    assert project["element"]["initial_value"] == "ranker"
    options = next(block for block in form["blocks"] if block.get("block_id") == "options")
    assert [one["value"] for one in options["element"]["initial_options"]] == ["checkpoints"]


async def test_the_quote_says_what_policy_and_quota_would_say(slack: RunningSandbox, sqlite_url: str) -> None:
    async with a_world(slack, sqlite_url, plan=PLAN, judge=judged, data=("internal", "secret")) as world:
        requester = world.slack.person("requester")
        await requester.command("/gpu", "request 2 x A100-80GB for 2 days data:secret why:training")
        form = await requester.wait_for_view("*Policy:*")
        text = visible_text(form)
        assert "*Policy:* people decide; large: secret data" in text
        assert "*Suggested:* save checkpoints and use spot" in text
        assert "*Left after approval:* team research 1 of 3 GPUs left" in text
        assert "data" in blocks(form)
        hint = next(block["hint"]["text"] for block in form["blocks"] if block.get("block_id") == "project")
        assert hint == "ranker; empty for none"


async def test_without_the_policy_at_hand_only_the_price_is_said(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request 2 x A100-80GB for 2 days")
    assert "*Policy:*" not in visible_text(await requester.wait_for_view("*Price:* 2.50"))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", None),
        ("2026-12-24", datetime(2026, 12, 23, 23, tzinfo=UTC)),
        ("2026-12-24 08:00", datetime(2026, 12, 24, 7, tzinfo=UTC)),
        ("monday", datetime(2026, 11, 29, 23, tzinfo=UTC)),
        ("in 3 h", datetime(2026, 11, 27, 15, tzinfo=UTC)),
    ],
)
def test_a_day_begins_with_its_first_minute_where_the_person_is(text: str, start: datetime | None) -> None:
    wanted = wish.completed(Wish(end="8h", start=text, purpose="x"), _choices())
    assert wish.to_request(wanted, _choices(), NOW, "i").start == start


def test_an_end_is_not_judged_before_its_start_is_clear() -> None:
    wanted = wish.completed(Wish(end="whenever", start="someday", purpose="x"), _choices())
    with pytest.raises(Invalid) as refused:
        wish.to_request(wanted, _choices(), NOW, "i")
    assert [error.field for error in refused.value.errors] == ["start"]


def test_a_request_comes_back_into_the_form_as_it_was() -> None:
    wanted = wish.completed(
        Wish(end="8h", start="2026-12-24 08:00", purpose="x", project="p", data="d", schedule="s", checkpoints=True),
        _choices(),
    )
    request = wish.to_request(wanted, _choices(), NOW, "i")
    again = wish.of_request(request, "Europe/Berlin")
    assert (again.project, again.data, again.schedule, again.checkpoints) == ("p", "d", "s", True)
    assert wish.to_request(wish.completed(again, _choices()), _choices(), NOW, "i").start == request.start


def _choices() -> Choices:
    limits = Limits(("research",), ("us",), schedules=("office",))
    return Choices(REQUESTER, (TEAM,), (PLACE,), MODELS, limits)
