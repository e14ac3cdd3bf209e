"""AWS errors in the three wire forms that SDKs parse, so that a refusal reads exactly like one from AWS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

REQUEST_ID = "5e7a1c0e-51b0-4e55-8a3d-1e5505517a0e"


class AwsError(Exception):
    """A refusal: `code` and `message` as AWS writes them, `status` the HTTP status it travels with."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


@dataclass(frozen=True)
class Answer:
    """An HTTP answer before delivery; `error_code` is the AWS code when it is a refusal, else empty."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    error_code: str = ""


def render_error(service: str, error: AwsError) -> Answer:
    """The error in the dialect of `service`: EC2's XML, STS's query XML, or JSON for the rest."""
    if service == "ec2":
        return _xml(
            error,
            f"<Response><Errors>{_code_and_message(error)}</Errors><RequestID>{REQUEST_ID}</RequestID></Response>",
        )
    if service in ("sts", "iam"):
        kind = "Sender" if error.status < 500 else "Receiver"
        inner = _code_and_message(error).replace("<Error>", f"<Error><Type>{kind}</Type>")
        return _xml(error, f"<ErrorResponse>{inner}<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>")
    body = json.dumps({"__type": error.code, "message": error.message}).encode()
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "x-amzn-errortype": error.code,
        "x-amzn-requestid": REQUEST_ID,
    }
    return Answer(error.status, body, headers, error.code)


def _code_and_message(error: AwsError) -> str:
    return f"<Error><Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message></Error>"


def _xml(error: AwsError, body: str) -> Answer:
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'
    return Answer(error.status, text.encode(), {"content-type": "text/xml;charset=UTF-8"}, error.code)
