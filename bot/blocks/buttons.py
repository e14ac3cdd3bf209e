"""Which buttons a lease has in its state. Each carries an id and nothing else; the labels are in `buttons.j2`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from slack_sdk.models.blocks import ButtonElement

from bot.blocks.message import button, confirmation
from bot.ids import Do
from lessor.domain.extension import wish_cost
from lessor.domain.ladder import Why
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.stepup import needs_typing
from lessor.domain.transitions import BEFORE_USE, total_cost
from lessor.rendering import Renderer


class Buttons:
    """Buttons in the organisation's words."""

    def __init__(self, wording: Renderer) -> None:
        self._wording = wording

    def decide(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        """For those who can decide."""
        return [*self.verdict(lease, now), self.details(lease.id)]

    def verdict(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        """All ways to decide a request: at once or by typing it out, on other terms, not at all, not yet."""
        return [
            self._yes(Do.APPROVE, "approve", self.approve_typed, lease, total_cost(lease, now)),
            self._plain(Do.COUNTER, "counter", lease.id),
            button(self._word("deny", lease.id), Do.DENY, lease.id, style="danger"),
            self._plain(Do.ASK, "ask", lease.id),
        ]

    def wish(self, lease: Lease) -> list[ButtonElement]:
        """For those who decide on a later end."""
        return [*self.wish_verdict(lease), self.details(lease.id)]

    def wish_verdict(self, lease: Lease) -> list[ButtonElement]:
        """Grant, at once or by typing it out, and reject."""
        reject = button(self._word("reject", lease.id), Do.REJECT, lease.id, style="danger")
        if lease.wish is None:
            return [self._primary(Do.GRANT, "grant", lease.id), reject]
        return [self._yes(Do.GRANT, "grant", self.grant_typed, lease, wish_cost(lease, lease.wish)), reject]

    def countered(self, lease_id: str) -> list[ButtonElement]:
        """For the requester, to whom other terms are proposed."""
        return [*self.answer_terms(lease_id), self.withdraw(lease_id)]

    def answer_terms(self, lease_id: str) -> list[ButtonElement]:
        """Accept other terms, or keep the request as it is."""
        return [self._primary(Do.ACCEPT, "accept", lease_id), self._plain(Do.DECLINE, "keep_request", lease_id)]

    def offered(self, lease_id: str) -> list[ButtonElement]:
        """For somebody to whom a lease is offered."""
        return [*self.take_or_decline(lease_id), self.details(lease_id)]

    def take_or_decline(self, lease_id: str) -> list[ButtonElement]:
        """Take the lease over, or not."""
        return [self._primary(Do.TAKE, "take", lease_id), self._plain(Do.DECLINE, "decline", lease_id)]

    def owner(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        """For whoever may act as its owner: what the state allows, without what would be refused anyway.

        Taking a request back is not among it: only the requester can, see `requester`.
        """
        if lease.state is State.ACTIVE:
            return [*self._extend(lease), self.release(lease.id)]
        if lease.state is State.SUSPENDED and lease.pause:
            wrong = [self._plain(Do.DISPUTE, "dispute", lease.id)] if lease.pause.why is Why.IDLE and lease.idle else []
            start = self._primary(Do.START, "start", lease.id)
            return [start, *self._extend(lease, "plain"), self.release(lease.id), *wrong]
        if lease.state is State.SUSPENDED:
            return [*self._extend(lease), self.exempt(lease.id, "run_now"), self.release(lease.id)]
        return self._restore(lease, now) if lease.state is State.STOPPED else []

    def requester(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        """For the requester: what the owner may, and to take the request back before it is usable."""
        return [self.withdraw(lease.id)] if lease.state in BEFORE_USE else self.owner(lease, now)

    def warned(self, lease: Lease) -> list[ButtonElement]:
        """Under a warning."""
        return [*self._extend(lease), self.release(lease.id), self._plain(Do.KEEP, "keep", lease.id)]

    def mine(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        """For its requester in a list: what can be answered while it does nothing, and what there is anyway."""
        if lease.state is State.ACTIVE and lease.idle is not None:
            return [*self._extend(lease, "plain"), *self.idle(lease)]
        return [*self.requester(lease, now), self.details(lease.id)]

    def idle(self, lease: Lease) -> list[ButtonElement]:
        """Under a warning that it does nothing: give it back, stop it, say that it is used, or that this is wrong."""
        consents = lease.volatile and lease.consent is None and lease.stoppable
        return [
            self.release(lease.id),
            *([self.stop(lease)] if lease.stoppable else []),
            self._primary(Do.SNOOZE, "snooze", lease.id),
            self._plain(Do.DISPUTE, "dispute", lease.id),
            *([self._dangerous(Do.CONSENT, "consent", lease.id, asked=False)] if consents else []),
            self.details(lease.id),
        ]

    def stop(self, lease: Lease, *, asked: bool = False) -> ButtonElement:
        """Stop it and keep its disks; it asks first, or has the id typed where a stop loses what is on local disks."""
        if lease.volatile:
            return self.stop_typed(lease.id)
        return self._dangerous(Do.STOP, "stop", lease.id, asked=asked, style="")

    def stop_typed(self, lease_id: str) -> ButtonElement:
        """Stop by typing the lease's id."""
        return self._plain(Do.STOP_TYPED, "stop_typed", lease_id)

    def approve_typed(self, lease_id: str) -> ButtonElement:
        """Approve by typing the lease's id."""
        return self._primary(Do.APPROVE_TYPED, "approve_typed", lease_id)

    def grant_typed(self, lease_id: str) -> ButtonElement:
        """Grant a later end by typing the lease's id."""
        return self._primary(Do.GRANT_TYPED, "grant_typed", lease_id)

    def exempt(self, lease_id: str, word: str = "exempt") -> ButtonElement:
        """Keep it running outside its working hours."""
        return self._plain(Do.EXEMPT, word, lease_id)

    def reply(self, lease_id: str, asker: str) -> ButtonElement:
        """Answer the questions of one person."""
        return button(self._word("reply", lease_id), Do.REPLY, f"{lease_id}|{asker}", style="primary")

    def revise(self, lease_id: str, key: str, word: str) -> ButtonElement:
        """Take a proposal, named by its key, instead of what was asked for."""
        return button(self._word(word, lease_id), Do.REVISE, f"{lease_id}|{key}")

    def details(self, lease_id: str) -> ButtonElement:
        return self._plain(Do.DETAILS, "details", lease_id)

    def again(self, lease_id: str) -> ButtonElement:
        """Ask for the same as an open lease."""
        return self._plain(Do.AGAIN, "again", lease_id)

    def request(self) -> ButtonElement:
        return self._plain(Do.REQUEST, "request", "new")

    def home_page(self, word: str, position: str) -> ButtonElement:
        """Another page of App Home; `position` is `mine|deciding`, each the last id of the page before."""
        return button(self._word(word), Do.HOME_PAGE, position)

    def fleet_page(self, position: str) -> ButtonElement:
        """More leases of the fleet; `position` is what was asked for and the last id of the page before."""
        return button(self._word("next_page"), Do.FLEET_PAGE, position)

    def next_page(self, after: str) -> ButtonElement:
        return self._plain(Do.NEXT_PAGE, "next_page", after)

    def release(self, lease_id: str, *, asked: bool = False) -> ButtonElement:
        """Release now; it asks first, unless the message around it is the question."""
        return self._dangerous(Do.RELEASE, "release", lease_id, asked=asked)

    def withdraw(self, lease_id: str, *, asked: bool = False) -> ButtonElement:
        """Take a request back; it asks first, unless the message around it is the question."""
        return self._dangerous(Do.WITHDRAW, "withdraw", lease_id, asked=asked)

    def take_back(self, lease_id: str) -> ButtonElement:
        """Do without the later end that one wished for; it asks first."""
        return self._dangerous(Do.WITHDRAW, "take_back", lease_id, asked=False)

    def _extend(self, lease: Lease, style: str = "primary") -> list[ButtonElement]:
        press = self._primary if style == "primary" else self._plain
        return [press(Do.EXTEND, "extend", lease.id)] if lease.allowance else []

    def _restore(self, lease: Lease, now: datetime) -> list[ButtonElement]:
        possible = lease.stoppable and lease.last_end and lease.last_end >= now + lease.terms.min_duration
        return [self._primary(Do.RESTORE, "restore", lease.id)] if possible else []

    def _yes(
        self, action: Do, word: str, typed: Callable[[str], ButtonElement], lease: Lease, cost: Money | None
    ) -> ButtonElement:
        """To agree to what costs so much; the workflow checks again what has to be typed out."""
        if needs_typing(lease, cost):
            return typed(lease.id)
        if cost is None:
            return self._asking(action, word, "unpriced", lease.id, style="primary")
        return self._primary(action, word, lease.id)

    def _primary(self, action: Do, word: str, lease_id: str) -> ButtonElement:
        return button(self._word(word, lease_id), action, lease_id, style="primary")

    def _plain(self, action: Do, word: str, value: str) -> ButtonElement:
        return button(self._word(word, value), action, value)

    def _dangerous(self, action: Do, word: str, lease_id: str, *, asked: bool, style: str = "danger") -> ButtonElement:
        label = self._word(word, lease_id)
        if asked:
            return button(label, action, lease_id, style=style)
        return self._asking(action, word, word, lease_id, style=style)

    def _asking(self, action: Do, word: str, question: str, lease_id: str, *, style: str) -> ButtonElement:
        """A button that has to be pressed twice."""
        label = self._word(word, lease_id)
        title, text, no = (self._word(f"{question}_{part}", lease_id) for part in ("title", "text", "no"))
        first = confirmation(title, text, label, no, style or "danger")
        return button(label, action, lease_id, style=style, confirm=first)

    def _word(self, word: str, lease_id: str = "") -> str:
        return self._wording.part("buttons.j2", word, lease_id=lease_id)
