"""All commands with their options and help; what they do is imported only when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lessor.cli.entering_app import entering_app
from lessor.cli.fleet_app import fleet_app
from lessor.cli.guard_app import guard_app
from lessor.cli.idle_app import idle_app
from lessor.cli.idling_app import idling_app
from lessor.cli.meter_app import meter_app
from lessor.cli.options import Actor, AsJson, ConfigPath, LeaseId, Reason, Yes
from lessor.cli.people import people_app
from lessor.cli.places_app import places_app
from lessor.cli.policy_app import policy_app
from lessor.cli.requests_app import requests_app
from lessor.cli.session import Session
from lessor.cli.time_app import time_app
from lessor.cli.usage import commands

app = commands(
    help="GPU leases: every GPU has an owner, a purpose, a price and an end date.",
    no_args_is_help=True,
    epilog="Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration, 3 Temporal or the ledger "
    "cannot be reached.",
)
config_app = commands(help="The configuration, lessor.yaml.", no_args_is_help=True)
audit_app = commands(help="The record of everything that happened.", no_args_is_help=True)
app.add_typer(config_app, name="config")
app.add_typer(audit_app, name="audit")
app.add_typer(policy_app, name="policy")
app.add_typer(places_app, name="places")
app.add_typer(idle_app, name="idle")
app.add_typer(people_app)
app.add_typer(requests_app)
app.add_typer(time_app)
app.add_typer(meter_app)
app.add_typer(idling_app)
app.add_typer(fleet_app)
app.add_typer(guard_app)
app.add_typer(entering_app)


@app.command()
def up(
    port_base: Annotated[
        int | None, typer.Option(min=1024, max=65_500, help="The first of the ports to use.", show_default=False)
    ] = None,
    data: Annotated[Path, typer.Option(envvar="LESSOR_DATA", help="Where everything is kept.")] = Path(".lessor"),
    as_json: AsJson = False,
) -> None:
    """Run everything on this machine: Temporal, a Slack look-alike, a simulated AWS and cluster, worker and bot."""
    from lessor.cli.sandbox import run_up

    raise typer.Exit(run_up(port_base, data, as_json))


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running afterwards, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Play a whole lease in about a minute: ask, approve, use, extend, end, delete, prove."""
    from lessor.cli.sandbox import run_demo

    raise typer.Exit(run_demo(keep, as_json))


