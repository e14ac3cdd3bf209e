"""Cases B18, B19 and B32: instants and models survive every border, and tests wait for states, not for clocks."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, get_type_hints

import pytest
from temporalio.client import WorkflowUpdateFailedError

from lessor import contracts
from lessor.contracts import Answer, LeaseInput, Observed, Verb
from lessor.converter import data_converter
from lessor.domain.errors import Invalid, Refused
from lessor.domain.lease import Lease, State
from lessor.domain.pending import Changes
from lessor.domain.people import Person
from lessor.domain.policy import Decision
from lessor.domain.quote import Quote
from lessor.domain.request import Place, Request, validate
from lessor.domain.resource import Condition
from tests.builders import a_decision, a_lease, a_place, a_quota, a_quote, a_request, some_limits
from tests.temporal import dev_server
from tests.world import MANAGER, REQUESTER, World, busy_world
from workflows.worker import WORKFLOWS, Activities

INSTANT = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
"""In the hour that New York lives twice."""
HOUR = timedelta(hours=1)
CONVERTER = data_converter.payload_converter
MESSAGES = [
    one
    for _, one in inspect.getmembers(contracts, dataclasses.is_dataclass)
    if one.__module__.startswith(f"{contracts.__name__}.")
]
EXAMPLES = {
    str: "x",
    bool: True,
    int: 1,
    float: 1.5,
    datetime: INSTANT,
    timedelta: HOUR,
    Request: a_request(),
    Lease: a_lease(),
    Place: a_place(),
    Quote: a_quote(),
    Decision: a_decision(),
    Person: REQUESTER,
}


async def test_B18_datetime_turned_into_date_or_zone_lost(leases: World) -> None:
    """Through start, activity, ledger, query, update, signal: the same instant, in UTC."""
    start = await leases.env.get_current_time()
    until = (start + 12 * HOUR).replace(minute=30, second=0, microsecond=0)
    handle = await leases.active(until=until, duration=None)
    lease = await leases.lease(handle)
    recorded = leases.ledger.lease(handle.id)
    assert recorded is not None
    for got in (lease.ends_at, lease.request.until, recorded.ends_at):
        assert (type(got), got, got and got.utcoffset()) == (datetime, until, timedelta())
    answer = await leases.act(handle, Verb.EXTEND, REQUESTER, until=until + HOUR)
    assert (type(answer.ends_at), answer.ends_at) == (datetime, until + HOUR)
    await leases.eventually(lambda: leases.cloud.ends.get(handle.id) == until + HOUR, "the end on the machine")
    assert type(leases.cloud.ends[handle.id]) is datetime
    leases.turn(handle, Condition.GONE, "gone")
    seen_at = await leases.env.get_current_time() - timedelta(minutes=1)
    await leases.sleep(timedelta(minutes=11))
    await handle.signal(contracts.SIGNAL_OBSERVED, Observed("i-0", "gone", "", seen_at))
    ended = await leases.until(handle, State.DELETING, State.CLOSED)
    assert ended.spans[-1].end == max(seen_at, ended.spans[-1].start)


async def test_B18_the_end_survives_continue_as_new() -> None:
    async with dev_server("limit.historyCount.suggestContinueAsNew=40") as env, busy_world(env) as leases:
        handle = await leases.active()
        first = (await handle.describe()).run_id
        before = await leases.lease(handle)
        latest = env.client.get_workflow_handle(handle.id)
        for _ in range(60):
            await leases.act(handle, Verb.KEEP, REQUESTER)
            if (await latest.describe()).run_id != first:
                break
        assert (await latest.describe()).run_id != first
        after = await leases.lease(latest)
        assert (after.ends_at, after.ready_at, after.spans) == (before.ends_at, before.ready_at, before.spans)
        assert after.ends_at is not None
        assert (type(after.ends_at), after.ends_at.utcoffset()) == (datetime, timedelta())


@pytest.mark.parametrize("value", [INSTANT, dataclasses.replace(a_lease(), ends_at=INSTANT)])
def test_B18_an_instant_is_equal_to_itself_after_a_payload(value: Any) -> None:
    [back] = CONVERTER.from_payloads(CONVERTER.to_payloads([value]), [type(value)])
    assert back == value


async def test_B18_a_time_without_zone_is_refused_at_the_border(leases: World) -> None:
    naive = datetime(2026, 11, 1, 5, 30)  # noqa: DTZ001 - what must be refused
    for name in ("until", "start"):
        with pytest.raises((Invalid, Refused), match="zone"):
            validate(a_request(**{name: naive}), some_limits(), INSTANT)
    handle = await leases.active()
    before = await leases.lease(handle)
    for verb in (Verb.EXTEND, Verb.SHORTEN, Verb.EXEMPT, Verb.RESTORE):
        with pytest.raises(WorkflowUpdateFailedError) as caught:
            await leases.act(handle, verb, REQUESTER, until=naive, reason="why")
        assert "no time zone" in str(caught.value.cause)
    with pytest.raises(WorkflowUpdateFailedError) as proposed:
        await leases.act(handle, Verb.COUNTER, MANAGER, changes=Changes(until=naive))
    assert "the new end has no time zone" in str(proposed.value.cause)
    assert (await leases.lease(handle)).ends_at == before.ends_at


async def test_B19_missing_optional_argument_turns_a_model_into_a_dict(leases: World) -> None:
    """A start with only what the first version knew is a typed model with the defaults filled in."""
    request = a_request(team="research", requester=REQUESTER.id)
    [payload] = CONVERTER.to_payloads([LeaseInput("gpu-b19b19b1", request=request)])
    recorded = json.loads(payload.data)
    start = {"lease_id": recorded["lease_id"], "request": recorded["request"]}
    for field in ("disk_gib", "snapshot", "tags", "interaction"):
        start["request"].pop(field, None)
    handle: Any = await leases.env.client.start_workflow(
        contracts.LEASE_WORKFLOW, start, id="gpu-b19b19b1", task_queue=contracts.TASK_QUEUE
    )
    await leases.until(handle, State.AWAITING_APPROVAL)
    lean = {"id": "a1", "verb": "approve", "by": MANAGER.id}
    answer = await handle.execute_update("approve", lean, id="a1", result_type=Answer)
    assert (answer.ok, answer.code) == (True, "approve")
    lease = await leases.until(handle, State.ACTIVE)
    assert (lease.request.snapshot, lease.request.disk_gib) == (request.snapshot, request.disk_gib)
    assert lease.terms == type(lease.terms)()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_B19_every_message_decodes_without_the_fields_that_were_added(message: type) -> None:
    hints = get_type_hints(message, vars(contracts))
    defaults = {f.name: _default(f) for f in dataclasses.fields(message)}
    lean = {name: _example(hints[name]) for name, value in defaults.items() if value is dataclasses.MISSING}
    [back] = CONVERTER.from_payloads(CONVERTER.to_payloads([lean]), [message])
    assert type(back) is message
    added = defaults.keys() - lean.keys()
    assert {name: getattr(back, name) for name in added} == {name: defaults[name] for name in added}


def test_B19_workflows_and_activities_take_one_model() -> None:
    """Or nothing at all: what is not sent cannot arrive as something else."""
    taken = [inspect.signature(one.run) for one in WORKFLOWS]
    for holder in get_type_hints(Activities).values():
        taken += [inspect.signature(m) for m in vars(holder).values() if hasattr(m, "__temporal_activity_definition")]
    assert len(taken) >= 16
    assert {len(signature.parameters) for signature in taken} <= {1, 2}
    assert len([one for one in taken if len(one.parameters) == 2]) >= 16


async def test_B32_time_skipping_runs_ahead_of_the_workflow(leases: World) -> None:
    """Fifty leases: each is seen waiting for approval before the clock moves, and none is overtaken by it."""
    leases.allow(a_quota("research", 50))
    handles = [await leases.ask() for _ in range(50)]
    for handle in handles:
        await leases.until(handle, State.AWAITING_APPROVAL)
    await leases.sleep(23 * HOUR)
    answers = await asyncio.gather(*(leases.act(handle, Verb.APPROVE, MANAGER) for handle in handles))
    assert [answer.ok for answer in answers] == [True] * 50
    for handle in handles:
        await leases.until(handle, State.ACTIVE)
    await leases.sleep(7 * HOUR)
    assert {(await leases.lease(handle)).state for handle in handles} == {State.ACTIVE}
    await leases.sleep(HOUR + timedelta(minutes=1))
    for handle in handles:
        await leases.until(handle, State.STOPPED)


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _example(hint: Any) -> Any:
    """A value for a field that a message requires; of a list, the empty one."""
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return next(iter(hint))
    if hint not in EXAMPLES and dataclasses.is_dataclass(hint) and isinstance(hint, type):
        needed = [one for one in dataclasses.fields(hint) if _default(one) is dataclasses.MISSING]
        hints = get_type_hints(hint)
        return {one.name: _example(hints[one.name]) for one in needed}
    return EXAMPLES.get(hint, ())
