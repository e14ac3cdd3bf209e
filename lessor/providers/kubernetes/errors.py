"""What a cluster's answer means: which errors may pass, which never do, and that none of them says "nothing there"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lessor.ports import PermanentError, ProviderError, RetryableError
from lessor.providers.kubernetes.api import Obj

ANONYMOUS = "system:anonymous"
"""Who we are for the server when our credentials have run out and it lets strangers in (case D14)."""

_NEVER = {
    400: ("invalid", "refuses"),
    404: ("not-found", "finds no place for"),
    405: ("not-served", "knows no"),
    409: ("conflict", "has another object in the way of"),
    413: ("invalid", "refuses"),
    415: ("invalid", "refuses"),
    422: ("invalid", "refuses"),
}
"""The codes of answers that stay what they are however often we ask, with words."""

_WHY = {
    "ConnectTimeoutError": "no connection in time",
    "NewConnectionError": "no connection",
    "NameResolutionError": "its name has no address",
    "ReadTimeoutError": "no answer in time",
    "ProtocolError": "the connection was cut",
    "ValueError": "what we would have sent is no request, such as a token of several lines",
}

NOT_COUNTED = "not-counted"
"""The code while a quota that was just made lets nothing in yet, because its use is still to be counted."""

NEXT = "`lessor places check` says what is wrong with this cluster"
LONGEST = 400


@dataclass(frozen=True)
class Answer:
    """What came back: the HTTP status, the body where it was JSON, and after how many seconds to come again."""

    status: int
    body: Obj = field(default_factory=dict)
    retry_after: str = ""

    @property
    def fine(self) -> bool:
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The server's own words, shortened."""
        return str(self.body.get("message") or "no reason given")[:LONGEST]

    @property
    def details(self) -> dict[str, Any]:
        found = self.body.get("details")
        return found if isinstance(found, dict) else {}

    @property
    def causes(self) -> list[dict[str, Any]]:
        return [cause for cause in self.details.get("causes") or () if isinstance(cause, dict)]

    @property
    def stranger(self) -> bool:
        """Whether we were not known: new credentials may help, and what was asked for is unknown."""
        return self.status == 401 or (self.status == 403 and ANONYMOUS in str(self.body.get("message")))

    def absent(self, name: str) -> bool:
        """Whether the server itself says that this object does not exist; a path it does not know is no such word."""
        return self.status == 404 and self.body.get("reason") == "NotFound" and self.details.get("name") == name


def refusal(answer: Answer, cluster: str, doing: str) -> ProviderError:
    """The error for an answer that is no success; `doing` is like `reading pods in gpu-7k3qxa2m`."""
    where, said = f"cluster {cluster}", answer.message
    if answer.stranger:
        return RetryableError(
            f"{where} does not know us ({answer.status}) when {doing}, with new credentials neither: {said}; "
            f"what is there is unknown. {NEXT}",
            "unauthorized",
        )
    if answer.status == 403:
        return _forbidden(answer, where, doing)
    if answer.status == 409 and "has been modified" in said:
        return RetryableError(f"{where} had others change the same object when {doing}: {said}", "contended")
    if answer.status in _NEVER:
        code, words = _NEVER[answer.status]
        code = "conflict" if _other_uid(answer) else code
        return PermanentError(f"{where} {words} {doing}: {said}; nothing was changed", code)
    if answer.status == 429:
        later = f" for {answer.retry_after} s" if answer.retry_after else ""
        return RetryableError(f"{where} asks to wait{later} when {doing}: {said}", "throttled")
    return RetryableError(f"{where} answered {answer.status} when {doing}: {said}; the result is unknown", "no-result")


def no_answer(cluster: str, doing: str, why: str, *, writing: bool) -> RetryableError:
    """For a connection that could not be made, was cut or took too long. A write may have been done all the same."""
    unknown = "it may have been done all the same" if writing else "what is there is unknown"
    return RetryableError(f"cluster {cluster} gave no answer when {doing} ({why}); {unknown}. {NEXT}", "no-answer")


def without_next(text: str) -> str:
    """For who reads it where it is being checked what is wrong."""
    return text.removesuffix(f". {NEXT}")


def together(problems: Sequence[str]) -> str:
    """Several problems in one text, each once, and once what to do about them."""
    said = "; ".join(dict.fromkeys(map(without_next, problems)))
    return f"{said}. {NEXT}" if any(one.endswith(NEXT) for one in problems) else said


def spoken(error: Exception) -> str:
    """Why there was no answer, in words that hold nothing of what was sent."""
    if "SSL" in (said := f"{type(error).__name__} {getattr(error, 'reason', '')}"):
        return " ".join(f"its certificate or protocol was refused: {said}".split())[:LONGEST]
    return _WHY.get(type(error).__name__, type(error).__name__)


def not_served(cluster: str, kind: str) -> PermanentError:
    return PermanentError(f"cluster {cluster} does not have the kind {kind}; nothing was changed", "not-served")


def _forbidden(answer: Answer, where: str, doing: str) -> ProviderError:
    """What rights forbid, apart from what a namespace forbids everybody: a quota that is used up, or its own end."""
    if any(cause.get("reason") == "NamespaceTerminating" for cause in answer.causes):
        return PermanentError(f"{where} is deleting the namespace when {doing}; nothing was made", "terminating")
    if "status unknown for quota" in answer.message:
        return RetryableError(f"{where} has not counted a quota yet that is new when {doing}", NOT_COUNTED)
    if "exceeded quota" in answer.message:
        return PermanentError(f"{where} has a quota against {doing}: {answer.message}; nothing was made", "quota")
    return PermanentError(
        f"{where} forbids {doing}: {answer.message}; what is there is unknown, nothing was changed. {NEXT}",
        "forbidden",
    )


def _other_uid(answer: Answer) -> bool:
    return any(cause.get("field") == "metadata.uid" for cause in answer.causes)
