"""`ports.Notifier` on Slack: one message per lease, notice and recipient, posted once and then kept true."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from slack_sdk.errors import SlackApiError

from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.cards import Cards
from bot.conversations import Conversations
from bot.facts import facts
from bot.paging import Pager
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor.contracts import Delivery, Notice, PageInput
from lessor.domain.lease import Lease, State
from lessor.notify import Mailer
from lessor.ports import Directory, MessageBook
from lessor.rendering import Renderer, slack_renderer

_LIVING = (Notice.READY, Notice.WAITING, Notice.STOPPED, Notice.RESTORED, Notice.STOP_FAILED)
"""Messages whose buttons and times follow the lease for as long as it lives."""

_NEEDS_HANDS = (Notice.BLOCKED, Notice.STOP_FAILED)
"""What the owner hears and administrators besides."""

_FOR_ALL_OWNERS = (Notice.WARNING, Notice.SUSPENDING)
"""What those who share a lease hear besides its owner, whose hearing it decides."""

log = structlog.get_logger(__name__)


class SlackNotifier:
    """Tells people by direct message and channel. Raises what is temporary; what can never be told is a `Delivery`."""

    def __init__(
        self,
        client: SlackClient,
        directory: Directory,
        ledger: MessageBook,
        settings: SlackSettings,
        wording: Renderer | None = None,
        mail: Mailer | None = None,
    ) -> None:
        self._wording = wording or slack_renderer()
        self._buttons = Buttons(self._wording)
        self._directory = directory
        self._postman = Postman(client, ledger)
        conversations = Conversations(client)
        self._reach = Reach(self._postman, conversations, directory, self._wording, settings, mail)
        self._cards = Cards(self._postman, self._reach, directory, self._wording, settings)
        self._pager = Pager(self._reach, self._wording)

    async def notify(self, lease: Lease, notice: Notice, before: timedelta, now: datetime) -> Delivery:
        """Reach somebody about `notice`, then bring what stands already up to date."""
        if notice is Notice.REQUEST:
            return await self._cards.ask(lease, now)
        if notice is Notice.DECIDED:
            return await self._cards.decided(lease, now)
        if notice is Notice.REFUSED:
            return await self._refused(lease, now)

        def write(recipient: Recipient) -> Message:
            return self._message(lease, notice, before, now, recipient)

        occasion = _occasion(lease, notice, before)
        delivery = await self._reach.first(lease, occasion, write, now)
        if notice in _FOR_ALL_OWNERS:
            others = await self._reach.co_owners(lease)
            delivery = await self._reach.besides(lease, occasion, others, write, now, delivery)
        if notice in _NEEDS_HANDS:
            delivery = await self._reach.admins(lease, occasion, write, now)
        if notice is not Notice.WARNING:
            await self._bring_up_to_date(lease, occasion, now)
        return delivery

    async def _refused(self, lease: Lease, now: datetime) -> Delivery:
        """Tell the one whose recorded act had no effect; nobody else was waiting for it."""
        refusal = lease.refusal
        person = await self._directory.person(refusal.by) if refusal else None
        if refusal is None or person is None:
            return Delivery(False, problem=f"{refusal.by if refusal else 'nobody'} is no person who could be told")
        key = f"{lease.id}/{_occasion(lease, Notice.REFUSED, timedelta())}/{person.id}"

        def write(recipient: Recipient) -> Message:
            return compose(self._wording.parts("refused.j2", zone=recipient.zone, **facts(lease, now)))

        told = await self._reach.reach(lease, key, Recipient(person.id, person), write, now)
        return Delivery(bool(told.via), told.via, told.problem)

    async def page(self, wanted: PageInput, now: datetime) -> Delivery:
        """Reach the administrators; once for each alarm, subject and day."""
        return await self._pager.page(wanted, now)

    def _message(self, lease: Lease, notice: Notice, before: timedelta, now: datetime, recipient: Recipient) -> Message:
        values = {**facts(lease, now), "before": before, "zone": recipient.zone, "away_until": recipient.away_until}
        parts = self._wording.parts(f"{notice.value}.j2", **values)
        owns = recipient.person is not None and recipient.person.is_same(lease.holder_ids)
        if not owns and notice not in _NEEDS_HANDS:
            why = self._wording.parts("fallback.j2", **values)["note"]
            parts["note"] = f"{parts['note']}\n{why}" if "note" in parts else why
        if notice is Notice.WARNING:
            return compose(parts, self._buttons.warned(lease) if lease.state is State.ACTIVE else ())
        return compose(parts, self._buttons.owner(lease, now) if _has_buttons(lease, notice) else ())

    async def _bring_up_to_date(self, lease: Lease, occasion: str, now: datetime) -> None:
        """Settle warnings of an end that no longer holds, and redraw what still carries old buttons or times."""
        for ref in await self._postman.standing(lease.id, f"{lease.id}/"):
            name = ref.key.split("/")[1]
            kind = next((one for one in Notice if name == one or name.startswith(f"{one}-")), None)
            try:
                if kind is Notice.WARNING and (lease.state is not State.ACTIVE or name != _warning(lease, name)):
                    past = compose(self._wording.parts("warning_past.j2", zone="", **facts(lease, now)))
                    await self._postman.settle(ref, past)
                elif kind in _LIVING and name != occasion:
                    message = self._message(lease, kind, timedelta(), now, await self._reach.recipient(ref))
                    await self._postman.redraw(ref, message, lease.requested_at)
            except SlackApiError as error:
                log.warning("a message could not be redrawn", key=ref.key, error=str(error))


def _occasion(lease: Lease, notice: Notice, before: timedelta) -> str:
    """What tells one message from the next of its kind: a warning belongs to an end, a stop to its moment."""
    moments = {
        Notice.WARNING: f"{_stamp(lease.ends_at)}-{int(before.total_seconds())}",
        Notice.EXTENDED: _stamp(lease.ends_at),
        Notice.STOPPED: _stamp(lease.stopped_at),
        Notice.RESTORED: str(len(lease.spans)),
        Notice.STOP_FAILED: str(len(lease.spans)),
        Notice.REFUSED: _stamp(lease.refusal.at if lease.refusal else None),
    }
    return f"{notice.value}-{moments[notice]}" if notice in moments else notice.value


def _warning(lease: Lease, name: str) -> str:
    """The name that this warning would have for the end that holds now."""
    return f"{Notice.WARNING.value}-{_stamp(lease.ends_at)}-{name.rpartition('-')[2]}"


def _has_buttons(lease: Lease, notice: Notice) -> bool:
    wanted = {
        Notice.READY: State.ACTIVE,
        Notice.RESTORED: State.ACTIVE,
        Notice.STOPPED: State.STOPPED,
        Notice.WAITING: State.WAITING_FOR_CAPACITY,
    }
    return wanted.get(notice) is lease.state


def _stamp(at: datetime | None) -> str:
    return str(int(at.timestamp())) if at else "0"
