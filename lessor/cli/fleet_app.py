"""`lessor fleet`: every place at one glance."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath
from lessor.cli.session import Session
from lessor.cli.usage import commands

fleet_app = commands()


@fleet_app.command()
def fleet(
    context: typer.Context,
    wanted: Annotated[
        str, typer.Argument(metavar="[PLACE|MODEL]", help="One place, or one GPU model; everything if left out.")
    ] = "",
    limit: Annotated[int, typer.Option(min=0, max=100_000, help="At most so many leases of each place.")] = 100,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show every place: GPUs by model, who has them until when and for what, and what runs without a lease."""
    from lessor.cli.fleet import show_fleet

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: show_fleet(session, gateway, person, wanted, limit))
