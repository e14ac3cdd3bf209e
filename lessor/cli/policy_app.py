"""`lessor policy`: its commands with their options and help; what they do is imported only when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath
from lessor.cli.session import Session
from lessor.cli.usage import commands

policy_app = commands(
    help="The rules of lessor.yaml: test them, explain a decision, replay the past.", no_args_is_help=True
)


@policy_app.command("test")
def policy_test(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Example requests with the decisions that are expected.")
    ],
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Run example requests through the rules; exit code 1 when a decision is not as expected."""
    from lessor.cli.policies import test_policy

    raise typer.Exit(test_policy(Session.of(context, "", config, as_json), file))


@policy_app.command("explain")
def policy_explain(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(metavar="ID|TEXT...", help="A lease, or a request such as: 2 x a100 80gb for 8h training"),
    ],
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show which rule decided, the facts that the rules looked at, and why the others did not match.

    A lease is explained from the facts on record; a request is priced and judged now, and nothing is sent.
    """
    from lessor.cli.explaining import explain_lease, explain_text, lease_id_of

    session = Session.of(context, actor, config, as_json)
    lease_id = lease_id_of(what)
    if lease_id:
        raise typer.Exit(explain_lease(session, lease_id))
    session.run(lambda gateway, person: explain_text(session, gateway, person, what))


@policy_app.command("replay")
def policy_replay(
    context: typer.Context,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="A lessor.yaml with changed rules.", show_default=False),
    ] = None,
    idle: Annotated[
        Path | None,
        typer.Option("--idle", metavar="FILE", help="A lessor.yaml with changed idle thresholds.", show_default=False),
    ] = None,
    since: Annotated[str, typer.Option(help="Only requests since a date or so long ago: 2026-11-01, 30d.")] = "",
    days: Annotated[int, typer.Option(min=1, max=366, help="With --idle: telemetry of so many days.")] = 7,
    as_json: AsJson = False,
) -> None:
    """Run changed rules or idle thresholds over what is on record and list what would have been different.

    With --policy requests are decided anew. With --idle the telemetry on record is judged anew: which leases would have
    been warned or stopped, what that would have saved, and whose people called a verdict wrong.
    """
    session = Session.of(context, "", None, as_json)
    if policy and not idle:
        from lessor.cli.policies import replay_policy

        raise typer.Exit(replay_policy(session, policy, since))
    if idle and not policy:
        from lessor.cli.idle_replaying import replay_idle

        raise typer.Exit(replay_idle(session, idle, days))
    raise typer.BadParameter("give either --policy FILE or --idle FILE")
