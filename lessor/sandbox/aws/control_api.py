"""The switches over HTTP, for the demo, the page and tests in other processes.

`GET /_sim/state` is the whole state as JSON; `POST /_sim/switches/NAME` with a JSON object of arguments calls the
switch of that name; `GET /_sim/leftovers?lease=ID`; `POST /_sim/reset`; `GET /_sim/` is the page.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from aiohttp import web

from lessor.sandbox.aws.cloud import SimulatedCloud
from lessor.sandbox.aws.controls import Controls

_PAGE = {
    "/_sim": ("aws/page/index.html", "text/html"),
    "/_sim/": ("aws/page/index.html", "text/html"),
    "/_sim/page.css": ("look/page.css", "text/css"),
    "/_sim/dom.js": ("look/dom.js", "text/javascript"),
    "/_sim/page.js": ("aws/page/page.js", "text/javascript"),
    "/_sim/tiles.js": ("aws/page/tiles.js", "text/javascript"),
}
_QUESTIONS = {"calls", "journal", "leftovers", "instances", "snapshot"}


def switch_names() -> list[str]:
    """Names that `POST /_sim/switches/NAME` accepts."""
    methods = inspect.getmembers(Controls, inspect.isfunction)
    return sorted(name for name, _ in methods if not name.startswith("_") and name not in _QUESTIONS)


def add_control_routes(application: web.Application, controls: Controls, cloud: SimulatedCloud) -> None:
    """Add the routes under `/_sim/`."""
    allowed = set(switch_names())

    async def state(request: web.Request) -> web.Response:
        return _json(controls.snapshot())

    async def leftovers(request: web.Request) -> web.Response:
        return _json([resource.to_json() for resource in controls.leftovers(request.query.get("lease"))])

    async def reset(request: web.Request) -> web.Response:
        cloud.reset()
        cloud.on_change()
        return _json({"ok": True})

    async def switch(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in allowed:
            return _refused(404, f"there is no switch {name!r}; there are: {', '.join(sorted(allowed))}")
        try:
            arguments = json.loads(await request.text() or "{}")
            method = getattr(controls, name)
            inspect.signature(method).bind(**arguments)
            result = method(**arguments)
            cloud.on_change()
            return _json({"ok": True, "result": result})
        except (TypeError, ValueError, FileNotFoundError) as error:
            return _refused(400, f"{name}: {error}")

    for path, (name, content_type) in _PAGE.items():
        application.router.add_get(path, _file(name, content_type))
    application.router.add_get("/_sim/state", state)
    application.router.add_get("/_sim/leftovers", leftovers)
    application.router.add_post("/_sim/reset", reset)
    application.router.add_post("/_sim/switches/{name}", switch)


def _file(name: str, content_type: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def send(request: web.Request) -> web.Response:
        text = files("lessor.sandbox").joinpath(name).read_text(encoding="utf-8")
        return web.Response(text=text, content_type=content_type)

    return send


def _json(document: Any) -> web.Response:
    return web.json_response(document, dumps=lambda value: json.dumps(value, default=str))


def _refused(status: int, reason: str) -> web.Response:
    return web.json_response({"ok": False, "error": reason}, status=status)
