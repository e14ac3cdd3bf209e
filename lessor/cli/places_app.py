"""Commands about the places of the configuration."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId, Yes
from lessor.cli.session import Session
from lessor.cli.usage import commands

places_app = commands(help="The places of lessor.yaml.", no_args_is_help=True)


@places_app.callback()
def places() -> None:
    """The places of lessor.yaml."""


@places_app.command("check")
def places_check(config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Ask every place whether lessor can read it and may do there what leases need."""
    from lessor.cli.placing import check_configured_places

    raise typer.Exit(check_configured_places(config, as_json))


@places_app.command("confirm-closed")
def places_confirm_closed(
    context: typer.Context,
    lease: LeaseId,
    reason: Annotated[str, typer.Argument(help="How people were locked out; it goes on record.")],
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """As an administrator: people of a lease were locked out of its machines by hand, since its hooks are gone."""
    from lessor.cli.placing import confirm_closed

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: confirm_closed(session, gateway, person, lease, reason, yes=yes))
