"""Whether a request says how sensitive its data is, where the organisation wants to know."""

from __future__ import annotations

from lessor.domain.errors import FieldError


def unclassified(data: str, classes: tuple[str, ...]) -> FieldError | None:
    """What is wrong with the class of data that was given; with classes configured, one of them has to be."""
    if data in classes or (not data and not classes):
        return None
    if not classes:
        return FieldError("data", "no classes of data are configured; leave it out")
    given = f"'{data[:40]}' is no class of data; say one of" if data else "say how sensitive the data is"
    return FieldError("data", f"{given}: {', '.join(classes)}")