@app.command()
def request(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Such as: 2 x a100 80gb for 8h training")],
    team: Annotated[str, typer.Option(help="One of your teams.")] = "",
    until: Annotated[str, typer.Option(help="8h, 3d, 'friday 18:00', 2026-12-24, 'end of month'.")] = "",
    start: Annotated[str, typer.Option(help="When it begins: 'monday 9:00', 2026-12-24; at once if left out.")] = "",
    schedule: Annotated[str, typer.Option(help="Working hours of lessor.yaml, outside of which it is stopped.")] = "",
    purpose: Annotated[str, typer.Option(help="What for; approvers read it.")] = "",
    workload: Annotated[str, typer.Option(help="training, fine-tuning, batch-inference, ...")] = "",
    market: Annotated[str, typer.Option(help="on-demand, spot or capacity-block.")] = "",
    place: Annotated[str, typer.Option(help="A place of lessor.yaml, a region or a zone.")] = "",
    kind: Annotated[str, typer.Option(help="namespace or workspace of a cluster, or machine.")] = "",
    disk: Annotated[str, typer.Option(help="Size of the root volume in GiB.")] = "",
    cap: Annotated[str, typer.Option(help="The most that it may cost: 500 or '500 EUR'; no cap if left out.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="Another tag, as key=value; may be given again.")] = None,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="Keep a snapshot when it is deleted.")] = False,
    key: Annotated[str, typer.Option(help="The same key makes one lease, however often it is sent.")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Make another one beside a pending look-alike.")] = False,
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Ask for GPUs.

    Everything may stand in the text, in any order:

    lessor request 2 x a100 80gb for 8h training "fine-tune the ranking model" team:research in research-us
    """
    from lessor.cli.requesting import Wanted, request_lease

    options = {"team": team, "until": until, "purpose": purpose, "workload": workload, "market": market}
    options |= {"place": place, "disk": disk, "start": start, "schedule": schedule, "cap": cap, "kind": kind}
    wanted = Wanted(tuple(text), options, tuple(tag or ()), snapshot, key, anyway, yes)
    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: request_lease(session, gateway, person, wanted))


@app.command("list")
def list_(
    context: typer.Context,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's leases, not only yours.")] = False,
    team: Annotated[list[str] | None, typer.Option(help="Only of this team; may be given again.")] = None,
    state: Annotated[list[str] | None, typer.Option(help="Only in this state; may be given again.")] = None,
    closed: Annotated[bool, typer.Option("--closed", help="Ended ones as well.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="At most so many.")] = 100,
    after: Annotated[str, typer.Option(metavar="ID", help="Go on after this lease.")] = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show your leases, or everybody's."""
    from lessor.cli.browsing import Filter, list_leases

    wanted = Filter(everybody, tuple(team or ()), tuple(state or ()), closed, limit, after)
    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: list_leases(session, gateway, person, wanted))


@app.command()
def show(
    context: typer.Context,
    lease: LeaseId,
    events: Annotated[bool, typer.Option("--events", help="With everything that happened to it.")] = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show one lease: who, what for, until when, what it costs, who decides, how to get in."""
    from lessor.cli.browsing import show_lease

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: show_lease(session, gateway, person, lease, events))


@app.command()
def approve(
    context: typer.Context,
    lease: LeaseId,
    reason: Reason = "",
    confirm: Annotated[str, typer.Option(help="The id once more, where an approval has to be typed out.")] = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Approve a request or a later end, as one of those who may decide it."""
    from lessor.cli.changing import approve as run

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, acting: run(session, gateway, acting, lease, reason, confirm))


@app.command()
def deny(
    context: typer.Context,
    lease: LeaseId,
    reason: Annotated[str, typer.Option("--reason", help="Why; the requester reads it.")],
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Deny a request or a later end; the reason goes to the requester."""
    _act(Session.of(context, actor, config, as_json), lease, "deny", reason)


@app.command()
def extend(
    context: typer.Context,
    lease: LeaseId,
    when: Annotated[list[str], typer.Argument(metavar="WHEN...", help="3d, 'friday 18:00', 2026-12-24; then why.")],
    reason: Reason = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Move the end of a lease: a length counts from its present end. Where people decide on it, they are asked."""
    from lessor.cli.acting import move_lease

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: move_lease(session, gateway, person, lease, "extend", " ".join(when), reason))


@app.command()
def restore(
    context: typer.Context,
    lease: LeaseId,
    when: Annotated[list[str], typer.Argument(metavar="WHEN...", help="8h, 'friday 18:00', 2026-12-24; then why.")],
    reason: Reason = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Start a stopped lease again while its grace lasts, until a new end."""
    from lessor.cli.acting import move_lease

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: move_lease(session, gateway, person, lease, "restore", " ".join(when), reason))


@app.command()
def release(
    context: typer.Context,
    lease: LeaseId,
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Give a lease back before its end."""
    _act(Session.of(context, actor, config, as_json), lease, "release", "", yes=yes)


@app.command()
def withdraw(
    context: typer.Context,
    lease: LeaseId,
    yes: Yes = False,
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Take your request back before it is usable."""
    _act(Session.of(context, actor, config, as_json), lease, "withdraw", "", yes=yes)


@app.command()
def quota(
    context: typer.Context,
    team: Annotated[str, typer.Argument(metavar="[TEAM]", help="A team's key; you and your teams if left out.")] = "",
    actor: Actor = "",
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Show limits of GPUs, GPU-hours and money: what is used, planned and left."""
    from lessor.cli.quota import show_quota

    session = Session.of(context, actor, config, as_json)
    session.run(lambda gateway, person: show_quota(session, gateway, person, team))


@config_app.command("check")
def config_check(config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Find everything that is wrong with lessor.yaml: line, key, what is allowed."""
    from lessor.cli.checking import check_config

    raise typer.Exit(check_config(config, as_json))


@config_app.command("schema")
def config_schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of lessor.yaml, for editors; it is JSON with and without --json."""
    from lessor.config.schema import schema_text

    typer.echo(schema_text(), nl=False)


@audit_app.command("verify")
def audit_verify(context: typer.Context, as_json: AsJson = False) -> None:
    """Read the whole record and find any edit or gap."""
    from lessor.cli.auditing import verify

    raise typer.Exit(verify(Session.of(context, "", None, as_json)))


@audit_app.command("export")
def audit_export(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; stdout by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write every event as one JSON object per line."""
    from lessor.cli.auditing import export

    raise typer.Exit(export(Session.of(context, "", None, as_json), output))


def _act(session: Session, lease: str, verb: str, reason: str, *, yes: bool = False) -> None:
    from lessor.cli.acting import act_on_lease

    session.run(lambda gateway, person: act_on_lease(session, gateway, person, lease, verb, reason, yes=yes))
