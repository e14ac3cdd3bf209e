"""The command line. Importing it loads typer alone: everything else is imported by the command that needs it."""

from __future__ import annotations

from typing import NoReturn

from lessor.leaving import leave


def main() -> NoReturn:
    """The console script `lessor`."""
    from lessor.cli.app import app

    try:
        app()
    except SystemExit as ended:
        leave(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    leave(0)
