"""Which buttons a lease has in its state. Each carries an id and nothing else; the labels are in `buttons.j2`."""

from __future__ import annotations

from datetime import datetime

from slack_sdk.models.blocks import ButtonElement

from bot.blocks.message import button, confirmation
from bot.ids import Do
from lessor.domain.lease import Lease, State
from lessor.domain.transitions import BEFORE_USE
from lessor.rendering import Renderer


class Buttons:
    """Buttons in the organisation's words."""

    def __init__(self, wording: Renderer) -> None:
        self._wording = wording

    def decide(self, lease: Lease) -> list[ButtonElement]:
        """For those who can decide."""
        return [*self.verdict(lease), self.details(lease.id)]

    def verdict(self, lease: Lease) -> list[ButtonElement]:
        """Approve and deny alone."""
        words = self._words(lease.id)
        return [
            button(words["approve"], Do.APPROVE, lease.id, style="primary"),
            button(words["deny"], Do.DENY, lease.id, style="danger"),
        ]

    def owner(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        """For the owner: what the state allows, without what would be refused anyway."""
        if lease.state is State.ACTIVE:
            return [*self._extend(lease), self.release(lease.id)]
        if lease.state is State.STOPPED:
            return self._restore(lease, now)
        return [self.withdraw(lease.id)] if lease.state in BEFORE_USE else []

    def warned(self, lease: Lease) -> list[ButtonElement]:
        """Under a warning."""
        keep = button(self._words(lease.id)["keep"], Do.KEEP, lease.id)
        return [*self._extend(lease), self.release(lease.id), keep]

    def details(self, lease_id: str) -> ButtonElement:
        return self._plain(Do.DETAILS, "details", lease_id)

    def again(self, lease_id: str) -> ButtonElement:
        """Ask for the same as an open lease."""
        return self._plain(Do.AGAIN, "again", lease_id)

    def request(self) -> ButtonElement:
        return self._plain(Do.REQUEST, "request", "new")

    def next_page(self, after: str) -> ButtonElement:
        return self._plain(Do.NEXT_PAGE, "next_page", after)

    def release(self, lease_id: str, *, asked: bool = False) -> ButtonElement:
        """Release now; it asks first, unless the message around it is the question."""
        return self._dangerous(Do.RELEASE, "release", lease_id, asked=asked)

    def withdraw(self, lease_id: str, *, asked: bool = False) -> ButtonElement:
        """Take a request back; it asks first, unless the message around it is the question."""
        return self._dangerous(Do.WITHDRAW, "withdraw", lease_id, asked=asked)

    def _extend(self, lease: Lease) -> list[ButtonElement]:
        words = self._words(lease.id)
        return [button(words["extend"], Do.EXTEND, lease.id, style="primary")] if lease.allowance else []

    def _restore(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        possible = lease.stoppable and lease.last_end and lease.last_end >= now + lease.terms.min_duration
        words = self._words(lease.id)
        return [button(words["restore"], Do.RESTORE, lease.id, style="primary")] if possible else []

    def _plain(self, action: Do, word: str, value: str) -> ButtonElement:
        return button(self._words(value)[word], action, value)

    def _dangerous(self, action: Do, word: str, lease_id: str, *, asked: bool) -> ButtonElement:
        words = self._words(lease_id)
        ask = confirmation(words[f"{word}_title"], words[f"{word}_text"], words[word], words[f"{word}_no"])
        return button(words[word], action, lease_id, style="danger", confirm=None if asked else ask)

    def _words(self, lease_id: str) -> dict[str, str]:
        return self._wording.parts("buttons.j2", lease_id=lease_id)
