"""The demo's idle step believes neither the warning nor the record alone: where one of them is not right, it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.ids import Do
from lessor.domain.idle import Evidence as Seen
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Ladder, Rung, Told
from lessor.domain.lease import Lease
from lessor.sandbox.demo_evidence import Evidence
from lessor.sandbox.demo_idle import IdleStory
from lessor.sandbox.demo_play import Performance, Step, perform
from lessor.sandbox.demo_players import Players
from lessor.sandbox.slack import RunningSandbox, running_slack_sandbox
from tests.builders import READY, a_lease
from tests.sandbox.slack.rehearsal import button, section

LEASE = "gpu-7k3qxa2m"
SEEN = Seen(Verdict.IDLE, READY, READY + timedelta(seconds=6), gpus=1, idle_gpus=1, peak_engine=0.0)
TOLD = Told(Rung.WARN, READY + timedelta(seconds=8), "slack:dm")
PICTURE = {"type": "image", "image_url": "https://example.com/use.png", "alt_text": "nothing since then"}
Json = dict[str, Any]


class Staged:
    """What the systems say, as far as the step asks; the lease is as it is told to be."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.asked: list[tuple[str, Json]] = []

    async def lease_when(self, lease_id: str, holds: Callable[[Lease], bool]) -> Lease:
        if not holds(self.lease):
            raise TimeoutError("the lease is never so")
        return self.lease

    async def instance_when(self, lease_id: str, state: str) -> Json:
        return {"id": "i-1", "state": state}

    async def gpus_do(self, instance_id: str, **changes: Any) -> None:
        self.asked.append((instance_id, changes))


class Silent:
    """A view that nobody looks at."""

    def changed(self, result: object) -> None:
        """Nothing to do."""


def idle(seen: Seen = SEEN, told: Told = TOLD) -> Lease:
    return replace(a_lease(), idle=Ladder(seen, IdleTerms(), (told,)))


async def warned(slack: RunningSandbox, lease: Lease, *blocks: Json) -> tuple[Performance, Staged]:
    """Play the step with this lease and a warning made of these blocks."""
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    row = {"type": "actions", "elements": [button(Do.SNOOZE.value, "I am using it", value=LEASE)]}
    await api.chat_postMessage(channel="U0REQUESTER", text="idle", blocks=[section("does nothing"), *blocks, row])
    staged = Staged(lease)
    story = IdleStory(Players(slack), cast(Evidence, staged))
    story.lease_id = LEASE
    step = story.steps()[0]
    performance = Performance()
    await perform([Step(step.title, 5, step.play)], performance, Silent())
    return performance, staged


async def test_a_warning_with_figures_and_picture_is_what_has_to_happen() -> None:
    async with running_slack_sandbox() as slack:
        performance, staged = await warned(slack, idle(), PICTURE)
    assert performance.ok
    assert performance.results[0].seen == "8 s after it fell idle, by slack:dm, with its figures as a picture"
    assert staged.asked == [("i-1", {"use": "idle"})]


@pytest.mark.parametrize(
    ("lease", "blocks", "seen"),
    [
        (idle(), (), "the warning has no picture of what the GPU did"),
        (idle(replace(SEEN, peak_engine=0.9)), (PICTURE,), "the evidence says that the engine was active: 0.9"),
        (idle(replace(SEEN, idle_gpus=0)), (PICTURE,), "0 of 1 GPUs are said to be idle"),
        (idle(told=replace(TOLD, rung=Rung.FINAL)), (PICTURE,), "the lease does not know that it was warned"),
        (a_lease(), (PICTURE,), "did not happen within 5 s: the lease is never so"),
    ],
)
async def test_anything_else_fails_the_step_and_says_what_was_seen(
    lease: Lease, blocks: tuple[Json, ...], seen: str
) -> None:
    async with running_slack_sandbox() as slack:
        performance, _ = await warned(slack, lease, *blocks)
    assert not performance.ok
    assert performance.results[0].seen == seen
