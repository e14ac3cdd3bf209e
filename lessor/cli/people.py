"""Commands about people: whose a lease is, who is away, and a look over places or people now."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId
from lessor.cli.session import Session
from lessor.cli.usage import commands

people_app = commands()

Whom = Annotated[str, typer.Argument(metavar="PERSON", help="An id, e-mail address, login or name of lessor.yaml.")]
WhomOrTeam = Annotated[str, typer.Argument(metavar="PERSON", help="As above; or `team` for everybody of its team.")]


@people_app.command()
def transfer(
    context: typer.Context,
    lease: LeaseId,
    person: Whom,
    team: Annotated[str, typer.Option(help="Which of their teams pays then.")] = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Offer a lease to somebody, who owns it once they have taken it."""
    from lessor.cli.owning import hand_on

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: hand_on(session, gateway, acting, lease, "transfer", person, team))


@people_app.command()
def take(
    context: typer.Context,
    lease: LeaseId,
    team: Annotated[str, typer.Option(help="Which of your teams pays, where its owner has left.")] = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Take over a lease that is offered to you; your team pays from then on."""
    from lessor.cli.owning import take_over

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: take_over(session, gateway, acting, lease, team))


@people_app.command()
def share(
    context: typer.Context,
    lease: LeaseId,
    person: WhomOrTeam,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Let somebody else extend, release and restore a lease as its owner may."""
    from lessor.cli.owning import hand_on

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: hand_on(session, gateway, acting, lease, "share", person))


@people_app.command()
def unshare(
    context: typer.Context,
    lease: LeaseId,
    person: WhomOrTeam,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Take back what `share` gave."""
    from lessor.cli.owning import hand_on

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: hand_on(session, gateway, acting, lease, "unshare", person))


@people_app.command()
def away(
    context: typer.Context,
    when: Annotated[list[str], typer.Argument(metavar="WHEN...", help="Until when: 3d, 'friday 18:00', 2026-12-24.")],
    delegate: Annotated[
        str, typer.Option(help="Who decides for you meanwhile; whom lessor.yaml names if left out.")
    ] = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Say that you are away: somebody else is asked for your decisions until then."""
    from lessor.cli.owning import go_away

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: go_away(session, gateway, acting, " ".join(when), delegate))


@people_app.command()
def back(context: typer.Context, actor: Actor = "", config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Say that you are back and decide again."""
    from lessor.cli.owning import come_back

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: come_back(session, gateway, acting))


@people_app.command()
def sweep(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Look now, and wait for what is found.")] = False,
    people: Annotated[bool, typer.Option("--people", help="Look for people who have left, not over places.")] = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Look over all places, or all people, now; administrators only. It also happens by itself."""
    from lessor.cli.sweeping import sweep_once

    if not once:
        raise typer.BadParameter("the regular looks run by themselves; add --once for one now", param_hint="--once")
    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: sweep_once(session, gateway, acting, people=people))
