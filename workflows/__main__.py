"""The worker: `python -m workflows [--queues lessor,aws,slack]`; one process serves all queues by default."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack

import aiohttp
import structlog
from temporalio.client import Client
from temporalio.service import RPCError

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.meter import MeterActivities, MeterSettings
from activities.people import PeopleActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sweep import SweepActivities
from bot.channels import Channels
from bot.directory import slack_directory
from bot.installation import tell_of_token
from bot.notifier import SlackNotifier
from bot.pictures import Pictures
from bot.settings import slack_settings
from bot.slack_client import SlackClient
from lessor import contracts
from lessor.accounting import Accounting
from lessor.checkups import Page, SelfCheck, check_places, tell_checkups
from lessor.config import Config, ConfigError
from lessor.domain.braking import BrakeTerms
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.quota import QuotaPlan
from lessor.domain.request import Place
from lessor.drawing import Drawer
from lessor.garbage import Turnover
from lessor.leaving import leave
from lessor.logs import log_without_values
from lessor.metrics import served_metrics
from lessor.notify import Webhook
from lessor.notify.opening import Opened, open_channels
from lessor.overspending import Overspending, ends_leases
from lessor.placing import require_external_ids
from lessor.ports import Directory, LedgerUnavailableError, Notifier
from lessor.reload import LiveConfig, keep_current
from lessor.rendering import slack_renderer
from lessor.runs import TemporalRuns
from lessor.settings import Settings, SettingsError, read_settings
from lessor.sources import telemetry_of
from lessor.when.calendar import Calendar
from lessor.wiring import Parts, build_survey, connect_temporal, judge, open_parts, utc_now
from workflows.schedule import drop_schedule, keep_schedule, meter_schedule, people_schedule, sweep_schedule
from workflows.worker import PROVIDERS, QUEUES, Activities, activity_threads, begin_tidying, build_workers

log = structlog.get_logger("lessor.worker")

FIRST_WAIT = 0.5
LONGEST_WAIT = 15.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM. 0 after an orderly stop, 2 when it cannot start as it is configured."""
    wanted = _parse(arguments)
    log_without_values()
    try:
        settings = read_settings()
        settings.require("SLACK_BOT_TOKEN")
        live = LiveConfig.read(settings.lessor_config)
        queues = wanted or needed(live.config)
        if "aws" in queues:
            require_external_ids(live.config)
        parts = open_parts(settings, live)
        besides = open_channels(settings, parts.config, parts.ledger)
    except (ConfigError, SettingsError, LedgerUnavailableError) as error:
        return _cannot_start(error)
    try:
        with served_metrics(settings.lessor_metrics_port):
            asyncio.run(_serve(settings, parts, queues, besides))
    except SettingsError as error:
        return _cannot_start(error)
    finally:
        parts.ledger.close()
    return 0


def _cannot_start(error: Exception) -> int:
    print(f"lessor worker: {error}", file=sys.stderr)  # noqa: T201 - the one line that says why it does not start
    return 2


def _parse(arguments: Sequence[str] | None) -> list[str]:
    parser = argparse.ArgumentParser(prog="python -m workflows", description="The worker of lessor.")
    known = ",".join(QUEUES)
    parser.add_argument(
        "--queues", help=f"which task queues to serve, of {known}; all that the places need if left out"
    )
    given: str | None = parser.parse_args(arguments).queues
    if given is None:
        return []
    wanted = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in QUEUES]
    if unknown or not wanted:
        parser.error(f"unknown queue {', '.join(unknown) or '(none)'}; known are {', '.join(QUEUES)}")
    return wanted


def needed(config: Config) -> list[str]:
    """The queues that somebody has to serve: none for kinds of place that there are not."""
    used = {place.provider for place in config.places}
    return [name for name in QUEUES if name not in PROVIDERS or name in used]


async def _serve(settings: Settings, parts: Parts, queues: list[str], besides: Opened) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stop.set)
    client = await _connected(stop)
    if client is None:
        return
    with activity_threads(queues) as threads:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(aiohttp.ClientSession())
            slack = _slack(settings, session)
            if "lessor" in queues:
                await _keep_schedules(client, parts.config)
            activities, notifier = _activities(settings, parts, client, slack, session, besides)
            turnover = Turnover()
            workers = build_workers(client, activities, threads, queues=queues, turnover=turnover)
            stack.callback(begin_tidying(turnover).cancel)
            for worker in workers:
                await stack.enter_async_context(worker)
            current = keep_current(parts.live, lambda page: notifier.page(page, utc_now()))
            stack.callback(asyncio.ensure_future(current).cancel)
            stack.callback(asyncio.ensure_future(tell_of_token(slack)).cancel)
            told = _tell_of_rights(parts, queues, lambda page: notifier.page(page, utc_now()))
            stack.callback(asyncio.ensure_future(told).cancel)
            log.info("worker-ready", queues=queues)
            await stop.wait()
            log.info("worker-stopping")


