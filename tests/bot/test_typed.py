"""A typed request with something wrong in it opens the form with all that was typed, and the problems on top."""

from __future__ import annotations

import pytest

from lessor.domain.errors import FieldError
from lessor.rendering import slack_renderer
from lessor.sandbox.slack import visible_text
from tests.bot.world import World

TYPED = "2 x A100-80GB 8h team:research training in us"
LONG = "fine-tune the ranking model " * 300


@pytest.mark.parametrize(
    ("text", "problem", "kept"),
    [
        ('100 x A100-80GB 8h team:research training in us "train it"', "100 GPUs; 1 to 64 are allowed", "train it"),
        (f'2 x A100-80GB 8h team:research training in us "{LONG}"', "has 8,399 characters", LONG[:3000]),
        ('2 x A100-80GB 8h team:research training in us disk:2 "train it"', "2 GiB; 8 to 16,384", "train it"),
        ('2 x A100-80GB 8h team:research training in aws-mars "train it"', "'aws-mars' is not configured", "train it"),
        (f'{TYPED} project:{"x" * 3_500} "train it"', "has 3,500 characters; at most 40 are allowed", "train it"),
        (f'{TYPED} cost-center:{"é" * 3_500} "train it"', "has 3,500 characters; at most 128 are allowed", "train it"),
    ],
)
async def test_what_is_wrong_opens_the_form_with_all_that_was_typed(
    world: World, text: str, problem: str, kept: str
) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"request {text}")
    form = await requester.wait_for_view("Price:")
    assert problem in visible_text(form)
    typed = {block["element"]["action_id"]: block["element"] for block in form["blocks"] if block["type"] == "input"}
    assert kept in typed["wish-purpose"]["initial_value"]
    assert typed["wish-end"]["initial_value"] == "8h"
    await world.settled()
    assert world.engine.leases == {}
    assert await requester.ephemerals() == []


async def test_what_the_form_has_no_field_for_is_named_and_changed_in_the_command(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", f'request {TYPED} cost-center:{"<" * 150} "train it"')
    await requester.wait_for_view("Price:")
    sent = await requester.submit_view({})
    assert sent["errors"] == {
        "purpose": "cost-center: has 150 characters; at most 128 are allowed; the form has no field for it: "
        "leave it out of the command, or change it there"
    }
    await world.settled()
    assert world.engine.leases == {}


async def test_a_gpu_that_nobody_knows_stays_in_its_field_and_no_other_takes_its_place(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", 'request 2 x h10 8h team:research training in us "train it"')
    form = await requester.wait_for_view("Price:")
    assert "• *GPU*: 'h10' is no GPU model that is known here; there are: A100-80GB, L4\n" in visible_text(form)
    (chosen,) = [
        block["element"]["initial_option"]["value"]
        for block in form["blocks"]
        if block["type"] == "input" and block["element"]["action_id"] == "wish-model"
    ]
    assert chosen == "h10"
    assert world.engine.leases == {}


async def test_where_no_form_opens_any_more_the_typed_text_is_given_back(world: World) -> None:
    await world.slack.add_fault("error", "views.open", error="expired_trigger_id")
    requester = world.slack.person("requester")
    await requester.command("/gpu", 'request 100 x A100-80GB "train *it* <now>"')
    told = visible_text(await requester.wait_for_ephemeral("Slack gave up waiting"))
    assert told.endswith('You wrote:\n> 100 x A100-80GB "train *it* <now>"')


def test_what_is_wrong_stands_under_the_names_of_the_form() -> None:
    errors = [FieldError("need", "no such model"), FieldError("cost_center", "none"), FieldError("market", "no spot")]
    told = slack_renderer().parts("problems.j2", intro="", errors=errors)["title"]
    assert told == "• *GPU*: no such model\n• *cost center*: none\n• *market*: no spot"
