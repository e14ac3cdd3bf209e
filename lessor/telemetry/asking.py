"""One question over HTTP with one limit of time for all of it, and an answer that is either whole or an error."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from lessor.aside import aside
from lessor.refusals import TelemetryError

CHUNK = 1 << 20
LARGEST = 1 << 30
SHOWN = 200
T = TypeVar("T")


@dataclass(frozen=True)
class Credentials:
    """How to prove who asks; empty for a server that asks for nothing. Never shown, whatever fails."""

    token: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """The header that proves it."""
        if self.token:
            return {"Authorization": f"Bearer {self.token}"}
        if self.user or self.password:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}

    def hide(self, text: str) -> str:
        """The text without the secrets, should a server have repeated them."""
        for secret in filter(None, (self.token, self.password)):
            text = text.replace(secret, "(secret)")
        return text


@dataclass(frozen=True)
class Answer:
    """What was said, and when by the server's own clock (`None` when it does not tell)."""

    document: dict[str, Any]
    said_at: datetime | None


class Asker:
    """Asks one server by POST. Raises `TelemetryError` with what happened and what to do, never with a secret in it."""

    def __init__(
        self, name: str, credentials: Callable[[], Credentials], ca_file: str, headers: Mapping[str, str]
    ) -> None:
        """`credentials` are looked up for each question, since they may change; that may raise `TelemetryError`."""
        self._name = name
        self._ca_file = ca_file
        self._credentials = credentials
        self._headers = {"Accept": "application/json", **headers}
        self._opener: urllib.request.OpenerDirector | None = None

    def ask(self, url: str, form: Mapping[str, str], seconds: float) -> Answer:
        """The JSON document that the server answers within `seconds`."""
        credentials = self._credentials()
        headers = {**self._headers, **credentials.headers()}
        request = urllib.request.Request(url, urlencode(form).encode(), headers, method="POST")  # noqa: S310
        try:
            return self._answer(request, seconds)
        except _UnusableError as error:
            raise TelemetryError(f"telemetry source '{self._name}' {credentials.hide(str(error))}") from None

    def _answer(self, request: urllib.request.Request, seconds: float) -> Answer:
        try:
            body, headers = _bounded(lambda: _fetch(self._opened(request.type), request, seconds), seconds)
        except urllib.error.HTTPError as error:
            with error:
                raise _UnusableError(_refused(error)) from None
        except TimeoutError:
            raise _UnusableError(_late(seconds)) from None
        except ValueError:
            # What http.client says of a header that cannot be sent would repeat the secret in it.
            raise _UnusableError("cannot be asked: its url, a header or a secret has a character too many") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise _UnusableError(_late(seconds)) from None
            raise _UnusableError(f"cannot be reached ({_plain(reason)}); check its address and that it runs") from None
        return Answer(_document(body, headers), _date(headers))

    def _opened(self, scheme: str) -> urllib.request.OpenerDirector:
        """Made once: reading the certificates that are trusted takes longer than many a query."""
        if self._opener is None:
            handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
            if scheme == "https":
                handlers.append(urllib.request.HTTPSHandler(context=_trusted(self._ca_file)))
            self._opener = urllib.request.build_opener(*handlers)
        return self._opener


class _UnusableError(Exception):
    """An answer that is none; the text says what to do."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect leads to a login page, or carries the token elsewhere: it is an error as it stands."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _bounded(call: Callable[[], T], seconds: float) -> T:
    """The result of `call`. Raises `TimeoutError` when time is up, whatever it waits for: a name, headers or a body."""
    return aside(call, "telemetry").result(seconds)


def _fetch(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, seconds: float
) -> tuple[bytes, Message]:
    """The whole body and the headers; ends soon after its time even when nobody waits for it any more."""
    until = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    with opener.open(request, timeout=seconds) as answer:
        while part := answer.read1(CHUNK):
            parts.append(part)
            if time.monotonic() > until:
                raise TimeoutError
            size += len(part)
            if size > LARGEST:
                raise _UnusableError("answered with more than 1 GiB; narrow what it is asked by `match`")
        if answer.length:
            raise _UnusableError("stopped in the middle of its answer; see its log, and whatever stands between")
        return b"".join(parts), answer.headers


def _trusted(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise _UnusableError(f"has a CA file that cannot be read ({_plain(error)}); check the file") from None


def _document(body: bytes, headers: Message) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        kind = headers.get_content_type()
        raise _UnusableError(
            f"answered with something other than JSON ({kind}); check that its url is that of a Prometheus API"
        ) from None
    if not isinstance(document, dict):
        raise _UnusableError("answered with JSON that is no answer of a Prometheus API; check its url")
    return document


def _refused(error: urllib.error.HTTPError) -> str:
    code = error.code
    if 300 <= code < 400:
        return f"redirects elsewhere (HTTP {code}), as to a login page; give the address of the API and its credentials"
    if code in (401, 403):
        return f"refuses our credentials (HTTP {code}); check the environment variables that its settings name"
    if code == 404:
        return "knows no such address (HTTP 404); check its url, without /api/v1/query at its end"
    if code == 429:
        return "has too many queries (HTTP 429); ask less often or raise its limit"
    return f"failed (HTTP {code}){_reason(error)}; see its log"


def _reason(error: urllib.error.HTTPError) -> str:
    """What Prometheus says of a query that it could not answer."""
    try:
        document = json.loads(error.read(CHUNK))
        return f": {_plain(document['error'])}"
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException, AttributeError):
        return ""


def _late(seconds: float) -> str:
    return f"gave no whole answer within {seconds:g} s; see how busy it is, or raise its `timeout`"


def _plain(what: object) -> str:
    """A reason in one short line."""
    return " ".join(str(what).split())[:SHOWN]


def _date(headers: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(headers["Date"])
    except (TypeError, ValueError):
        return None