def _slack(settings: Settings, session: aiohttp.ClientSession) -> SlackClient:
    token = settings.slack_bot_token.get_secret_value() if settings.slack_bot_token else ""
    return SlackClient(token, base_url=settings.slack_api_url, session=session)


async def _tell_of_rights(parts: Parts, queues: list[str], page: Page) -> None:
    """Ask the places that this worker serves, and that know it, what it may do there (case D15)."""
    knowing = [kind for kind, provider in parts.providers.items() if kind in queues and isinstance(provider, SelfCheck)]
    places = [Place(one.provider, one.name) for one in parts.config.places if one.provider in knowing]
    await tell_checkups(await check_places(parts.providers, parts.watches, places), page)


async def _connected(stop: asyncio.Event) -> Client | None:
    """Wait for Temporal with growing pauses, saying so once per try; `None` when told to stop meanwhile."""
    pause = FIRST_WAIT
    while not stop.is_set():
        try:
            return await connect_temporal(lazy=False)
        except (RPCError, RuntimeError) as error:
            log.warning("temporal-unreachable", why=str(error)[:200], next_try_seconds=pause)
        try:
            await asyncio.wait_for(stop.wait(), pause)
        except TimeoutError:
            pause = min(pause * 2, LONGEST_WAIT)
    return None


async def _keep_schedules(client: Client, config: Config) -> None:
    """One for each regular look; none for the meter without a source of telemetry or a limit that ends leases."""
    places = [Place(place.provider, place.name) for place in config.places]
    await keep_schedule(client, sweep_schedule(places, config.lease.sweep_every))
    await keep_schedule(client, people_schedule(config.lease.people_sweep_every))
    sources, budgets = config.metering is not None, ends_leases(config.quota_plan)
    if sources or budgets:
        await keep_schedule(client, meter_schedule(config.telemetry.every, budgets=budgets, sources=sources))
    else:
        await drop_schedule(client, contracts.METER_SCHEDULE)


def _activities(
    settings: Settings,
    parts: Parts,
    client: Client,
    slack: SlackClient,
    session: aiohttp.ClientSession,
    besides: Opened,
) -> tuple[Activities, Notifier]:

    def plan() -> QuotaPlan:
        return parts.config.quota_plan

    directory = parts.overlay(slack_directory(parts.configured, slack, lambda: parts.config)).directory
    wording = slack_renderer(settings.lessor_templates)
    calendar = Calendar(lambda: parts.config.timetable, lambda: parts.config.waking)
    rooms = Accounting(parts.ledger, plan).around
    pictures = Pictures(slack, parts.ledger, parts.ledger, Drawer().png)
    slack_says, free = slack_settings(parts.config), build_survey(parts).vacancy
    by_slack = SlackNotifier(slack, directory, parts.ledger, slack_says, wording, besides.mail, rooms, pictures, free)
    webhook = Webhook(besides.hook, session, parts.ledger) if besides.hook else None
    notifier = Channels(by_slack, webhook)
    activities = Activities(
        RecordActivities(parts.ledger, directory, plan, parts.bookings),
        AssessmentActivities(
            parts.providers,
            judge(parts.live),
            directory,
            parts.ledger,
            utc_now,
            plan,
            calendar,
            parts.bookings,
        ),
        ProvisioningActivities(parts.providers, parts.ledger, utc_now),
        MessageActivities(notifier, parts.ledger, utc_now),
        SweepActivities(parts.watches, parts.ledger, TemporalRuns(client), utc_now, lambda: parts.config.metering),
        PeopleActivities(directory, parts.ledger, TemporalRuns(client), utc_now, calendar),
        _meter(settings, parts, client, directory),
    )
    return activities, notifier


def _meter(settings: Settings, parts: Parts, client: Client, directory: Directory) -> MeterActivities:
    runs = TemporalRuns(client)
    sources = telemetry_of(parts.config, prometheus_url=settings.lessor_prometheus_url)
    terms = parts.live.derived(_meter_settings)

    def plan() -> IdlePlan:
        return parts.config.idle_plan

    over = Overspending(parts.ledger, lambda: parts.config.quota_plan).found
    return MeterActivities(sources, parts.ledger, runs, directory, utc_now, plan, terms, over, parts.providers)


def _meter_settings(config: Config) -> MeterSettings:
    brake = config.idle.brake
    return MeterSettings(config.telemetry.every, config.telemetry.keep, BrakeTerms(brake.share, brake.least))


if __name__ == "__main__":
    leave(main())
