"""What programs of ours write into their logs of a failure that nobody thought of."""

from __future__ import annotations

import structlog


def log_without_values() -> None:
    """Tell in the log where something failed, and never what the variables held there: tokens are among them."""
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])
