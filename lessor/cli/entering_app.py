"""`lessor access`: getting into a lease."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId, Yes
from lessor.cli.session import Session
from lessor.cli.usage import commands

entering_app = commands()


@entering_app.command()
def access(
    context: typer.Context,
    lease: LeaseId,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a kubeconfig that runs out by itself, readable by you only."),
    ] = None,
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Say how to get into a lease; with --kubeconfig, write an access to one in a cluster. Who asked is on record."""
    from lessor.cli.entering import show_access, write_kubeconfig

    session = Session.of(context, actor, config, as_json)
    if kubeconfig is None:
        session.run(lambda gateway, person: show_access(session, gateway, person, lease))
    else:
        session.run(lambda gateway, person: write_kubeconfig(session, gateway, person, lease, kubeconfig, yes=yes))
