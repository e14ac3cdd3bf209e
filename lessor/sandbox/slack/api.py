"""The Web API's front door: arguments, tokens, faults, rate limits and the log of calls.

Methods live in the `api_*` modules; each is a coroutine of (core, args) that gives the answer without `ok`, or
raises SlackError.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from lessor.sandbox.slack import scopes
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError

Json = dict[str, Any]
Method = Callable[[Core, "Args"], Awaitable[Json]]

_STRUCTURED = frozenset({"blocks", "view", "attachments", "metadata", "files"})


class Args:
    """A call's arguments, whether they came as JSON, as a form or in the query."""

    def __init__(self, values: Json, token: str = "") -> None:
        self.values = values
        self.token = token

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name)
        return default if value is None else str(value)

    def required(self, name: str, code: str = "invalid_arguments") -> str:
        value = self.text(name)
        if not value:
            raise SlackError(code, [f"missing required field: {name}"] if code == "invalid_arguments" else None)
        return value

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in ("true", "1")

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        return int(text) if text.isdigit() else default

    def logged(self) -> Json:
        """The arguments as the log keeps them: no token, structures parsed where they can be."""
        shown = {name: value for name, value in self.values.items() if name != "token"}
        for name in _STRUCTURED & shown.keys():
            with contextlib.suppress(SlackError):
                shown[name] = self.structure(name)
        return shown

    def structure(self, name: str) -> Any:
        """`blocks`, `view` and the like, which may be JSON text; None when absent."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError as wrong:
            raise SlackError(f"invalid_{name}_format" if name == "blocks" else "invalid_arguments") from wrong


class WebApi:
    """Answers `/api/<method>`."""

    def __init__(self, core: Core, methods: dict[str, Method]) -> None:
        self._core = core
        self._methods = methods

    async def __call__(self, request: Request) -> Response:
        method = request.path_params["method"]
        try:
            args = await _arguments(request)
        except SlackError as refused:
            return JSONResponse(refused.answer())
        faults = self._core.faults
        if faults.use("down", method) is not None:
            self._log(method, args, "down")
            return Response("upstream unavailable", status_code=503)
        if faults.use("lose_request", method) is not None:
            self._log(method, args, "lose_request")
            return BrokenResponse()
        slow = faults.use("slow", method)
        if slow is not None:
            self._core.store.touch()
            await self._core.clock.sleep(slow.seconds)
        answer, status, headers = await self._answer(method, args)
        self._log(method, args, str(answer.get("error", "ok")))
        if faults.use("lose_answer", method) is not None:
            return BrokenResponse()
        return JSONResponse(answer, status_code=status, headers=headers)

    async def _answer(self, method: str, args: Args) -> tuple[Json, int, dict[str, str]]:
        try:
            known = self._methods.get(method)
            if known is None:
                raise SlackError("unknown_method")
            self._authenticate(method, args.token)
            scopes.check(method, self._core.workspace.app.scopes)
            self._refuse_by_fault(method)
            self._core.rate_limits.check(method, args.text("channel"))
            result = await known(self._core, args)
        except SlackError as refused:
            if refused.retry_after is not None:
                return refused.answer(), 429, {"Retry-After": str(refused.retry_after)}
            return refused.answer(), 200, {}
        return {"ok": True, **result}, 200, {}

    def _authenticate(self, method: str, token: str) -> None:
        app = self._core.workspace.app
        if not token:
            raise SlackError("not_authed")
        if token not in (app.bot_token, app.app_token):
            raise SlackError("invalid_auth")
        if (method == "apps.connections.open") != (token == app.app_token):
            raise SlackError("not_allowed_token_type")

    def _refuse_by_fault(self, method: str) -> None:
        limited = self._core.faults.use("rate_limit", method)
        if limited is not None:
            raise SlackError("ratelimited", retry_after=limited.retry_after)
        failing = self._core.faults.use("error", method)
        if failing is not None:
            raise SlackError(failing.error)

    def _log(self, method: str, args: Args, outcome: str) -> None:
        call = {"method": method, "args": args.logged(), "outcome": outcome, "at": self._core.clock.now()}
        self._core.calls.append(call)
        self._core.store.touch()


class BrokenResponse(Response):
    """Announces more than it sends, so that the server breaks the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"ok":', "more_body": True})
        await asyncio.sleep(0)


def _json_object(body: bytes) -> Json:
    try:
        loaded = json.loads(body)
    except ValueError as wrong:
        raise SlackError("invalid_json") from wrong
    if not isinstance(loaded, dict):
        raise SlackError("json_not_object")
    return loaded


async def _arguments(request: Request) -> Args:
    values: Json = dict(request.query_params)
    body = await request.body()
    content_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if content_type == "application/json" and body:
        values |= _json_object(body)
    elif content_type == "multipart/form-data":
        values |= {key: value for key, value in (await request.form()).items() if isinstance(value, str)}
    elif body:
        values |= dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True))
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else str(values.get("token", ""))
    return Args(values, token)
