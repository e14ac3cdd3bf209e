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
from typing import Any
from urllib.parse import urlencode

from lessor.refusals import TelemetryError

CHUNK = 1 << 20
LARGEST = 1 << 30
SHOWN = 200


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

    def ask(self, url: str, form: Mapping[str, str], seconds: float) -> Answer:
        """The JSON document that the server answers within `seconds`."""
        until = time.monotonic() + seconds
        headers = {**self._headers, **self._credentials().headers()}
        request = urllib.request.Request(url, urlencode(form).encode(), headers, method="POST")  # noqa: S310
        try:
            with self._opener().open(request, timeout=seconds) as answer:
                body = _read(answer, until)
                return Answer(_document(body, answer.headers), _date(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                raise self._failed(_refused(error)) from None
        except TimeoutError:
            raise self._failed(_late(seconds)) from None
        except _UnusableError as error:
            raise self._failed(str(error)) from None
        except ValueError:
            # What http.client says of a header that cannot be sent would repeat the secret in it.
            raise self._failed("cannot be asked: its url, a header or a secret has a character too many") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._failed(_late(seconds)) from None
            raise self._failed(f"cannot be reached ({_plain(reason)}); check its address and that it runs") from None

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self._ca_file:
            try:
                handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self._ca_file)))
            except OSError as error:
                raise self._failed(f"has a CA file that cannot be read ({_plain(error)}); check the file") from None
        return urllib.request.build_opener(*handlers)

    def _failed(self, what: str) -> TelemetryError:
        return TelemetryError(f"telemetry source '{self._name}' {what}")


class _UnusableError(Exception):
    """An answer that is none; the text says what to do."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect leads to a login page, or carries the token elsewhere: it is an error as it stands."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _read(answer: http.client.HTTPResponse, until: float) -> bytes:
    """All of it: a server that sends a little now and then would outlast the limit of each single read."""
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(CHUNK):
        parts.append(part)
        size += len(part)
        if time.monotonic() > until:
            raise TimeoutError
        if size > LARGEST:
            raise _UnusableError("answered with more than 1 GiB; narrow what it is asked by `match`")
    if answer.length:
        raise _UnusableError("stopped in the middle of its answer; see its log, and whatever stands between")
    return b"".join(parts)


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
