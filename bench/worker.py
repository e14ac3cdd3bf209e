"""A worker process of a benchmark: `product` is lessor's own worker over instant ports, `bare` the floor's.

Both get the same settings. Prints `ready` once they poll, and runs until SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.worker import Worker

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.meter import MeterActivities
from activities.people import PeopleActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sweep import SweepActivities
from bench import people
from bench.bare import QUEUE, Bare, BareTimer, nothing, nothing_near
from bench.cloud import InstantCloud, InstantNotifier
from bench.people import AUTOMATIC, MANAGER, TEAM
from lessor.converter import data_converter
from lessor.domain.case import Case
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.people import Person, Presence
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.garbage import Turnover
from lessor.leaving import leave
from lessor.ledger import open_ledger
from lessor.ports import Team
from lessor.runs import TemporalRuns
from workflows.worker import CONCURRENCY, IN_CACHE, Activities, activity_threads, begin_tidying, build_workers

APPROVAL = StepSpec("team lead", (f"lead:{TEAM}",))


class Directory:
    """The few people of the benchmarks."""

    def __init__(self) -> None:
        self._team = Team(TEAM, lead=MANAGER.id)

    async def person(self, any_id: str) -> Person | None:
        return people.person(any_id)

    async def members(self, ref: str) -> tuple[Person, ...]:
        return tuple(one for one in people.KNOWN if ref in one.refs)

    async def everybody(self) -> tuple[Person, ...]:
        return people.KNOWN

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        return dict.fromkeys(ids, Presence.HERE)

    def team(self, key: str) -> Team | None:
        return self._team if key == TEAM else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.worker")
    parser.add_argument("kind", choices=("product", "bare"))
    parser.add_argument("--address", required=True)
    parser.add_argument("--ledger", default="sqlite://")
    parser.add_argument("--cache", type=int, default=1_000)
    asyncio.run(_serve(parser.parse_args()))
    return 0


def ports_of(client: Client, ledger_url: str, clock: Callable[[], datetime]) -> Activities:
    """lessor's activities over this ledger, an instant cloud and an instant notifier."""
    ledger, directory, notifier = open_ledger(ledger_url), Directory(), InstantNotifier()
    providers = {"aws": InstantCloud(clock)}
    return Activities(
        RecordActivities(ledger, directory),
        AssessmentActivities(providers, _judge, directory, ledger, clock),
        ProvisioningActivities(providers, ledger, clock),
        MessageActivities(notifier, ledger, clock),
        SweepActivities({}, ledger, TemporalRuns(client), clock),
        PeopleActivities(directory, ledger, TemporalRuns(client), clock),
        MeterActivities({}, ledger, TemporalRuns(client), directory, clock, IdlePlan),
    )


async def _serve(wanted: argparse.Namespace) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    converter = data_converter if wanted.kind == "product" else DataConverter.default
    client = await Client.connect(wanted.address, data_converter=converter)
    with activity_threads() as threads:
        async with AsyncExitStack() as stack:
            turnover = Turnover()
            workers = _workers(client, wanted, threads, turnover)
            if wanted.kind == "product":
                stack.callback(begin_tidying(turnover, wanted.cache).cancel)
            for worker in workers:
                await stack.enter_async_context(worker)
            print("ready", flush=True)
            await stop.wait()


def _workers(
    client: Client, wanted: argparse.Namespace, threads: ThreadPoolExecutor, turnover: Turnover
) -> list[Worker]:
    if wanted.kind == "bare":
        return [_bare(client, wanted.cache, threads)]
    ports = ports_of(client, wanted.ledger, _now)
    return build_workers(client, ports, threads, max_cached_workflows=wanted.cache, turnover=turnover)


def _judge(case: Case) -> Decision:
    outcome = Outcome.APPROVE if case.request.purpose == AUTOMATIC else Outcome.REQUIRE
    return Decision(outcome, (Reason("default", "no rule speaks of it"),), (APPROVAL,), "v1")


def _bare(client: Client, cache: int, threads: ThreadPoolExecutor) -> Worker:
    return Worker(
        client,
        task_queue=QUEUE,
        workflows=[Bare, BareTimer],
        activities=[nothing, nothing_near],
        activity_executor=threads,
        max_cached_workflows=cache,
        max_concurrent_activities=CONCURRENCY,
        max_concurrent_local_activities=CONCURRENCY,
        sticky_queue_schedule_to_start_timeout=IN_CACHE,
        graceful_shutdown_timeout=timedelta(seconds=10),
        max_heartbeat_throttle_interval=timedelta(seconds=10),
    )


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    leave(main())
