"""Who may look: this machine by itself, everybody else with the token, as a bearer or once in a form.

A cookie holds a proof that somebody knew the token, and until when that is good, never the token. Without a token only
loopback names are answered: a foreign page whose name was pointed at this machine would read everything otherwise. A
form of another site signs nobody in or out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.responses import HTMLResponse

from lessor.web.answers import failure, page, told
from lessor.web.desk import desk_of

COOKIE = "lessor_session"
HOLDS = timedelta(hours=12)
LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE | re.ASCII)
OWN = frozenset({"same-origin", "none"})
"""What browsers say of the site that a request comes from where it is this one, or no page at all."""

OPEN_TO_ALL = ("/healthz", "/login", "/assets/")
FORM_MOST = 4_096

router = APIRouter(include_in_schema=False)


class Doorkeeper:
    """Knows the token. Comparisons take the same time whatever is wrong."""

    def __init__(self, token: str, clock: Callable[[], datetime]) -> None:
        self._token = token.encode()
        self._clock = clock

    def turned_away(self, request: Request) -> Response | None:
        """What somebody gets who may not look; `None` for everybody else."""
        if not self._token:
            return None if LOOPBACK.fullmatch(_host(request)) else _foreign(request)
        if request.url.path.startswith(OPEN_TO_ALL) or self._bears(request) or self._was_in(request):
            return None
        if request.url.path.startswith("/api/"):
            answer = failure(401, "not-signed-in", "send the token as Authorization: Bearer TOKEN; nothing was shown")
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        way = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?next={quote(way)}", status_code=303)

    def fits(self, token: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(self._token, token.encode())

    def pass_for(self) -> str:
        """The value of a cookie that is good from now on."""
        until = int((self._clock() + HOLDS).timestamp())
        return f"{until}.{self._proof(until)}"

    def _bears(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.fits(token.strip())

    def _was_in(self, request: Request) -> bool:
        until, _, proof = request.cookies.get(COOKIE, "").partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 12):
            return False
        good = hmac.compare_digest(self._proof(int(until)).encode(), proof.encode())
        return good and self._clock().timestamp() < int(until)

    def _proof(self, until: int) -> str:
        return hmac.new(self._token, f"lessor dashboard until {until}".encode(), hashlib.sha256).hexdigest()


@router.get("/login")
async def ask(request: Request, next: str = "/") -> HTMLResponse:
    """The form."""
    return page(request, "login.html.j2", next=_inside(next), wrong=False)


@router.post("/login")
async def let_in(request: Request) -> Response:
    """Take the token; a wrong one is told, and kept nowhere."""
    fields = dict(parse_qsl(await _body(request), keep_blank_values=True))
    way = _inside(fields.get("next", "/"))
    keeper: Doorkeeper = request.app.state.doorkeeper
    if _from_elsewhere(request):
        return _refused(request)
    if not desk_of(request).token or not keeper.fits(fields.get("token", "").strip()):
        return page(request, "login.html.j2", status_code=403, next=way, wrong=True)
    answer = RedirectResponse(way, status_code=303)
    secure = request.url.scheme == "https"
    age = int(HOLDS.total_seconds())
    answer.set_cookie(COOKIE, keeper.pass_for(), max_age=age, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
async def let_out(request: Request) -> Response:
    """Forget the cookie."""
    if _from_elsewhere(request):
        return _refused(request)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer


def _inside(way: str) -> str:
    """A path of ours: nobody is sent to another site, however its address is spelled."""
    return way if way.startswith("/") and not way.startswith(("//", "/\\")) and way.isprintable() else "/"


def _host(request: Request) -> str:
    """The name that was asked for, as it was said. One that makes no sense is nobody's, wherever it was sent."""
    said = request.headers.getlist("host")
    return said[0] if len(said) == 1 else ""


def _from_elsewhere(request: Request) -> bool:
    """Whether a browser says that a page of another site sent this; programs say nothing."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site not in OWN
    return origin is not None and origin.partition("://")[2] != _host(request)


def _refused(request: Request) -> Response:
    words = "another site sent this form, so nothing was done; open the dashboard itself and do it there"
    return told(request, 403, "foreign-form", words)


async def _body(request: Request) -> str:
    """What a form sent, cut off where no form of ours is that long."""
    read = b""
    async for chunk in request.stream():
        read += chunk
        if len(read) > FORM_MOST:
            return ""
    return read.decode("utf-8", "replace")


def _foreign(request: Request) -> Response:
    words = (
        f"this dashboard answers to 127.0.0.1 and localhost only, not to '{_host(request)[:80]}'; "
        "to serve it under other names set LESSOR_WEB_TOKEN and start it with --host"
    )
    return failure(403, "foreign-host", words)
