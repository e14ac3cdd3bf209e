"""The HTTP face of the sandbox's mail: the page, what it asks for, and the receiver of events."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from lessor.notify.signature import is_genuine
from lessor.sandbox.mail.postbox import Event, Postbox, Received

_PAGE = Path(__file__).parent / "page"
_LOOK = Path(__file__).parents[1] / "look"
"""The simulators look alike, so they share one sheet and what builds their tables."""

_FILES = {
    "/": (_PAGE / "index.html", "text/html"),
    "/page.css": (_LOOK / "page.css", "text/css"),
    "/dom.js": (_LOOK / "dom.js", "text/javascript"),
    "/mail.css": (_PAGE / "mail.css", "text/css"),
    "/page.js": (_PAGE / "page.js", "text/javascript"),
}
Handler = Callable[[web.Request], Awaitable[web.Response]]

_LARGEST_BODY = 1024 * 1024
_ALONE = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""A mail that is shown may run nothing and load nothing."""


def make_application(postbox: Postbox, secret: str) -> web.Application:
    """The aiohttp application. `secret` is that with which events are to be signed."""
    application = web.Application(client_max_size=_LARGEST_BODY)

    async def listing(_: web.Request) -> web.Response:
        mails, events = _mails(postbox), [_event(one) for one in postbox.events]
        return web.json_response({"mails": mails, "events": events, "faults": asdict(postbox.faults)})

    async def html(request: web.Request) -> web.Response:
        one = postbox.mail(int(request.match_info["number"]))
        if one is None:
            raise web.HTTPNotFound(text="no such mail")
        return web.Response(
            text=one.body("html"), content_type="text/html", headers={"content-security-policy": _ALONE}
        )

    async def switch(request: web.Request) -> web.Response:
        try:
            postbox.switch(**await request.json())
        except (ValueError, TypeError) as wrong:
            return web.json_response({"error": str(wrong)}, status=400)
        return web.json_response(asdict(postbox.faults))

    async def clear(_: web.Request) -> web.Response:
        postbox.clear()
        return web.json_response({})

    application.router.add_get("/api/mail", listing)
    application.router.add_get(r"/mail/{number:\d+}", html)
    application.router.add_post("/api/faults", switch)
    application.router.add_post("/api/clear", clear)
    application.router.add_post("/webhook", _webhook(postbox, secret))
    for path, (file, kind) in _FILES.items():
        application.router.add_get(path, _serving(file, kind))
    return application


def _webhook(postbox: Postbox, secret: str) -> Handler:
    async def take(request: web.Request) -> web.Response:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        if postbox.faults.webhook:
            return web.Response(status=postbox.faults.webhook, headers=_elsewhere(postbox.faults.webhook))
        genuine = is_genuine(secret, headers, body, datetime.now(UTC))
        postbox.take_event(headers, body, genuine)
        return web.Response(status=204 if genuine else 401)

    return take


def _serving(file: Path, kind: str) -> Handler:
    text = file.read_text(encoding="utf-8")

    async def serve(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type=kind)

    return serve


def _mails(postbox: Postbox) -> list[dict[str, Any]]:
    """Latest first; a mail whose Message-ID came before is marked, as a mail program would show it once."""
    ids = [str(one.message["Message-ID"]) for one in postbox.mails]
    return [_mail(one, ids[n] in ids[n + 1 :]) for n, one in enumerate(postbox.mails)]


def _mail(one: Received, repeated: bool) -> dict[str, Any]:
    message = one.message
    kept = ("From", "To", "Subject", "Date", "Message-ID", "References", "Auto-Submitted")
    return {
        "number": one.number,
        "at": one.at.isoformat(timespec="seconds"),
        "to": list(one.recipients),
        "subject": str(message["Subject"]),
        "headers": [[name, str(message[name])] for name in kept if message[name]],
        "text": one.body("plain"),
        "encrypted": one.encrypted,
        "repeated": repeated,
    }


def _event(one: Event) -> dict[str, Any]:
    try:
        content = json.loads(one.body)
    except ValueError:
        content = {"unreadable": one.body[:2_000].decode(errors="replace")}
    return {
        "number": one.number,
        "at": one.at.isoformat(timespec="seconds"),
        "genuine": one.genuine,
        "repeated": one.repeated,
        "content": content,
    }


def _elsewhere(status: int) -> dict[str, str]:
    return {"location": "/elsewhere"} if 300 <= status < 400 else {}
