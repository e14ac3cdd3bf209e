"""A client of the people API: what tests, the demo and other processes use to be somebody in the sandbox.

Waiting is by conditions: `wait_for_message` looks, then sleeps until the sandbox says something changed.
"""

# ruff: noqa: ASYNC109 - callers say how long they are ready to wait

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar

import aiohttp

from lessor.sandbox.slack.errors import PersonError
from lessor.sandbox.slack.reading import visible_text

Json = dict[str, Any]
Wanted = TypeVar("Wanted")

PATIENCE_SECONDS = 20.0
"""For what has to be seen: what waits for it goes on at once, so on a busy machine only patience is lost."""


class SandboxClient:
    """Talks to a running sandbox at `url`; use as an async context manager."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=90))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    def person(self, who: str) -> Somebody:
        """Be `who` (id, name or e-mail address)."""
        return Somebody(self, who)

    async def workspace(self) -> Json:
        """People, channels, commands, and the app with its tokens."""
        return await self._dict("GET", "workspace")

    async def calls(self, method: str = "") -> list[Json]:
        """Web API calls so far: `method`, `args`, `outcome` (`ok` or the error), `at`."""
        return await self._list("GET", "calls", {"method": method})

    async def deliveries(self, kind: str = "") -> list[Json]:
        """Attempts to reach the app so far: `kind`, `envelope_id`, `attempt`, `outcome`, `payload`, `seconds`."""
        return await self._list("GET", "deliveries", {"kind": kind})

    async def add_fault(self, kind: str, on: str = "*", **fields: Any) -> Json:
        """Make something go wrong; see `faults` for kinds and fields."""
        return await self._dict("POST", "faults", {"kind": kind, "on": on, **fields})

    async def clear_faults(self) -> None:
        await self.request("DELETE", "faults")

    async def switch(self, **switches: Any) -> Json:
        """Set `rate_limits`, `trigger_refusal_shape`, `interaction_team_id`, `enterprise_ids`, `file_seconds` (until
        an uploaded file can be shown) or `event_retry_seconds` (pauses before each retry); gives all switches."""
        return await self._dict("POST", "switches", switches)

    async def disconnect(self, how: str = "refresh") -> int:
        """Take the app's sockets away (`refresh` says so first, `drop` does not); gives how many."""
        return int((await self._dict("POST", "disconnect", {"how": how}))["disconnected"])

    async def send_over_http(self, url: str) -> bool:
        """Deliver as signed requests to `url` from now on ("" for Socket Mode); False when it fails verification."""
        return bool((await self._dict("POST", "http-target", {"url": url}))["verified"])

    async def change_person(self, who: str, **fields: Any) -> Json:
        return await self._dict("POST", "change-person", {"who": who, **fields})

    async def change_usergroup(self, usergroup: str, **fields: Any) -> Json:
        return await self._dict("POST", "change-usergroup", {"usergroup": usergroup, **fields})

    async def change_channel(self, channel: str, **fields: Any) -> Json:
        return await self._dict("POST", "change-channel", {"channel": channel, **fields})

    async def wait_until(
        self,
        look: Callable[[], Awaitable[Wanted | None]],
        timeout: float = PATIENCE_SECONDS,
        what: str = "what was waited for",
    ) -> Wanted:
        """Look until there is something (not None, not False); raises TimeoutError naming `what`."""
        deadline = asyncio.get_running_loop().time() + timeout
        revision = (await self._dict("GET", "changes", {"since": -1}))["revision"]
        while True:
            found = await look()
            if found is not None and found is not False:
                return found
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise TimeoutError(f"{what}: not seen within {timeout:g} s")
            revision = (await self._dict("GET", "changes", {"since": revision, "timeout": min(left, 20.0)}))["revision"]

    async def request(self, verb: str, path: str, data: Json | None = None) -> Any:
        """One request; raises PersonError with the sandbox's reason when it says no."""
        if self._session is None:
            raise RuntimeError("use the client as `async with SandboxClient(url) as slack:`")
        sent: Json = {"params": data} if verb == "GET" else {"json": data or {}}
        async with self._session.request(verb, f"{self.url}/sandbox/api/{path}", **sent) as answer:
            content = await answer.json()
            if answer.status >= 400:
                raise PersonError(content["error"], answer.status)
            return content

    async def _dict(self, verb: str, path: str, data: Json | None = None) -> Json:
        answer: Json = await self.request(verb, path, data)
        return answer

    async def _list(self, verb: str, path: str, data: Json | None = None) -> list[Json]:
        answer: list[Json] = await self.request(verb, path, data)
        return answer


