"""Where mail and events are handed in; the entry points fill these from `lessor.yaml` and the environment."""

from __future__ import annotations

from dataclasses import dataclass, field

from lessor.contracts import Notice


@dataclass(frozen=True)
class MailServer:
    """`starttls` and `tls` (from the first byte) exclude each other; `sender` is `name <address>`.

    Notices in `always_for` are mailed besides Slack, all others instead of it.
    """

    host: str
    port: int
    sender: str
    starttls: bool = True
    tls: bool = False
    username: str = ""
    password: str = field(default="", repr=False)
    always_for: frozenset[Notice] = frozenset()


@dataclass(frozen=True)
class Hook:
    """Who hears of `notices` (of all, if there are none), and the secret with which they are signed for them.

    `source` is what the events say they come from, a URI reference.
    """

    url: str = field(repr=False)
    secret: str = field(repr=False)
    source: str = "/lessor"
    notices: frozenset[Notice] = frozenset()

    def wants(self, notice: Notice) -> bool:
        return not self.notices or notice in self.notices
