"""What owners are told of a lease in use: the message of each notice, its buttons, and what tells one from the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from slack_sdk.models.blocks import Block, ButtonElement

from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.cards import proposals
from bot.facts import facts, stop_ahead
from bot.proposals import alternatives
from bot.reaching import Recipient
from bot.threads import stamp
from lessor.contracts import Notice
from lessor.domain.capping import spending
from lessor.domain.lease import IN_USE, Lease, State
from lessor.domain.request import to_the_minute
from lessor.domain.worktime import next_open
from lessor.rendering import Renderer

EARLY = timedelta(minutes=5)
"""A warning that comes so much earlier than its distance says how long there really is."""

_NEEDS_HANDS = (Notice.BLOCKED, Notice.STOP_FAILED, Notice.RESUME_FAILED, Notice.UNFIT)

LADDER = (Notice.IDLE_WARNING, Notice.IDLE_FINAL)
"""The warnings before an idle lease is stopped."""

_BUTTONS: Mapping[Notice, State] = {
    Notice.READY: State.ACTIVE,
    Notice.RESTORED: State.ACTIVE,
    Notice.RESUMED: State.ACTIVE,
    Notice.SUSPENDED: State.SUSPENDED,
    Notice.PAUSED: State.SUSPENDED,
    Notice.RESUME_FAILED: State.SUSPENDED,
    Notice.STOPPED: State.STOPPED,
    Notice.WAITING: State.WAITING_FOR_CAPACITY,
    Notice.RESERVED: State.APPROVED,
}
"""In which state a message has buttons; what is not here never has any."""


def needs_hands(lease: Lease, notice: Notice) -> bool:
    """Whether administrators hear it besides the owner; what people's own pods wait for is for those people alone."""
    return notice in _NEEDS_HANDS and not (notice is Notice.UNFIT and lease.request.place.provider == "kubernetes")


class Notices:
    """Builds messages for one recipient, in their zone."""

    def __init__(self, wording: Renderer) -> None:
        self._wording = wording
        self._buttons = Buttons(wording)

    def message(
        self,
        lease: Lease,
        notice: Notice,
        before: timedelta,
        now: datetime,
        recipient: Recipient,
        extra: Sequence[Block] = (),
    ) -> Message:
        """The message as it is true now; whoever hears it in the owner's place reads why."""
        told = {"before": left(lease, before, now), "zone": recipient.zone, "away_until": recipient.away_until}
        values = {**facts(lease, now), **told}
        parts = self._wording.parts(f"{notice.value}.j2", **values)
        owns = recipient.person is not None and recipient.person.is_same(lease.holder_ids)
        if not owns and not needs_hands(lease, notice):
            why = self._wording.parts("fallback.j2", **values)["note"]
            parts["note"] = f"{parts['note']}\n{why}" if "note" in parts else why
        waits = owns and notice is Notice.WAITING and lease.state is State.WAITING_FOR_CAPACITY
        others = proposals(self._wording, lease, alternatives(lease), "instead", "instead") if waits else extra
        return compose(parts, self._row(lease, notice, now, owns=owns), others)

    def settled(self, lease: Lease, notice: Notice, now: datetime, recipient: Recipient) -> Message:
        """Last words for a message about something that is over, or to somebody who may not act on it any more."""
        name = "warning_past.j2" if notice is Notice.WARNING else "past.j2"
        return compose(self._wording.parts(name, zone=recipient.zone, notice=notice.value, **facts(lease, now)))

    def _row(self, lease: Lease, notice: Notice, now: datetime, *, owns: bool) -> list[ButtonElement]:
        if notice is Notice.WARNING:
            return self._buttons.warned(lease) if lease.state in IN_USE else []
        if notice in LADDER:
            return self._buttons.idle(lease) if lease.idle and lease.state is State.ACTIVE else []
        if notice is Notice.PAUSED and lease.pause is None:
            return []
        if notice is Notice.SUSPENDING:
            stops = stop_ahead(lease, now) is not None
            return [self._buttons.exempt(lease.id), self._buttons.details(lease.id)] if stops else []
        if _BUTTONS.get(notice) is not lease.state:
            return []
        return self._buttons.requester(lease, now) if owns else self._buttons.owner(lease, now)


def left(lease: Lease, before: timedelta, now: datetime) -> timedelta:
    """How long before the end a warning comes: one that came earlier, since its reader sleeps then, says so."""
    if lease.owner_hours is None or lease.runs_until is None or lease.runs_until - now < before + EARLY:
        return before
    return to_the_minute(lease.runs_until - now)


def occasion(lease: Lease, notice: Notice, now: datetime, before: timedelta = timedelta()) -> str:
    """What tells one message from the next of its kind: a warning belongs to an end, a stop to its moment.

    The announcement of a pause belongs to the opening after it, which does not move while the stop is told late. A
    warning of an idle lease belongs to the look that it rests on, so that each one is a message of its own.
    """
    stops_at = stop_ahead(lease, now)
    seen = lease.idle.evidence if lease.idle else None
    spent = spending(lease, now) if notice is Notice.CAP else None
    moments = {
        Notice.WARNING: f"{stamp(lease.runs_until)}-{int(before.total_seconds())}",
        Notice.EXTENDED: stamp(lease.ends_at),
        Notice.SHORTENED: stamp(lease.ends_at),
        Notice.STOPPED: stamp(lease.stopped_at),
        Notice.RESTORED: str(len(lease.spans)),
        Notice.STOP_FAILED: str(len(lease.spans)),
        Notice.REFUSED: stamp(lease.refusal.at if lease.refusal else None),
        Notice.SUSPENDING: stamp(next_open(lease.schedule, stops_at) if stops_at else None),
        Notice.SUSPENDED: stamp(lease.suspended_at),
        Notice.RESUMED: str(len(lease.spans)),
        Notice.RESUME_FAILED: str(len(lease.spans)),
        Notice.TRANSFER_ENDED: str(lease.offers),
        **dict.fromkeys(LADDER, f"{stamp(seen.since if seen else None)}-{stamp(seen.at if seen else None)}"),
        Notice.IDLE_HELD_BACK: stamp(seen.since if seen else None),
        Notice.PAUSED: stamp(lease.pause.at if lease.pause else None),
        Notice.CAP: str(spent.percent if spent else 0),
        Notice.UNFIT: stamp(lease.unfit.at if lease.unfit else None),
    }
    return f"{notice.value}-{moments[notice]}" if notice in moments else notice.value


def kind_of(name: str) -> Notice | None:
    """The notice that an occasion belongs to."""
    return next((one for one in Notice if name == one or name.startswith(f"{one}-")), None)


def still_warns(lease: Lease, name: str) -> bool:
    """Whether the warning of this name speaks of the end that holds now."""
    told = f"{Notice.WARNING.value}-{stamp(lease.runs_until)}-{name.rpartition('-')[2]}"
    return lease.state in IN_USE and name == told


def still_idle(lease: Lease, name: str, now: datetime) -> bool:
    """Whether the warning of this name speaks of the time in which the lease does nothing now."""
    ladder, snooze = lease.idle, lease.snooze
    if ladder is None or lease.state is not State.ACTIVE or (snooze is not None and snooze.until > now):
        return False
    return f"-{stamp(ladder.evidence.since)}-" in name
