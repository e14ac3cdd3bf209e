"""Wrong usage told like every other refusal: one line that says what to do, or one JSON object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from lessor.cli.session import REFUSED, USAGE

WHOLE = 1_000
"""Characters of help for a command in a list: more than any has."""


def commands(**settings: Any) -> typer.Typer:
    """An empty group of commands; `settings` are typer's.

    Help is plain text: typer's boxes would take as much time to load as everything else that `lessor --help` does.
    """
    plain: dict[str, Any] = {"rich_markup_mode": None, "add_completion": False, "pretty_exceptions_enable": False}
    return typer.Typer(cls=PlainGroup, **plain, **settings)


class PlainGroup(TyperGroup):
    """The commands; typer's boxed errors never reach the terminal."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Help instead of an error when nothing was asked for; the exit code still says that nothing was done."""
        if not args and self.no_args_is_help:
            typer.echo(ctx.get_help())
            ctx.exit(USAGE)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """What each command does, its first sentence whole. Both arguments are typer's."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(WHOLE)) for name, one in found if one and not one.hidden])

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
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "lessor"
    return f"{message[0].lower()}{message[1:]}; nothing was done, see: {command} --help"


def _tell(words: Sequence[str], code: str, message: str) -> None:
    from lessor.cli.output import inert, refuse

    refuse("--json" in words, code, inert(message))
