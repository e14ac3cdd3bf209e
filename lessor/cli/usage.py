"""Wrong usage told like every other refusal: one line that says what to do, or one JSON object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

REFUSED = 1


class PlainGroup(TyperGroup):
    """The commands; typer's boxed errors never reach the terminal."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave by `SystemExit` with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, "lessor", complete_var, False, windows_expand_args, **extra)
        except typer.TyperException as error:
            _tell(words, "usage", _what_to_do(error))
            sys.exit(error.exit_code)
        except typer.Abort:
            _tell(words, "not-confirmed", "nothing was done")
            sys.exit(REFUSED)
        sys.exit(code if isinstance(code, int) else 0)


def _what_to_do(error: typer.TyperException) -> str:
    """Empty when help was printed instead."""
    message = error.format_message().strip().rstrip(".")
    if not message:
        return ""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "lessor"
    return f"{message[0].lower()}{message[1:]}; nothing was done, see: {command} --help"


def _tell(words: Sequence[str], code: str, message: str) -> None:
    from lessor.cli.output import inert, refuse

    if message:
        refuse("--json" in words, code, inert(message))
