"""The use cases over a real ledger, with Temporal behind a fake engine that can be away, slow or occupied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.contracts import Act, Answer, Verb
from lessor.domain import lookalike
from lessor.domain.errors import Invalid, Refused
from lessor.domain.identity import lease_id
from lessor.domain.lease import Event, State
from lessor.domain.quota import Ceiling, Kind, QuotaPlan, Reservation
from lessor.domain.request import LeaseKind
from lessor.engine import TakenError, UnreachableError
from lessor.gateway import Gateway, Offering, PlaceChoice, Submitted
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import PermanentError, RetryableError, Submission, Team
from tests.builders import (
    ASKED,
    MANAGER,
    PEOPLE,
    REQUESTER,
    a_lease,
    a_quota,
    a_quote,
    a_request,
    a_step,
    some_limits,
    usd,
)
from tests.fakes import FakeCloud, FakeDirectory

AN_EVENT = (Event("recorded", ASKED, "lessor", {}),)
TEAM = Team("ml", lead=MANAGER.id, cost_center="4711")
PLAN = QuotaPlan((a_quota("ml", 8), Ceiling("team:ml", Decimal(1000), Kind.MONEY)))


@dataclass
class FakeEngine:
    """Remembers what was started; `away` counts the next calls that find nobody, `taken` ids of other workflows."""

    away: int = 0
    taken: set[str] = field(default_factory=set)
    started: list[Submission] = field(default_factory=list)
    answer: Answer | None = None

    async def start(self, submission: Submission) -> bool:
        if self.away:
            self.away -= 1
            raise UnreachableError("Temporal cannot be reached now (unavailable)")
        if submission.lease_id in self.taken:
            raise TakenError(submission.lease_id)
        fresh = submission.lease_id not in {s.lease_id for s in self.started}
        self.started.append(submission)
        return fresh

    async def act(self, lease_id: str, act: Act) -> Answer | None:
        if self.away:
            raise UnreachableError("Temporal cannot be reached now (unavailable)")
        return self.answer


@dataclass
class Desk:
    gateway: Gateway
    engine: FakeEngine
    ledger: SqlLedger
    cloud: FakeCloud


@pytest.fixture
def desk() -> Iterator[Desk]:
    ledger, engine, cloud = open_ledger("sqlite://"), FakeEngine(), FakeCloud(lambda: ASKED)
    place = a_request().place
    places = (PlaceChoice(place.name, place.name, place.provider),)
    offering = Offering(places, tuple, lambda person: some_limits(), lambda: PLAN)
    directory = FakeDirectory(PEOPLE, (TEAM,))
    gateway = Gateway(engine, ledger, directory, {place.provider: cloud}, offering, lambda: ASKED)
    yield Desk(gateway, engine, ledger, cloud)
    ledger.close()


def wish(interaction: str = "click-1", **changes: Any) -> Any:
    return a_request(interaction=interaction, **changes)


async def test_a_request_is_kept_before_it_is_started_and_completed_from_its_team(desk: Desk) -> None:
    done = await desk.gateway.submit(wish(cost_center="", lead=""))
    assert done == Submitted(lease_id("click-1"))
    [kept] = desk.engine.started
    assert (kept.request.cost_center, kept.request.lead) == ("4711", MANAGER.id)
    assert desk.ledger.unstarted() == ()


async def test_the_same_interaction_makes_one_lease(desk: Desk) -> None:
    first = await desk.gateway.submit(wish())
    again = await desk.gateway.submit(wish())
    assert (first.lease_id, first.existing) == (again.lease_id, False)
    assert again.existing is True


async def test_a_request_survives_temporal_being_away(desk: Desk) -> None:
    desk.engine.away = 2
    done = await desk.gateway.submit(wish())
    assert done == Submitted(lease_id("click-1"), recorded_only=True)
    assert await desk.gateway.start_unstarted() == 0
    assert await desk.gateway.start_unstarted() == 1
    assert [s.lease_id for s in desk.engine.started] == [done.lease_id]
    assert await desk.gateway.start_unstarted() == 0


async def test_an_id_that_another_workflow_has_is_salted_and_nothing_is_swallowed(desk: Desk) -> None:
    desk.engine.taken = {lease_id("click-1"), lease_id("click-1", 1)}
    done = await desk.gateway.submit(wish())
    assert done.lease_id == lease_id("click-1", 2)
    assert desk.engine.started[0].lease_id == done.lease_id
    assert desk.ledger.unstarted() == ()


async def test_an_id_that_another_request_has_is_salted(desk: Desk) -> None:
    desk.ledger.accept(Submission("another", lease_id("click-1"), wish("another"), ASKED, started=True))
    assert (await desk.gateway.submit(wish(), anyway=True)).lease_id == lease_id("click-1", 1)


async def test_bad_fields_are_refused_together_and_nothing_is_kept(desk: Desk) -> None:
    with pytest.raises(Invalid) as refused:
        await desk.gateway.submit(wish(team="", purpose="x", duration=timedelta(days=400)))
    assert {e.field for e in refused.value.errors} == {"team", "purpose", "end"}
    assert desk.ledger.unstarted() == ()


async def test_what_nothing_can_fill_is_refused_at_the_field(desk: Desk) -> None:
    desk.cloud.fail["quote"] = [PermanentError("no type has 3 x A100; offered are 1, 8")]
    with pytest.raises(Invalid) as refused:
        await desk.gateway.submit(wish())
    assert [(e.field, e.message) for e in refused.value.errors] == [("need", "no type has 3 x A100; offered are 1, 8")]


async def test_a_cloud_that_does_not_answer_keeps_nobody_from_asking(desk: Desk) -> None:
    desk.cloud.fail["quote"] = [RetryableError("timed out")]
    assert (await desk.gateway.submit(wish())).lease_id == lease_id("click-1")


async def test_an_unknown_person_is_told_whom_to_ask(desk: Desk) -> None:
    with pytest.raises(Refused) as refused:
        await desk.gateway.submit(wish(requester="U0NOBODY"))
    assert refused.value.code == "unknown-person"
    assert "lessor.yaml" in str(refused.value)


async def test_a_pending_lookalike_is_named_and_another_can_be_made_anyway(desk: Desk) -> None:
    pending = a_lease(State.AWAITING_APPROVAL, request=wish("before"))
    desk.ledger.record(pending, AN_EVENT)
    asked = wish("click-1", purpose="another purpose")
    assert await desk.gateway.submit(asked) == Submitted("", similar=(pending.id,))
    assert desk.engine.started == []
    assert (await desk.gateway.submit(asked, anyway=True)).lease_id == lease_id("click-1")


async def test_a_lookalike_that_waits_for_temporal_counts_as_well(desk: Desk) -> None:
    desk.engine.away = 1
    first = await desk.gateway.submit(wish("typed-once"))
    assert (await desk.gateway.submit(wish("typed-again"))).similar == (first.lease_id,)


@pytest.mark.parametrize("state", [State.DENIED, State.WITHDRAWN, State.LAPSED, State.CLOSED])
async def test_a_request_that_is_over_never_blocks(desk: Desk, state: State) -> None:
    over = a_lease(state, request=wish("before"))
    desk.ledger.record(over, AN_EVENT)
    assert (await desk.gateway.submit(wish())).similar == ()


def test_an_equal_lease_in_use_counts_for_a_minute_only() -> None:
    lease = a_lease(State.ACTIVE, request=wish("before"))
    soon = lease.requested_at + timedelta(seconds=59)
    assert lookalike.lookalikes(wish(), REQUESTER, [lease], [], soon) == (lease.id,)
    assert lookalike.lookalikes(wish(), REQUESTER, [lease], [], soon + timedelta(seconds=1)) == ()
    assert lookalike.lookalikes(wish(need=replace(wish().need, count=2)), REQUESTER, [lease], [], soon) == ()


async def test_a_click_on_a_lease_without_a_workflow_says_who_takes_it_up(desk: Desk) -> None:
    lease = a_lease(State.ACTIVE)
    desk.ledger.record(lease, AN_EVENT)
    answer = await desk.gateway.act(lease.id, Act("click", Verb.RELEASE, REQUESTER.id))
    assert (answer.ok, answer.code, answer.state) == (False, "no-workflow", "active")
    assert answer.message == (
        f"{lease.id} has no running workflow although it is active; nothing was changed. "
        "The regular look over all leases takes it up and tells the administrators"
    )


async def test_a_click_on_a_lease_that_is_over_is_told_how_it_ended(desk: Desk) -> None:
    denied = a_lease(State.DENIED)
    desk.ledger.record(denied, AN_EVENT)
    answer = await desk.gateway.act(denied.id, Act("a", Verb.APPROVE, MANAGER.id))
    assert (answer.ok, answer.code, answer.by) == (False, "wrong-state", denied.decided_by)
    assert answer.message.startswith(f"{denied.id} is denied by {denied.decided_by} at ")


async def test_an_act_while_temporal_is_away_changes_nothing_and_says_so(desk: Desk) -> None:
    desk.engine.away = 1
    with pytest.raises(Refused) as refused:
        await desk.gateway.act("gpu-7k3qxa2m", Act("a", Verb.APPROVE, MANAGER.id))
    assert refused.value.code == "unreachable"
    assert "nothing was changed" in str(refused.value)


async def test_who_can_decide_now_never_names_the_requester(desk: Desk) -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    names = [p.id for p in await desk.gateway.eligible(lease)]
    assert MANAGER.id in names
    assert REQUESTER.id not in names


async def test_who_may_not_decide_is_told_who_may_by_name(desk: Desk) -> None:
    lease = a_lease(State.AWAITING_APPROVAL, steps=(a_step(), a_step("money", "group:finance")))
    desk.ledger.record(lease, AN_EVENT)
    desk.engine.answer = Answer(False, "not-approver", "step 'manager' is decided by lead:ml", lease.id, "")
    answer = await desk.gateway.act(lease.id, Act("a", Verb.APPROVE, "U0STRANGER"))
    assert answer.message == "step 'manager' is decided by u0manager and step 'money' is decided by u0finance"
    nobody = a_lease(State.AWAITING_APPROVAL, id="gpu-00000002", steps=(a_step("manager", "slack-group:leads"),))
    desk.ledger.record(nobody, AN_EVENT)
    desk.engine.answer = Answer(False, "not-approver", "step 'manager' is decided by slack-group:leads", nobody.id, "")
    assert await desk.gateway.act(nobody.id, Act("b", Verb.APPROVE, "U0STRANGER")) == desk.engine.answer


async def test_headroom_is_what_the_ledger_holds(desk: Desk) -> None:
    desk.ledger.reserve(Reservation("gpu-00000001", "ml", "A100-80GB", 5), PLAN.ceilings)
    [room] = await desk.gateway.headroom("ml", "A100-80GB")
    assert (room.quota.gpus, room.used, room.free) == (8, 5, 3)


async def test_a_form_shows_what_a_request_would_leave_of_budgets_and_a_team_what_it_uses(desk: Desk) -> None:
    request, quote = a_request(), a_quote(usd("10"))
    [room] = await desk.gateway.budget_rooms(request, quote)
    assert (room.asked, room.left) == (80, 920)
    [unknown] = await desk.gateway.budget_rooms(request, None)
    assert (unknown.asked, unknown.left) == (None, None)
    desk.ledger.reserve(Reservation("gpu-00000001", "ml", "A100-80GB", 5, "", REQUESTER.id), ())
    usage = await desk.gateway.team_usage("ml")
    assert (usage.gpus, [r.used for r in usage.rooms], [b.left for b in usage.budgets]) == (5, [5], [1000])
    assert (await desk.gateway.person_usage(REQUESTER)).gpus == 5
    with pytest.raises(Refused, match="there is no team 'nobody'; see yours with `lessor quota`"):
        await desk.gateway.team_usage("nobody")


async def test_a_lease_that_does_not_exist_is_refused_with_a_way_on(desk: Desk) -> None:
    with pytest.raises(Refused) as refused:
        await desk.gateway.lease("gpu-zzzzzzzz")
    assert (refused.value.code, "/gpu list" in str(refused.value)) == ("not-found", True)


@pytest.mark.parametrize(
    ("kept", "asked", "alike"),
    [
        (LeaseKind.NAMESPACE, LeaseKind.NAMESPACE, True),
        (LeaseKind.NAMESPACE, LeaseKind.WORKSPACE, False),
        (LeaseKind.NAMESPACE, None, True),
    ],
)
def test_two_kinds_of_lease_are_two_wishes(kept: LeaseKind, asked: LeaseKind | None, alike: bool) -> None:
    pending = a_lease(State.AWAITING_APPROVAL, request=wish("click-0", kind=kept))
    assert lookalike.lookalikes(wish(kind=asked), REQUESTER, [pending], [], ASKED) == ((pending.id,) if alike else ())


async def test_a_request_that_names_no_kind_is_for_the_first_of_its_place(desk: Desk) -> None:
    await desk.gateway.submit(wish())
    [kept] = desk.engine.started
    assert kept.request.kind is LeaseKind.MACHINE
