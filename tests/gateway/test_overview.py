"""What all open leases come to, and what waits for whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.lease import Event, Lease, State
from lessor.domain.pending import Transfer
from lessor.ledger import SqlLedger
from lessor.overview import Overlooking, Sum
from lessor.ports import DirectoryUnavailableError, LeaseQuery
from tests.builders import (
    ADMIN,
    APPROVED,
    ASKED,
    ENDS,
    MANAGER,
    PEOPLE,
    READY,
    REQUESTER,
    STRANGER,
    a_lease,
    a_quote,
    a_request,
    a_step,
    usd,
)
from tests.fakes import FakeDirectory

NOTE = Event("note", ASKED, "lessor", {})
NOW = READY + timedelta(hours=2)


def overlooking(ledger: SqlLedger, directory: FakeDirectory | None = None) -> Overlooking:
    return Overlooking(ledger, directory or FakeDirectory(PEOPLE), lambda: NOW)


def record(ledger: SqlLedger, *leases: Lease) -> None:
    for lease in leases:
        ledger.record(lease, [NOTE])


def lease(number: int, state: State = State.ACTIVE, team: str = "ml", **changes: object) -> Lease:
    made = a_lease(state, id=f"gpu-{number:08d}", request=a_request(team=team, interaction=f"c:{number}"))
    return replace(made, **changes)  # type: ignore[arg-type]


async def test_open_leases_are_counted_with_what_runs_and_what_it_costs(sqlite_ledger: SqlLedger) -> None:
    unpriced = a_lease(id="gpu-00000004", quote=a_quote(None))
    record(sqlite_ledger, lease(1), lease(2, State.STOPPED, "vision"), lease(3, State.CLOSED), unpriced)
    seen = await overlooking(sqlite_ledger).now()
    assert seen.states == {State.ACTIVE: 2, State.STOPPED: 1}
    assert (seen.leases, seen.gpus) == (3, 16)
    assert seen.hourly == Sum((usd("98.32"),), unknown=1)
    # Billed from the launch, three minutes before it was ready: 2:03 and 8:03 hours, each rounded by itself.
    assert seen.cost == Sum((usd("201.56") + usd("791.48"),), unknown=1)
    teams = [(one.team, one.leases, one.gpus, one.hourly) for one in seen.teams]
    assert teams == [("ml", 2, 16, Sum((usd("98.32"),), 1)), ("vision", 1, 0, Sum())]
    assert seen.pending == ()


async def test_what_waits_is_told_with_those_who_can_answer_the_oldest_first(sqlite_ledger: SqlLedger) -> None:
    asked = lease(1, State.AWAITING_APPROVAL)
    offered = lease(2, transfer=Transfer((f"person:{STRANGER.id}",), "vision", REQUESTER.id, READY))
    blocked, full = lease(3, State.BLOCKED), lease(4, State.WAITING_FOR_CAPACITY)
    record(sqlite_ledger, asked, offered, blocked, full)
    seen = await overlooking(sqlite_ledger).now()
    told = [(one.lease.id, one.wait.what, one.wait.since, [p.id for p in one.people]) for one in seen.pending]
    assert told == [
        (asked.id, "approval: manager", ASKED, [MANAGER.id]),
        (full.id, "capacity", APPROVED, []),
        (offered.id, "new owner", READY, [STRANGER.id]),
        (blocked.id, "clean-up", ENDS + blocked.terms.grace, [ADMIN.id]),
    ]


async def test_people_who_cannot_be_looked_up_now_are_not_nobody(sqlite_ledger: SqlLedger) -> None:
    class Silent(FakeDirectory):
        async def members(self, ref: str) -> tuple[object, ...]:  # type: ignore[override]
            raise DirectoryUnavailableError("Slack does not answer")

    record(sqlite_ledger, lease(1, State.AWAITING_APPROVAL))
    (pending,) = (await overlooking(sqlite_ledger, Silent(PEOPLE)).now()).pending
    assert (pending.people, pending.unresolved) == ((), ("lead:ml",))


async def test_a_group_of_slack_that_is_not_known_here_is_not_nobody(sqlite_ledger: SqlLedger) -> None:
    """The dashboard does not ask Slack; beside a group that is unread, those who are known stay known."""
    group = "slack-group:gpu-approvers"
    steps = (a_step("approvers", group), a_step("either", "lead:ml", group))
    asked = a_lease(State.AWAITING_APPROVAL, request=a_request(team="ml"), steps=steps)
    record(sqlite_ledger, asked)
    seen = await overlooking(sqlite_ledger).now()
    told = [(one.wait.what, [p.id for p in one.people], one.unresolved) for one in seen.pending]
    assert told == [("approval: approvers", [], (group,)), ("approval: either", [MANAGER.id], (group,))]


async def test_only_leases_that_changed_are_read_again(
    sqlite_ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = lease(1), lease(2)
    record(sqlite_ledger, first, second)
    over = overlooking(sqlite_ledger)
    assert (await over.now()).leases == 2
    asked: list[LeaseQuery] = []
    read = sqlite_ledger.leases

    def counted(query: LeaseQuery) -> tuple[Lease, ...]:
        asked.append(query)
        return read(query)

    monkeypatch.setattr(sqlite_ledger, "leases", counted)
    assert (await over.now()).leases == 2
    assert asked == []
    record(sqlite_ledger, replace(first, state=State.CLOSED, revision=first.revision + 1))
    record(sqlite_ledger, replace(second, state=State.ENDING, revision=second.revision + 1), lease(3))
    assert (await over.now()).states == {State.ACTIVE: 1, State.ENDING: 1}
    assert [query.ids for query in asked] == [(second.id, "gpu-00000003")]
