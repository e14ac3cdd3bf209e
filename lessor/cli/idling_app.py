"""Commands on a lease that does nothing: say that it is used or that this is wrong, stop it, start it again."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId, Reason, Yes
from lessor.cli.session import Session
from lessor.cli.usage import commands

idling_app = commands()

Words = Annotated[list[str], typer.Argument(metavar="TEXT...", help="In your own words; they go on record.")]


@idling_app.command()
def stop(
    context: typer.Context,
    lease: LeaseId,
    confirm: Annotated[
        str, typer.Option(metavar="ID", help="The lease's id, typed out where a stop loses what is on local disks.")
    ] = "",
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Stop a lease and keep its disks; `start` starts it again."""
    from lessor.cli.idling import stop_lease

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: stop_lease(session, gateway, person, lease, confirm, yes=yes))


@idling_app.command()
def start(
    context: typer.Context, lease: LeaseId, actor: Actor = "", config: ConfigPath = None, as_json: AsJson = False
) -> None:
    """Start a lease again that was stopped: for doing nothing, by somebody, or for its budget."""
    from lessor.cli.idling import answer

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: answer(session, gateway, person, lease, "start"))


@idling_app.command()
def snooze(
    context: typer.Context,
    lease: LeaseId,
    when: Annotated[list[str], typer.Argument(metavar="WHEN...", help="4h, 'tomorrow 9:00'; then what for.")],
    reason: Reason = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Say that a lease is used although it looks idle: it is left alone until then."""
    from lessor.cli.acting import move_lease

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: move_lease(session, gateway, person, lease, "snooze", " ".join(when), reason))


@idling_app.command()
def dispute(
    context: typer.Context,
    lease: LeaseId,
    text: Words,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Call the verdict wrong that a lease does nothing, and say what it was doing."""
    from lessor.cli.idling import answer

    session, words = Session.of(context, actor, config, as_json), " ".join(text)
    session.run(lambda gateway, person: answer(session, gateway, person, lease, "dispute", words))


@idling_app.command()
def consent(
    context: typer.Context,
    lease: LeaseId,
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Let a lease be stopped for doing nothing although that loses what is on its local disks."""
    from lessor.cli.idling import agree

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: agree(session, gateway, person, lease, yes=yes))


@idling_app.command()
def spare(
    context: typer.Context,
    lease: LeaseId,
    when: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WHEN...]", help="Until when, such as 'monday 8:00'; until its end if left out."),
    ] = None,
    reason: Reason = "",
    no_longer: Annotated[bool, typer.Option("--no-longer", help="Take it back.")] = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Never stop a lease for doing nothing, until then; administrators only."""
    from lessor.cli.idling import spare_lease

    session, until = Session.of(context, actor, config, as_json), " ".join(when or ())
    session.run(
        lambda gateway, person: spare_lease(session, gateway, person, lease, until, reason, no_longer=no_longer)
    )
