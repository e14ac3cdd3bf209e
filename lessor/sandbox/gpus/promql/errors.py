"""How a query is refused: in the words and with the type that Prometheus uses."""

from __future__ import annotations


class QueryError(Exception):
    """`kind` is Prometheus' errorType: `bad_data` for what cannot be read, `execution` for what cannot be computed."""

    def __init__(self, message: str, kind: str = "bad_data") -> None:
        super().__init__(message)
        self.kind = kind


def parse_error(text: str, position: int, message: str) -> QueryError:
    """With line and column, as Prometheus counts them."""
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return QueryError(f"{line}:{column}: parse error: {message}")


def execution_error(message: str) -> QueryError:
    return QueryError(message, "execution")
