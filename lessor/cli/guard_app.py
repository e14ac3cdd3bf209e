"""`lessor guard`: the second enforcer, as a program that stays or for one look."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import AsJson, ConfigPath
from lessor.cli.usage import commands

guard_app = commands()


@guard_app.command()
def guard(
    once: Annotated[bool, typer.Option("--once", help="Look once, say what was found and done, and exit.")] = False,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Look so often, such as 5min; as lessor.yaml says if left out.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look once and say what would be done; tell and stop nothing.")
    ] = False,
    despite_brake: Annotated[
        bool, typer.Option("--despite-brake", help="With --once: stop also more than the brake lets through.")
    ] = False,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Stop what runs past its end while Temporal, Slack and the ledger are down; needs none of them."""
    from lessor.cli.guarding import guard_on, guard_once

    if despite_brake and not once:
        raise typer.BadParameter("--despite-brake is for one look that somebody watches; add --once")
    if every and (once or dry_run):
        raise typer.BadParameter("--every is for a guard that stays; leave --once and --dry-run out")
    if once or dry_run:
        raise typer.Exit(guard_once(config, as_json, dry=dry_run, despite_brake=despite_brake))
    raise typer.Exit(guard_on(config, as_json, every))
