"""moto's own server, called in this process: no second port, no second program to start and to stop."""

from __future__ import annotations

from functools import cache
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.test import Client
from werkzeug.wrappers import Response

from lessor.sandbox.aws.call import ApiCall
from lessor.sandbox.aws.errors import Answer


def ask_moto(call: ApiCall, account: str) -> Answer:
    """moto's answer to the call, made in `account` whatever the access key says."""
    headers = {name: value for name, value in call.headers.items() if name not in ("host", "content-length")}
    headers["x-moto-account-id"] = account
    response = _client().open(
        path=call.path,
        query_string=call.query,
        method=call.method,
        headers=headers,
        data=call.body,
        base_url="http://localhost",
    )
    return _answer(response)


@cache
def _client() -> Client:
    application: Any = DomainDispatcherApplication(create_backend_app)
    return Client(application, Response)


def _answer(response: Any) -> Answer:
    kept = {
        name.lower(): value
        for name, value in response.headers.items()
        if name.lower() in ("content-type", "x-amzn-errortype")
    }
    code = ""
    if response.status_code >= 400:
        code = kept.get("x-amzn-errortype") or _xml_code(response.data) or str(response.status_code)
    return Answer(response.status_code, response.data, kept, code)


def _xml_code(body: bytes) -> str:
    return body.partition(b"<Code>")[2].partition(b"</Code>")[0].decode("utf-8", "replace")
