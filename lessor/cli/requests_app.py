"""Commands on a request before it is decided: other terms, questions and answers."""

from __future__ import annotations

from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId, Reason
from lessor.cli.session import Session
from lessor.cli.usage import commands

requests_app = commands()

Until = Annotated[str, typer.Option(help="8h, 3d, 'friday 18:00', 2026-12-24.")]
Count = Annotated[int | None, typer.Option(min=1, max=10_000, help="How many GPUs.", show_default=False)]
Type = Annotated[str, typer.Option(help="An instance type, such as g6.xlarge.")]
MarketName = Annotated[str, typer.Option("--market", help="on-demand, spot or capacity-block.")]
Words = Annotated[list[str], typer.Argument(metavar="TEXT...", help="In your own words.")]


@requests_app.command()
def counter(
    context: typer.Context,
    lease: LeaseId,
    until: Until = "",
    count: Count = None,
    type: Type = "",
    market: MarketName = "",
    reason: Reason = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Approve a request with changes, shorter, fewer or cheaper; the requester accepts or declines them."""
    from lessor.cli.changing import Wanted, change_request

    session, wanted = Session.of(context, actor, config, as_json), Wanted(until, count or 0, type, market)
    session.run(lambda gateway, acting: change_request(session, gateway, acting, lease, "counter", wanted, reason))


@requests_app.command()
def revise(
    context: typer.Context,
    lease: LeaseId,
    until: Until = "",
    count: Count = None,
    type: Type = "",
    market: MarketName = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Ask for something else instead, while a request of yours is undecided or waits for capacity."""
    from lessor.cli.changing import Wanted, change_request

    session, wanted = Session.of(context, actor, config, as_json), Wanted(until, count or 0, type, market)
    session.run(lambda gateway, acting: change_request(session, gateway, acting, lease, "revise", wanted))


@requests_app.command()
def accept(
    context: typer.Context, lease: LeaseId, actor: Actor = "", config: ConfigPath = None, as_json: AsJson = False
) -> None:
    """Accept the changes that an approver proposed."""
    _answer(Session.of(context, actor, config, as_json), lease, "accept")


@requests_app.command()
def decline(
    context: typer.Context, lease: LeaseId, actor: Actor = "", config: ConfigPath = None, as_json: AsJson = False
) -> None:
    """Keep the request as it is, or do not take over a lease that is offered to you."""
    _answer(Session.of(context, actor, config, as_json), lease, "decline")


@requests_app.command()
def ask(
    context: typer.Context,
    lease: LeaseId,
    text: Words,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Ask the requester something before you decide."""
    from lessor.cli.changing import say

    session, words = Session.of(context, actor, config, as_json), " ".join(text)
    session.run(lambda gateway, acting: say(session, gateway, acting, lease, "ask", words))


@requests_app.command()
def reply(
    context: typer.Context,
    lease: LeaseId,
    text: Words,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Answer the oldest open question about your request."""
    from lessor.cli.changing import say

    session, words = Session.of(context, actor, config, as_json), " ".join(text)
    session.run(lambda gateway, acting: say(session, gateway, acting, lease, "reply", words))


def _answer(session: Session, lease: str, verb: str) -> None:
    from lessor.cli.acting import act_on_lease

    session.run(lambda gateway, acting: act_on_lease(session, gateway, acting, lease, verb, "", yes=True))
