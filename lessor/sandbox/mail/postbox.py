"""What arrived, the latest first, and what shall go wrong with what arrives next."""

from __future__ import annotations

import email
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from typing import Any

KEPT = 500


@dataclass(frozen=True)
class Received:
    """One mail as it was handed in; `raw` is the message with CRLF line ends."""

    number: int
    at: datetime
    sender: str
    recipients: tuple[str, ...]
    raw: bytes
    encrypted: bool = False
    user: str = ""

    @property
    def message(self) -> EmailMessage:
        parsed = email.message_from_bytes(self.raw, policy=default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    def body(self, kind: str) -> str:
        """The part of this kind (`plain` or `html`), empty when there is none."""
        part = self.message.get_body((kind,))
        return str(part.get_content()).replace("\r\n", "\n") if part else ""


@dataclass(frozen=True)
class Event:
    """One post to the webhook, with whether its signature was right."""

    number: int
    at: datetime
    headers: dict[str, str]
    body: bytes
    genuine: bool
    repeated: bool = False


@dataclass
class Faults:
    """What goes wrong until it is switched off: replies such as `550 no such user`, empty for none.

    `greeting` answers a new connection, `login` AUTH, `recipient` RCPT (only for addresses that contain `whom`), `data`
    the mail itself; `vanish` accepts the mail and closes without an answer; `webhook` is a status, 0 for none.
    """

    greeting: str = ""
    login: str = ""
    recipient: str = ""
    whom: str = ""
    data: str = ""
    vanish: bool = False
    webhook: int = 0


@dataclass
class Postbox:
    """All that arrived since the start; the oldest beyond `KEPT` are forgotten."""

    mails: deque[Received] = field(default_factory=lambda: deque(maxlen=KEPT))
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=KEPT))
    faults: Faults = field(default_factory=Faults)
    _numbers: int = 0

    def take_mail(self, sender: str, recipients: tuple[str, ...], raw: bytes, *, encrypted: bool, user: str) -> None:
        self.mails.appendleft(Received(self._next(), datetime.now(UTC), sender, recipients, raw, encrypted, user))

    def take_event(self, headers: dict[str, str], body: bytes, genuine: bool) -> None:
        known = {event.headers.get("webhook-id") for event in self.events}
        repeated = headers.get("webhook-id") in known
        self.events.appendleft(Event(self._next(), datetime.now(UTC), headers, body, genuine, repeated))

    def mail(self, number: int) -> Received | None:
        return next((one for one in self.mails if one.number == number), None)

    def switch(self, **values: Any) -> None:
        """Set faults by name. Raises `ValueError` for what is none."""
        for name, value in values.items():
            kind = type(getattr(self.faults, name, None))
            if kind not in (str, bool, int) or not isinstance(value, kind):
                raise ValueError(f"'{name}' is no fault that takes {value!r}")
            setattr(self.faults, name, value)

    def clear(self) -> None:
        self.mails.clear()
        self.events.clear()

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers
