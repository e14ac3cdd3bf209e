"""Which scope of the app's installation each Web API method needs, from the method's page on docs.slack.dev.

A bot that calls what its manifest does not ask for works on a developer's machine and fails after installation: here
it fails at once, as it would there.
"""

from __future__ import annotations

from typing import Final

from lessor.sandbox.slack.errors import SlackError

_READ: Final = ("channels:read", "groups:read", "im:read", "mpim:read")
_HISTORY: Final = ("channels:history", "groups:history", "im:history", "mpim:history")

NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "bots.info": ("users:read",),
    "chat.delete": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.update": ("chat:write",),
    "conversations.history": _HISTORY,
    "conversations.info": _READ,
    "conversations.join": ("channels:join",),
    "conversations.list": _READ,
    "conversations.members": _READ,
    "conversations.open": ("im:write", "mpim:write"),
    "conversations.replies": _HISTORY,
    "files.completeUploadExternal": ("files:write",),
    "files.getUploadURLExternal": ("files:write",),
    "files.info": ("files:read",),
    "reactions.add": ("reactions:write",),
    "team.info": ("team:read",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "users.lookupByEmail": ("users:read.email",),
    "users.profile.get": ("users.profile:read",),
}
"""One of these is enough; methods that are not listed need none."""

EMAIL: Final = "users:read.email"
ALL: Final = tuple(sorted({scope for scopes in NEEDED.values() for scope in scopes}))
"""Everything that an app can be granted here."""


def check(method: str, granted: tuple[str, ...]) -> None:
    """Raise `missing_scope` as Slack words it, unless the app may call the method."""
    needed = NEEDED.get(method, ())
    if needed and not set(needed) & set(granted):
        raise SlackError("missing_scope", details={"needed": ",".join(needed), "provided": ",".join(granted)})
