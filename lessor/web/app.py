"""The application: pages, REST, files, and what stands before all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lessor.web import access, api, pages
from lessor.web.access import Doorkeeper
from lessor.web.answers import HEADERS, add_failures, told, unexpected
from lessor.web.desk import Desk

OPENAPI = "/api/openapi.json"

ASSETS = {"page.css": "text/css", "fresh.js": "text/javascript", "icon.svg": "image/svg+xml"}

_files = APIRouter(include_in_schema=False)


def make_application(desk: Desk) -> FastAPI:
    """The dashboard over a desk, for any ASGI server."""
    app = FastAPI(
        title="lessor",
        summary="Every GPU has an owner, a purpose, a price and an end date.",
        description="What is on record, as `lessor ... --json` prints it. Nothing can be changed here.",
        version=version("lessor"),
        openapi_url=OPENAPI,
        docs_url=None,
        redoc_url=None,
    )
    app.state.desk = desk
    app.state.doorkeeper = Doorkeeper(desk.token, desk.clock)
    for router in (api.router, pages.router, access.router, _files):
        app.include_router(router)
    add_failures(app)
    app.middleware("http")(_before_everything)
    app.add_middleware(Heads)
    return app


class Heads:
    """Answers HEAD as GET is answered, without the content: what watches over pages asks so whether they are there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def without_content(message: Message) -> None:
            body = message["type"] == "http.response.body"
            await send({**message, "body": b""} if body else message)

        if scope["type"] == "http" and scope["method"] == "HEAD":
            # The server has to go on seeing HEAD, so that it does not wait for the content it was told the length of.
            await self._app({**scope, "method": "GET"}, receive, without_content)
        else:
            await self._app(scope, receive, send)


async def _before_everything(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    keeper: Doorkeeper = request.app.state.doorkeeper
    try:
        answer = keeper.turned_away(request) or await go_on(request)
    except Exception as error:
        answer = unexpected(request, error)
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


@_files.get("/assets/{name}")
async def asset(request: Request, name: str) -> Response:
    """A file that pages refer to."""
    if name not in ASSETS:
        return told(request, 404, "not-found", f"there is no file {name[:40]}")
    content = files("lessor.web").joinpath("assets", name).read_bytes()
    return Response(content, media_type=ASSETS[name], headers={"cache-control": "no-cache"})
