"""`lessor meter`, `lessor brake` and `lessor usage`: whether GPUs are watched, what holds stops back, what they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from lessor.asjson import brake_facts, hour_facts, report_facts, standing_facts, status_facts
from lessor.cli.browsing import lease_id
from lessor.cli.output import Column, print_json, table, tell
from lessor.cli.session import DONE, REFUSED, Session
from lessor.contracts import MeterReport, SourceReport
from lessor.domain.idle import Standing
from lessor.domain.ladder import Brake
from lessor.domain.people import Person
from lessor.domain.resting import rests_since
from lessor.domain.usage import HourUse
from lessor.when import local

if TYPE_CHECKING:
    from lessor.gateway import Gateway
    from lessor.gauging import MeterStatus

COLUMNS = (
    Column("Hour", whole=True),
    Column("Busy", whole=True),
    Column("Idle", whole=True),
    Column("Unknown", whole=True),
    Column("GPUs at work", whole=True),
    Column("Most engine", whole=True, spare=1),
    Column("Most utilisation", whole=True, spare=2),
    Column("Most memory", whole=True, spare=3),
    Column("Most power", whole=True, spare=4),
    Column("Most CPU", whole=True, spare=5),
)


async def show_status(session: Session, gateway: Gateway, person: Person) -> int:
    """The latest tick, each source, the brake; fails while nobody watches although somebody should."""
    status = await gateway.meter.status()
    sources = status.report.sources if status.report else ()
    trouble = bool(status.overdue) or any(not source.ok for source in sources)
    tell(session.as_json, status_facts(status), *_status(status, person.tz))
    return REFUSED if trouble else DONE


async def meter_once(session: Session, gateway: Gateway, person: Person) -> int:
    """A tick now, and what it came to; fails when anything could not be read."""
    report = await gateway.meter.once(person.id)
    known = () if report.stored else ("this tick was on record already; who had not heard of it was told again",)
    tell(session.as_json, report_facts(report), *_report(report, person.tz), *known)
    return REFUSED if report.problem or any(not source.ok for source in report.sources) else DONE


async def show_brake(session: Session, gateway: Gateway, person: Person) -> int:
    brake = await gateway.meter.brake()
    tell(session.as_json, brake_facts(brake), _brake(brake, person.tz))
    return DONE


async def set_brake(session: Session, gateway: Gateway, person: Person, reason: str, *, on: bool) -> int:
    brake = await gateway.meter.set_brake(person.id, reason, on=on)
    tell(session.as_json, {"ok": True, **brake_facts(brake)}, _brake(brake, person.tz))
    return DONE


async def show_usage(session: Session, gateway: Gateway, person: Person, text: str, hours: int) -> int:
    """Where a lease stands, and its sums by hour; the hour that is not over yet is not among them."""
    lease = await gateway.lease(lease_id(text))
    now = session.now()
    standing = await gateway.meter.standing(lease.id)
    used = await gateway.meter.usage(lease.id, now - timedelta(hours=hours), now)
    if session.as_json:
        print_json({"id": lease.id, "now": standing_facts(standing), "hours": [hour_facts(one) for one in used]})
        return DONE
    zone = person.tz
    rests = rests_since(lease)
    stopped = (f"{lease.id} is stopped since {local(rests, zone)}; what is told of it is from before",) if rests else ()
    tell(False, {}, *stopped, _standing(standing, lease.id, zone))
    if used:
        table("", COLUMNS, [_hour(one, zone) for one in used])
    return DONE


def _status(status: MeterStatus, zone: str) -> Iterator[str]:
    if status.every is None:
        yield "nothing is metered: name a source under telemetry in lessor.yaml and start the worker again"
    elif status.report is None:
        yield "the meter has not ticked yet"
    else:
        yield from _report(status.report, zone)
    if status.overdue:
        yield status.overdue
    yield _brake(status.brake, zone)


def _report(report: MeterReport, zone: str) -> Iterator[str]:
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.verdicts.items())) or "none"
    count = "1 lease" if report.leases == 1 else f"{report.leases} leases"
    yield f"latest tick: {local(report.at, zone)}, {count}: {verdicts}"
    yield from (_source(source, zone) for source in report.sources)
    yield from (words for words in (report.brake, report.problem) if words)


def _source(source: SourceReport, zone: str) -> str:
    if source.ok:
        odd = f", {source.dropped} samples dropped, {source.capped} capped" if source.dropped or source.capped else ""
        nodes = ", ".join(f"{_share(share)} on {node}" for node, share in source.unlabelled.items())
        nobodys = f"; in use without a label: {nodes}" if nodes else ""
        return f"{source.name}: {source.series} GPUs and machines{odd}{nobodys}"
    last = f"last answer {local(source.last_good, zone)}" if source.last_good else "never answered"
    return f"{source.name}: silent for {source.silent} ticks ({last}): {source.problem}"


def _brake(brake: Brake, zone: str) -> str:
    if brake.at is None:
        return "the brake is off"
    return f"the brake is {'on' if brake.on else 'off'} since {local(brake.at, zone)}, by {brake.by}: {brake.reason}"


def _standing(standing: Standing | None, lease: str, zone: str) -> str:
    if standing is None:
        return f"{lease} was never metered"
    active = f", last active {local(standing.active_at, zone)} ({standing.active_kind})" if standing.active_at else ""
    gpus = f", {standing.idle_gpus} of {standing.gpus} GPUs idle" if standing.idle_gpus else ""
    problem = f"; {standing.problem}" if standing.problem else ""
    return f"{lease}: {standing.verdict.value} since {local(standing.since, zone)}{gpus}{active}{problem}"


def _hour(one: HourUse, zone: str) -> Sequence[str]:
    figures = (one.peak_engine, one.peak_util, one.peak_memory, one.peak_power, one.peak_cpu)
    spelled = zip(figures, (_share, _percent, _share, _watts, _percent), strict=True)
    times = (_share(count / one.ticks if one.ticks else None) for count in (one.busy, one.idle, one.unknown))
    worked = _share(one.gpu_busy / one.ticks if one.ticks else None)
    return (local(one.hour, zone), *times, worked, *(spell(figure) for figure, spell in spelled))


def _share(value: float | None) -> str:
    return _percent(None if value is None else 100 * value)


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} %"


def _watts(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} W"
