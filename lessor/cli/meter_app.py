"""Commands about what GPUs do: the meter, the brake, and what one lease was seen doing."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId
from lessor.cli.session import Session
from lessor.cli.usage import commands

meter_app = commands()
watch_app = commands(help="What GPUs do, tick by tick.")
meter_app.add_typer(watch_app, name="meter")


class BrakeAct(StrEnum):
    """What is done with the brake."""

    ON = "on"
    OFF = "off"
    STATUS = "status"


@watch_app.callback(invoke_without_command=True)
def meter(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Tick now, and wait for what is found.")] = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """What GPUs do, tick by tick; --once starts a tick now, administrators only."""
    from lessor.cli.metering import meter_once

    if context.invoked_subcommand is not None:
        return
    if not once:
        raise typer.BadParameter("the meter ticks by itself; add --once for a tick now, or see: lessor meter status")
    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: meter_once(session, gateway, person))


@watch_app.command()
def status(context: typer.Context, actor: Actor = "", config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Show the latest tick, when each source was last heard, and the brake."""
    from lessor.cli.metering import show_status

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: show_status(session, gateway, person))


@meter_app.command()
def brake(
    context: typer.Context,
    act: Annotated[BrakeAct, typer.Argument(help="on, off or status.")],
    reason: Annotated[list[str] | None, typer.Argument(metavar="[REASON...]", help="Why; it goes on record.")] = None,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Hold back every stop for being idle, or let them go on; administrators only, with a reason."""
    from lessor.cli.metering import set_brake, show_brake

    session = Session.of(context, actor, config, as_json)
    if act is BrakeAct.STATUS:
        session.run(lambda gateway, person: show_brake(session, gateway, person))
    words, on = " ".join(reason or ()), act is BrakeAct.ON
    session.run(lambda gateway, person: set_brake(session, gateway, person, words, on=on))


@meter_app.command()
def usage(
    context: typer.Context,
    lease: LeaseId,
    hours: Annotated[int, typer.Option(min=1, max=8_784, help="So many hours back.")] = 24,
    chart: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it into FILE.png or FILE.svg, or write the definition to FILE.json."),
    ] = None,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show what a lease was seen doing, hour by hour; as a chart with --chart."""
    from lessor.cli.charting import save_chart
    from lessor.cli.metering import show_usage

    session = Session.of(context, actor, config, as_json)
    if chart:
        session.run(lambda gateway, person: save_chart(session, gateway, person, lease, hours, chart))
    session.run(lambda gateway, person: show_usage(session, gateway, person, lease, hours))
