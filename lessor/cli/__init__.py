"""The command line. Importing it loads typer alone: everything else is imported by the command that needs it."""

from __future__ import annotations


def main() -> None:
    """The console script `lessor`."""
    from lessor.cli.app import app

    app()
