"""How every answer looks: pages from templates, errors as words or as JSON, and headers that keep pages harmless."""

from __future__ import annotations

import re
import traceback
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from lessor.domain.errors import Refused
from lessor.ports import LedgerUnavailableError
from lessor.web.desk import desk_of

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every answer carries unless it says otherwise: no page of ours runs or loads what is not ours."""

STATUSES = {"not-found": 404, "unreachable": 503}
"""Refusals that are not the asker's mistake, or not quite."""

UNASKED = {404: "not-found", 405: "no-method"}

log = structlog.get_logger(__name__)


def page(request: Request, template: str, *, status_code: int = 200, **values: object) -> HTMLResponse:
    """One page. Values are escaped by the templates."""
    desk = desk_of(request)
    scene, now = desk.scene(), desk.clock()
    shown = desk.wording.render(
        template, scene=scene, zone=scene.zone, now=now, path=request.url.path, guarded=bool(desk.token), **values
    )
    return HTMLResponse(shown, status_code)


def failure(status: int, code: str, message: str) -> JSONResponse:
    """An error for programs: a word that stays the same, and what to do in words."""
    return JSONResponse({"code": code, "message": message}, status)


def told(request: Request, status: int, code: str, message: str) -> Response:
    """An error for whoever asked: a program or a person."""
    if request.url.path.startswith("/api/") or request.url.path == "/healthz":
        return failure(status, code, message)
    return page(request, "error.html.j2", status_code=status, code=code, message=message)


def add_failures(app: FastAPI) -> None:
    """Everything that can go wrong becomes an answer that says what to do."""

    async def refused(request: Request, error: Any) -> Response:
        return told(request, STATUSES.get(error.code, 400), error.code, str(error))

    async def invalid(request: Request, error: Any) -> Response:
        words = "; ".join(_field(one) for one in error.errors())
        return told(request, 422, "invalid", f"{words}; nothing was shown, see /api for what is allowed")

    async def unasked(request: Request, error: Any) -> Response:
        words = f"there is nothing at {request.url.path[:80]}; begin at /" if error.status_code == 404 else error.detail
        return told(request, error.status_code, UNASKED.get(error.status_code, "refused"), words)

    async def down(request: Request, error: Any) -> Response:
        log.warning("the ledger cannot be read", problem=str(error)[:200])
        words = "the ledger cannot be read now; nothing is lost. Try again in a minute, and look at the database if not"
        return told(request, 503, "ledger-unreachable", words)

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, unasked)
    app.add_exception_handler(LedgerUnavailableError, down)


def unexpected(request: Request, error: Exception) -> Response:
    """What was not foreseen. The log gets where it happened and no values: headers hold the token."""
    where = "".join(traceback.format_exception(error))
    log.error("a page failed", path=request.url.path, problem=repr(error)[:300], where=where)
    return told(request, 500, "failed", "this could not be shown; the dashboard's log says why")


def _field(error: Any) -> str:
    name = str(error["loc"][-1])
    message = re.sub(r"^(Input|Value|String)", name, error["msg"])
    return message if message.startswith(name) else f"{name}: {message}"
