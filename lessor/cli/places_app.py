"""Commands about the places of the configuration."""

from __future__ import annotations

import typer

from lessor.cli.options import AsJson, ConfigPath

places_app = typer.Typer(help="The places of lessor.yaml.", no_args_is_help=True)


@places_app.callback()
def places() -> None:
    """The places of lessor.yaml."""


@places_app.command("check")
def places_check(config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Ask every place whether lessor can read it and may do there what leases need."""
    from lessor.cli.placing import check_configured_places

    raise typer.Exit(check_configured_places(config, as_json))
