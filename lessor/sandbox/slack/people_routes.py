"""The people API: what a person can do and see, as JSON over HTTP.

All of it is under `/sandbox/api`; bodies are JSON objects; refusals are `{"ok": false, "error": "..."}`.
`{who}` is a person's id, name or e-mail address.

  GET  /workspace                        people, channels, commands, shortcuts, the app with its tokens
  GET  /people/{who}/state               ?channel= &thread=   everything the page needs in one answer
  GET  /people/{who}/messages            ?channel= &thread=   messages, oldest first
  GET  /people/{who}/dms                 everything in direct conversations with the app
  GET  /people/{who}/ephemerals          messages only this person sees
  GET  /people/{who}/views               open modals, the visible one last;  /people/{who}/home  App Home
  POST /people/{who}/command             {command, text, channel}
  POST /people/{who}/say                 {text, channel, thread_ts?}
  POST /people/{who}/interact            {channel, ts | view_id, action_id?, block_id?, label?, value?, values?}
  POST /people/{who}/submit              {view_id, values?}
  POST /people/{who}/close               {view_id}
  POST /people/{who}/open-home           {}
  POST /people/{who}/shortcut            {callback_id, channel?, ts?}
  POST /people/{who}/suggest             {channel, ts | view_id, action_id?, block_id?, typed}
  POST /people/{who}/read                {channel}
  POST /people/{who}/dismiss             {channel, ts}   hide an ephemeral message
  POST /people/{who}/delete              {channel, ts}   one's own message, or as an admin anybody's
  POST /people/{who}/status              {text, emoji?, expiration?}   seconds since the epoch; empty text clears it
  GET  /changes                          ?since= &timeout=   waits for the next change, gives {revision}
  GET  /stream                           the same as server-sent events
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lessor.sandbox.slack import seeing
from lessor.sandbox.slack.accounts import Accounts
from lessor.sandbox.slack.acts import Acts
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import PersonError
from lessor.sandbox.slack.workspace import Person

Json = dict[str, Any]
Handler = Callable[[Request], Awaitable[Any]]


def answering(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Turn a coroutine that gives plain data into an endpoint that words refusals."""

    async def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(await handler(request))
        except PersonError as refused:
            return JSONResponse({"ok": False, "error": refused.message}, status_code=refused.status)
        except ValueError as wrong:
            return JSONResponse({"ok": False, "error": str(wrong)}, status_code=400)

    return endpoint


