"""`lessor idle`: its commands with their options and help; what they do is imported only when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId
from lessor.cli.session import Session
from lessor.cli.usage import commands

idle_app = commands(help="What leases are judged to be doing, by which thresholds.", no_args_is_help=True)


@idle_app.command("policy")
def idle_policy(context: typer.Context, lease: LeaseId, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Show every threshold that holds for a lease, and which level of lessor.yaml set it."""
    from lessor.cli.verdicts import show_policy

    raise typer.Exit(show_policy(Session.of(context, "", config, as_json), lease))


@idle_app.command("list")
def idle_list(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Those that work and those that warm up as well.")] = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show the leases that do nothing, in part or whole, that are unknown, or that are kept from being idle.

    What people said to it stands beside: snoozed, called wrong, spared. Times are on your clock.
    """
    from lessor.cli.verdicts import list_verdicts

    raise typer.Exit(list_verdicts(Session.of(context, actor, config, as_json), everything=everything))


@idle_app.command("disputes")
def idle_disputes(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=3_660, help="Of so many days.")] = 30,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show the verdicts that people called wrong, with what they rested on."""
    from lessor.cli.verdicts import list_disputes

    raise typer.Exit(list_disputes(Session.of(context, actor, config, as_json), days))
