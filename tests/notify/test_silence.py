"""While Slack gives no answer, a message to many does not wait for the profile of each."""

from __future__ import annotations

from typing import Any, cast

from bot.profiles import SILENT_SECONDS, Profiles
from bot.slack_client import SlackClient


class Mute:
    """A Slack that never answers; it counts who was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def users_info(self, user: str) -> Any:
        self.asked.append(user)
        raise TimeoutError


async def test_after_no_answer_nobody_is_asked_for_for_a_while() -> None:
    now, mute = [0.0], Mute()
    profiles = Profiles(cast(SlackClient, mute), lambda: now[0])
    assert [await profiles.of(one) for one in ("U0REQUESTER", "U0MANAGER", "U0ADMIN")] == [None, None, None]
    assert mute.asked == ["U0REQUESTER"]
    now[0] = SILENT_SECONDS - 0.1
    assert await profiles.of("U0MANAGER") is None
    assert mute.asked == ["U0REQUESTER"]
    now[0] = SILENT_SECONDS
    assert await profiles.of("U0MANAGER") is None
    assert mute.asked == ["U0REQUESTER", "U0MANAGER"]
