"""The one way in which the domain says no, so that every surface can show the same words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


class Refused(Exception):
    """A person's act or input that is not allowed.

    `code` is stable and for programs (`own-request`, `wrong-state`, ...); `str(error)` is for the person and says
    what happened, what was kept and what to do next.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field of a request: `field` names it as in `Request`, `message` says what is allowed."""

    field: str
    message: str


class Invalid(Refused):
    """A request with one or more bad fields; each carries its own message so that a form can show it in place."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("invalid", "; ".join(f"{e.field}: {e.message}" for e in errors))
        self.errors = errors


def aware(name: str, value: object) -> None:
    """Refuse an instant without a zone: a naive time means a different moment to each reader."""
    if getattr(value, "tzinfo", None) is None:
        raise Refused("naive-time", f"{name} has no time zone: give an instant such as 2026-11-01T05:30:00+00:00")


def instant(name: str, value: datetime) -> datetime:
    """`value` in UTC, so that lengths are elapsed time over a clock change too. Raises `Refused` ("naive-time")."""
    aware(name, value)
    return value.astimezone(UTC)