async def body_of(request: Request) -> Json:
    """The JSON object sent; only `application/json` is taken, which no foreign page can send here unasked."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise PersonError("send application/json", 415)
    loaded = json.loads(await request.body() or b"{}")
    if not isinstance(loaded, dict):
        raise PersonError("send a JSON object")
    return loaded


class PeopleRoutes:
    """Endpoints over one core."""

    def __init__(self, core: Core, closing: asyncio.Event) -> None:
        self._core = core
        self._acts = Acts(core)
        self._accounts = Accounts(core)
        self._closing = closing

    def routes(self) -> list[Route]:
        people = "/sandbox/api/people/{who}"
        reads: dict[str, Handler] = {
            "/sandbox/api/workspace": self._workspace,
            "/sandbox/api/changes": self._changes,
            f"{people}/state": self._state,
            f"{people}/messages": self._messages,
            f"{people}/dms": self._of(seeing.direct_messages),
            f"{people}/ephemerals": self._of(seeing.ephemerals),
            f"{people}/views": self._of(seeing.views),
            f"{people}/home": self._of(seeing.home),
        }
        acts: dict[str, Callable[[str, Json], Awaitable[Json]]] = {
            "command": self._command,
            "say": self._say,
            "interact": self._interact,
            "submit": self._submit,
            "close": self._close,
            "open-home": self._open_home,
            "shortcut": self._shortcut,
            "suggest": self._suggest,
            "read": self._read,
            "dismiss": self._dismiss,
            "delete": self._delete,
            "status": self._status,
        }
        return [
            *(Route(path, answering(handler)) for path, handler in reads.items()),
            *(Route(f"{people}/{name}", answering(_act(act)), methods=["POST"]) for name, act in acts.items()),
            Route("/sandbox/api/stream", self._stream),
        ]

    async def _workspace(self, request: Request) -> Json:
        return {**self._core.workspace.to_data(), "revision": self._core.store.revision}

    async def _changes(self, request: Request) -> Json:
        since = int(request.query_params.get("since", "-1"))
        timeout = min(float(request.query_params.get("timeout", "25")), 60.0)
        return {"revision": await self._core.store.changed(since, timeout)}

    async def _state(self, request: Request) -> Json:
        core, person = self._core, self._person(request)
        place = core.place(person, request.query_params.get("channel") or core.workspace.app.name)
        thread = request.query_params.get("thread", "")
        return {
            "revision": core.store.revision,
            "conversations": seeing.conversations(core, person),
            "people": {one.id: seeing.unread_of(core, one) for one in core.workspace.people},
            "accounts": seeing.accounts(core),
            "channel": place.id,
            "messages": seeing.messages(core, person, place),
            "thread": seeing.messages(core, person, place, thread) if thread else [],
            "views": seeing.views(core, person),
            "home": seeing.home(core, person),
        }

    async def _messages(self, request: Request) -> list[Json]:
        person = self._person(request)
        place = self._core.place(person, request.query_params.get("channel", ""))
        return seeing.messages(self._core, person, place, request.query_params.get("thread", ""))

    def _of(self, look: Callable[[Core, Person], Any]) -> Handler:
        async def handler(request: Request) -> Any:
            return look(self._core, self._person(request))

        return handler

    async def _command(self, who: str, body: Json) -> Json:
        return await self._acts.command(who, body["command"], body.get("text", ""), body["channel"])

    async def _say(self, who: str, body: Json) -> Json:
        return await self._acts.say(who, body["text"], body["channel"], body.get("thread_ts", ""))

    async def _interact(self, who: str, body: Json) -> Json:
        return await self._acts.interact(who, body, body.get("value"), **_named(body))

    async def _submit(self, who: str, body: Json) -> Json:
        return await self._acts.submit(who, body["view_id"], body.get("values"))

    async def _close(self, who: str, body: Json) -> Json:
        return await self._acts.close(who, body["view_id"])

    async def _open_home(self, who: str, body: Json) -> Json:
        return await self._acts.open_home(who)

    async def _shortcut(self, who: str, body: Json) -> Json:
        return await self._acts.shortcut(who, body["callback_id"], body.get("channel", ""), body.get("ts", ""))

    async def _suggest(self, who: str, body: Json) -> Json:
        return await self._acts.suggest(who, body, body.get("typed", ""), **_named(body))

    async def _read(self, who: str, body: Json) -> Json:
        person = self._core.person(who)
        place = self._core.place(person, body["channel"])
        posts = self._core.store.posts.get(place.id)
        key = f"{person.id} {place.id}"
        if posts and self._core.store.read.get(key) != posts[-1].ts:
            self._core.store.read[key] = posts[-1].ts
            self._core.store.touch()
        return {"ok": True}

    async def _dismiss(self, who: str, body: Json) -> Json:
        person = self._core.person(who)
        post = self._core.store.find(self._core.place(person, body["channel"]).id, body["ts"])
        if post is None or post.visible_to != person.id:
            raise PersonError("only a message that only you see can be dismissed", 404)
        self._core.store.remove(post)
        return {"ok": True}

    async def _delete(self, who: str, body: Json) -> Json:
        return await self._acts.delete(who, body["channel"], body["ts"])

    async def _status(self, who: str, body: Json) -> Json:
        expiration = int(body.get("expiration") or 0)
        return await self._accounts.set_status(who, body.get("text", ""), body.get("emoji", ""), expiration)

    async def _stream(self, request: Request) -> Response:
        async def revisions() -> AsyncIterator[str]:
            revision = self._core.store.revision
            yield f"data: {revision}\n\n"
            while not self._closing.is_set():
                revision = await self._core.store.changed(revision, 15.0)
                yield f"data: {revision}\n\n"

        return StreamingResponse(revisions(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    def _person(self, request: Request) -> Person:
        return self._core.person(request.path_params["who"])


def _act(act: Callable[[str, Json], Awaitable[Json]]) -> Handler:
    async def handler(request: Request) -> Json:
        body = await body_of(request)
        try:
            return await act(request.path_params["who"], body)
        except KeyError as absent:
            raise PersonError(f"the body lacks {absent}") from absent

    return handler


def _named(body: Json) -> dict[str, str]:
    return {key: body[key] for key in ("action_id", "block_id", "label") if body.get(key)}