class Somebody:
    """A person at their Slack client. Messages and views are the plain objects Slack describes."""

    def __init__(self, slack: SandboxClient, who: str) -> None:
        self.slack = slack
        self.who = who

    async def command(self, command: str, text: str = "", channel: str = "gpu-requests") -> Json:
        """Type a slash command; gives `acked` and `error` (`operation_timeout`, `dispatch_failed`)."""
        return await self._act("command", command=command, text=text, channel=channel)

    async def say(self, text: str, channel: str = "lessor", thread_ts: str = "") -> Json:
        """Write a message (to the app itself by default); `@name` and `#channel` become mentions."""
        return await self._act("say", text=text, channel=channel, thread_ts=thread_ts)

    async def click(self, where: Json, action_id: str = "", *, label: str = "", block_id: str = "") -> Json:
        """Press a button in a message or view, found by action id or label."""
        return await self._act("interact", **_place(where), **_named(action_id, label, block_id))

    async def select(
        self, where: Json, value: Any, action_id: str = "", *, label: str = "", block_id: str = ""
    ) -> Json:
        """Choose or type `value` in an element of a message or view; see `elements` for the forms of values."""
        return await self._act("interact", **_place(where), **_named(action_id, label, block_id), value=value)

    async def suggestions(self, where: Json, typed: str, action_id: str) -> list[Json]:
        """Type into an external select; gives the options offered."""
        answer = await self._act("suggest", **_place(where), action_id=action_id, typed=typed)
        return list(answer["options"])

    async def submit_view(self, values: Json | None = None, view: Json | None = None) -> Json:
        """Fill in `values` (by block or action id) and submit the visible modal; gives `response_action`, `errors`."""
        shown = view or await self._visible()
        return await self._act("submit", view_id=shown["id"], values=values or {})

    async def close_view(self, view: Json | None = None) -> Json:
        shown = view or await self._visible()
        return await self._act("close", view_id=shown["id"])

    async def open_home(self) -> Json:
        return await self._act("open-home")

    async def shortcut(self, callback_id: str, message: Json | None = None) -> Json:
        """Use a global shortcut, or a message shortcut on `message`."""
        return await self._act("shortcut", callback_id=callback_id, **(_place(message) if message else {}))

    async def delete(self, message: Json) -> Json:
        """Delete one's own message, or as an admin anybody's."""
        return await self._act("delete", **_place(message))

    async def set_status(self, text: str, emoji: str = "", expiration: float = 0) -> Json:
        """Be shown with a status until `expiration` (seconds since the epoch); empty text clears it."""
        return await self._act("status", text=text, emoji=emoji, expiration=int(expiration))

    async def messages(self, channel: str = "gpu-requests", thread_ts: str = "") -> list[Json]:
        return await self._see("messages", {"channel": channel, "thread": thread_ts})

    async def dms(self) -> list[Json]:
        """Everything the app told this person directly."""
        return await self._see("dms")

    async def ephemerals(self) -> list[Json]:
        return await self._see("ephemerals")

    async def views(self) -> list[Json]:
        """Open modals, the visible one last."""
        return await self._see("views")

    async def home(self) -> Json | None:
        home: Json | None = await self.slack.request("GET", f"people/{self.who}/home")
        return home

    async def wait_for_message(
        self, wanted: str | Callable[[Json], bool], channel: str = "", timeout: float = PATIENCE_SECONDS
    ) -> Json:
        """The first message that contains `wanted` (or satisfies it): in `channel`, else among direct messages."""

        async def read() -> list[Json]:
            return await self.messages(channel) if channel else await self.dms()

        return await self._wait(read, wanted, timeout, f"{self.who}'s message in {channel or 'direct messages'}")

    async def wait_for_ephemeral(self, wanted: str | Callable[[Json], bool], timeout: float = PATIENCE_SECONDS) -> Json:
        return await self._wait(self.ephemerals, wanted, timeout, f"{self.who}'s ephemeral message")

    async def wait_for_view(self, wanted: str | Callable[[Json], bool] = "", timeout: float = PATIENCE_SECONDS) -> Json:
        """The visible modal, once it contains `wanted` (or satisfies it)."""

        async def visible() -> list[Json]:
            return (await self.views())[-1:]

        return await self._wait(visible, wanted, timeout, f"{self.who}'s modal")

    async def wait_for_home(self, wanted: str | Callable[[Json], bool] = "", timeout: float = PATIENCE_SECONDS) -> Json:
        async def homes() -> list[Json]:
            home = await self.home()
            return [home] if home else []

        return await self._wait(homes, wanted, timeout, f"{self.who}'s App Home")

    async def _wait(
        self,
        read: Callable[[], Awaitable[list[Json]]],
        wanted: str | Callable[[Json], bool],
        timeout: float,
        what: str,
    ) -> Json:
        last: list[Json] = []

        async def look() -> Json | None:
            last[:] = await read()
            for item in last:
                if wanted in visible_text(item) if isinstance(wanted, str) else wanted(item):
                    return item
            return None

        try:
            return await self.slack.wait_until(look, timeout, what)
        except TimeoutError as late:
            sought = f"`{wanted}`" if isinstance(wanted, str) else "what fits"
            there = [visible_text(item) for item in last[-5:]]
            raise TimeoutError(f"{late}; sought {sought}; there is: {there}") from late

    async def _visible(self) -> Json:
        views = await self.views()
        if not views:
            raise PersonError(f"{self.who} has no modal open", 404)
        return views[-1]

    async def _act(self, act: str, **body: Any) -> Json:
        answer: Json = await self.slack.request("POST", f"people/{self.who}/{act}", body)
        return answer

    async def _see(self, what: str, query: Json | None = None) -> list[Json]:
        answer: list[Json] = await self.slack.request("GET", f"people/{self.who}/{what}", query)
        return answer


def _place(where: Json) -> Json:
    if "ts" in where:
        return {"channel": where["channel"], "ts": where["ts"]}
    return {"view_id": where["id"]}


def _named(action_id: str, label: str, block_id: str) -> Json:
    return {key: value for key, value in (("action_id", action_id), ("label", label), ("block_id", block_id)) if value}
