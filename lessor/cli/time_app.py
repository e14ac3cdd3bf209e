"""Commands on how long a lease lasts, and on the hours in which it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId, Reason
from lessor.cli.session import Session
from lessor.cli.usage import commands

time_app = commands()


@time_app.command()
def shorten(
    context: typer.Context,
    lease: LeaseId,
    when: Annotated[list[str], typer.Argument(metavar="WHEN...", help="2h, 'friday 18:00', 2026-12-24; then why.")],
    reason: Reason = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Move the end of a lease to an earlier one: a length counts from now."""
    from lessor.cli.acting import move_lease

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: move_lease(session, gateway, person, lease, "shorten", " ".join(when), reason))


@time_app.command()
def exempt(
    context: typer.Context,
    lease: LeaseId,
    when: Annotated[
        list[str] | None, typer.Argument(metavar="[WHEN...]", help="3h, 'monday 8:00', 2026-12-24; then why.")
    ] = None,
    reason: Reason = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Let a lease run on outside its working hours until then; over the coming pause if no time is given."""
    from lessor.cli.acting import move_lease

    session = Session.of(context, actor, config, as_json)
    session.run(
        lambda gateway, person: move_lease(session, gateway, person, lease, "exempt", " ".join(when or ()), reason)
    )
