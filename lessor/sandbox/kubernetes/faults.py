"""What shall go wrong: refusals, lost requests and answers, slow answers, groups that are away."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import get_args

from lessor.sandbox.kubernetes.errors import Refused
from lessor.sandbox.kubernetes.rbac import Access

from typing import Literal  # isort: skip

FaultKind = Literal["error", "lose-request", "lose-answer", "slow"]

_REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip
_MESSAGES = {
    401: "Unauthorized",
    410: "The provided continue parameter is too old to display a consistent list result.",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


@dataclass
class Fault:
    """A planned failure of requests by verb (`list`, `patch`), resource (`pods`, `deployments.apps`) and namespace.

    All are shell patterns. `times` is how many more it hits, None means until it is cleared. `seconds` is how long a
    slow answer takes, or what a 429 asks to wait.
    """

    kind: FaultKind = "error"
    verb: str = "*"
    resource: str = "*"
    namespace: str = "*"
    times: int | None = 1
    code: int = 500
    message: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(FaultKind):
            raise ValueError(f"kind is one of: {', '.join(get_args(FaultKind))}")

    def matches(self, access: Access) -> bool:
        plural = access.resource.partition("/")[0]
        names = {plural, access.resource, f"{plural}.{access.group}" if access.group else plural}
        return (
            fnmatchcase(access.verb, self.verb)
            and any(fnmatchcase(one, self.resource) for one in names)
            and fnmatchcase(access.namespace, self.namespace)
        )

    def refused(self, access: Access) -> Refused:
        reason = _REASONS.get(self.code, "InternalError")
        text = self.message or _MESSAGES.get(self.code, f"{access.resource} is refused by the sandbox ({self.code})")
        details = {"retryAfterSeconds": int(self.seconds) or 1} if self.code in (429, 503) else None
        return Refused(self.code, reason, text, details)
