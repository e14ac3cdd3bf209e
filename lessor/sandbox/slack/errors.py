"""The two ways in which the sandbox says no: to the app (as Slack would) and to a person (as a client would)."""

from __future__ import annotations

from typing import Any


class SlackError(Exception):
    """A refusal as the Web API words it: `{"ok": false, "error": code, ...}`.

    `messages` become `response_metadata.messages` (and `errors`, as Slack repeats them for blocks);
    `retry_after` turns the answer into HTTP 429 with that header; `details` are further fields of the answer.
    """

    def __init__(
        self,
        code: str,
        messages: list[str] | None = None,
        *,
        retry_after: int | None = None,
        details: dict[str, str] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.messages = messages or []
        self.retry_after = retry_after
        self.details = details or {}

    def answer(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error": self.code, **self.details}
        if self.messages:
            body["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in self.messages]}
            if self.code == "invalid_blocks":
                body["errors"] = list(self.messages)
        return body


class PersonError(Exception):
    """What a person tried cannot be done in the client: no such button, not a member, nothing typed."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
