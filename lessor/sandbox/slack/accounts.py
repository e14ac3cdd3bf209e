"""What people and admins change of accounts: a status that says where somebody is, deactivation and its undoing."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack import payloads
from lessor.sandbox.slack.api_people import described
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.delivery import EVENT
from lessor.sandbox.slack.errors import PersonError

Json = dict[str, Any]

EMOJI = ":speech_balloon:"
"""What Slack puts before a status whose author chose no emoji."""


class Accounts:
    """Changes to accounts; the app hears of them when it subscribed to `user_change`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def set_status(self, who: str, text: str, emoji: str, expiration: int) -> Json:
        """Be shown with this status until `expiration` (seconds since the epoch, 0 for good); empty text clears it."""
        person = self._core.person(who)
        if len(text) > 100:
            raise PersonError("a status has at most 100 characters")
        if expiration and expiration <= self._core.clock.now():
            raise PersonError("the status would be over already; choose a later time")
        status = (text, emoji or EMOJI, expiration) if text or emoji else ("", "", 0)
        names = ("status", "status_emoji", "status_expiration")
        return await self.change(person.id, dict(zip(names, status, strict=True)))

    async def change(self, who: str, fields: Json) -> Json:
        """Give an account other fields, deactivated ones included; `deleted` deactivates. Raises ValueError."""
        core = self._core
        person = core.workspace.change_person(who, **fields)
        core.store.touch()
        if "user_change" in core.workspace.app.events:
            inner = {"type": "user_change", "user": described(core, person), "event_ts": core.store.next_ts()}
            await core.deliveries.deliver(EVENT, payloads.event(core, inner), accepts_payload=False)
        return dict(vars(person))
