"""The way to the sandbox's mail server."""

from __future__ import annotations

from lessor.notify import MailServer
from lessor.sandbox.mail import MailServer as Sink


def to(sink: Sink, **changes: object) -> MailServer:
    """In the clear and without a login, unless `changes` say otherwise."""
    fields = {"host": "127.0.0.1", "port": sink.port, "sender": "lessor <gpu@example.com>", "starttls": False}
    return MailServer(**(fields | changes))  # type: ignore[arg-type]
