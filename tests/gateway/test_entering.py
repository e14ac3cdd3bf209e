"""Who gets an access to a lease, when, and what is on record of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State
from lessor.domain.pending import CoOwner
from lessor.domain.people import Person
from lessor.domain.provisioning import Credentials
from lessor.domain.request import Place
from lessor.entering import Entering
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import Heartbeat, LedgerUnavailableError, PermanentError, RetryableError
from tests.builders import ACCESS, ADMIN, ASKED, LEASE_ID, READY, a_lease, a_person, a_request
from tests.fakes import FakeCloud

NOW = READY + timedelta(hours=1)
LAB = Place("kubernetes", "lab")
OTHER, LEAD = a_person("U0OTHER", teams=("ml",)), a_person("U0LEAD", leads=("ml",))


@dataclass
class Cluster(FakeCloud):
    """A place that hands out accesses; `refusal` is raised instead."""

    refusal: Exception | None = None
    given: list[tuple[str, Place]] = field(default_factory=list)

    def credentials(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> Credentials:
        if self.refusal is not None:
            raise self.refusal
        self.given.append((lease_id, place))
        return Credentials("the secret", NOW + timedelta(hours=8))


@dataclass
class Cellar(FakeCloud):
    """A pool of machines into which people were let by hooks that are gone; what is on record when it is told."""

    there: tuple[str, ...] = ("dgx-1",)
    refusal: Exception | None = None

    def unseen(self, lease_id: str, place: Place) -> tuple[str, ...]:
        if self.refusal is not None:
            raise self.refusal
        return self.there

    def confirm_closed(self, lease_id: str, place: Place) -> None:
        self.there = ()


@dataclass
class Door:
    ledger: SqlLedger
    cluster: Cluster
    cellar: Cellar
    people: dict[str, Person]
    entering: Entering

    def put(self, lease: Lease) -> None:
        self.ledger.record(lease, (Event("recorded", ASKED, "lessor", {}),))

    def events(self) -> list[tuple[str, str, dict[str, str]]]:
        return [(one.event.type, one.event.actor, dict(one.event.data)) for one in self.ledger.events(LEASE_ID)]


@pytest.fixture
def door(sqlite_url: str) -> Iterator[Door]:
    ledger, cluster = open_ledger(sqlite_url), Cluster(lambda: NOW)
    cellar = Cellar(lambda: NOW)
    people = {one.id: one for one in (a_person(), OTHER, LEAD, ADMIN)}

    async def lease(lease_id: str) -> Lease:
        found = ledger.lease(lease_id)
        if found is None:
            raise Refused("not-found", f"there is no lease {lease_id}")
        return found

    async def person(any_id: str) -> Person:
        return people[any_id]

    providers = {"kubernetes": cluster, "aws": FakeCloud(lambda: NOW), "machines": cellar}
    entering = Entering(providers, ledger, lease, person, lambda: NOW)
    yield Door(ledger, cluster, cellar, people, entering)
    ledger.close()


def in_lab(state: State = State.ACTIVE, **changes: object) -> Lease:
    return replace(a_lease(state), request=replace(a_request(), place=LAB), **changes)  # type: ignore[arg-type]


async def test_an_owner_gets_one_and_is_on_record_with_it_without_the_secret(door: Door) -> None:
    door.put(in_lab())
    given = await door.entering.credentials(LEASE_ID, "U0REQUESTER", "cli")
    assert (given.text, door.cluster.given) == ("the secret", [(LEASE_ID, LAB)])
    until = (NOW + timedelta(hours=8)).isoformat()
    assert door.events()[1:] == [("access-given", "U0REQUESTER", {"until": until, "via": "cli"})]
    assert door.ledger.verify().problems == ()


async def test_each_access_is_on_record_and_the_lease_goes_on_after_them(door: Door) -> None:
    """What the workflow records later, or again, is neither lost nor doubled by what was noted between."""
    lease = in_lab()
    door.put(lease)
    for _ in range(2):
        await door.entering.credentials(LEASE_ID, "U0REQUESTER", "cli")
    door.put(lease)
    door.put(replace(lease, revision=lease.revision + 1))
    await door.entering.credentials(LEASE_ID, "U0REQUESTER", "slack")
    assert [type for type, *_ in door.events()] == [
        "recorded",
        "access-given",
        "access-given",
        "recorded",
        "access-given",
    ]
    assert door.ledger.lease(LEASE_ID) == replace(lease, revision=lease.revision + 1)
    assert door.ledger.verify().problems == ()


@pytest.mark.parametrize("who", ["U0OTHER", "U0LEAD"])
async def test_whoever_may_act_on_it_may_get_in(door: Door, who: str) -> None:
    door.put(in_lab(co_owners=(CoOwner("U0OTHER", ("U0OTHER",)),)))
    assert (await door.entering.credentials(LEASE_ID, who, "cli")).text == "the secret"


async def test_nobody_else_does(door: Door) -> None:
    door.put(in_lab())
    with pytest.raises(Refused, match="belongs to somebody else") as caught:
        await door.entering.credentials(LEASE_ID, "U0OTHER", "cli")
    assert (caught.value.code, door.cluster.given, len(door.events())) == ("not-owner", [], 1)


@pytest.mark.parametrize("state", [state for state in State if state is not State.ACTIVE])
async def test_only_an_active_lease_is_entered(door: Door, state: State) -> None:
    door.put(in_lab(state))
    with pytest.raises(Refused) as caught:
        await door.entering.credentials(LEASE_ID, "U0REQUESTER", "cli")
    assert (caught.value.code, door.cluster.given) == ("wrong-state", [])


async def test_where_there_is_none_people_are_told_how_to_get_in(door: Door) -> None:
    door.put(a_lease(State.ACTIVE))
    with pytest.raises(Refused) as caught:
        await door.entering.credentials(LEASE_ID, "U0REQUESTER", "cli")
    assert (caught.value.code, ACCESS in str(caught.value)) == ("no-keys", True)


@pytest.mark.parametrize(
    ("error", "code"),
    [(PermanentError("lab has no namespace"), "nothing-there"), (RetryableError("no answer"), "place-unreachable")],
)
async def test_a_place_that_gives_none_leaves_nothing_on_record(door: Door, error: Exception, code: str) -> None:
    door.put(in_lab())
    door.cluster.refusal = error
    with pytest.raises(Refused, match=str(error)) as caught:
        await door.entering.credentials(LEASE_ID, "U0REQUESTER", "cli")
    assert (caught.value.code, len(door.events())) == (code, 1)


async def test_nothing_is_handed_out_that_is_not_on_record(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    door.put(in_lab())

    def away(lease_id: str, event: Event) -> None:
        raise LedgerUnavailableError("the database does not answer")

    monkeypatch.setattr(door.ledger, "note", away)
    with pytest.raises(LedgerUnavailableError):
        await door.entering.credentials(LEASE_ID, "U0REQUESTER", "cli")


def test_the_clock_is_the_records(door: Door) -> None:
    door.put(in_lab())
    at = datetime.fromisoformat("2026-11-28T10:00:00+00:00")
    door.ledger.note(LEASE_ID, Event("access-given", at, "U0REQUESTER", {}))
    assert door.ledger.events(LEASE_ID)[-1].event.at == at


def in_cellar(state: State = State.BLOCKED) -> Lease:
    return replace(a_lease(state), request=replace(a_request(), place=Place("machines", "pool")))


async def test_an_administrator_s_word_that_nobody_gets_in_is_on_record_and_believed(door: Door) -> None:
    door.put(in_cellar())
    assert await door.entering.confirm_closed(LEASE_ID, "U0ADMIN", " keys taken\noff by hand ", "cli") == ("dgx-1",)
    said = {"reason": "keys taken off by hand", "resources": "dgx-1", "via": "cli"}
    assert door.events()[1:] == [("closed-by-hand", "U0ADMIN", said)]
    assert door.cellar.there == ()
    with pytest.raises(Refused, match="nothing of gpu-7k3qxa2m has to be confirmed") as caught:
        await door.entering.confirm_closed(LEASE_ID, "U0ADMIN", "again", "cli")
    assert (caught.value.code, len(door.events())) == ("nothing-unseen", 2)


@pytest.mark.parametrize(
    ("who", "reason", "code"),
    [
        ("U0REQUESTER", "it is closed", "not-admin"),
        ("U0LEAD", "it is closed", "not-admin"),
        ("U0ADMIN", " ", "no-reason"),
    ],
)
async def test_nobody_else_s_word_is_believed_and_none_without_a_reason(
    door: Door, who: str, reason: str, code: str
) -> None:
    door.put(in_cellar())
    with pytest.raises(Refused, match="nothing was changed") as caught:
        await door.entering.confirm_closed(LEASE_ID, who, reason, "cli")
    assert (caught.value.code, len(door.events()), door.cellar.there) == (code, 1, ("dgx-1",))


async def test_where_it_is_seen_who_gets_in_nobody_s_word_is_asked_for(door: Door) -> None:
    door.put(in_lab())
    with pytest.raises(Refused) as caught:
        await door.entering.confirm_closed(LEASE_ID, "U0ADMIN", "it is closed", "cli")
    assert (caught.value.code, len(door.events())) == ("nothing-unseen", 1)


async def test_a_pool_that_cannot_be_read_now_is_not_confirmed(door: Door) -> None:
    door.put(in_cellar())
    door.cellar.refusal = RetryableError("the ledger is locked", "ledger")
    with pytest.raises(Refused, match="the ledger is locked; try again in a minute") as caught:
        await door.entering.confirm_closed(LEASE_ID, "U0ADMIN", "it is closed", "cli")
    assert (caught.value.code, len(door.events())) == ("place-unreachable", 1)


async def test_a_pool_that_is_configured_no_more_is_not_told_to_be_tried_again(door: Door) -> None:
    door.put(in_cellar())
    door.cellar.refusal = PermanentError("'pool' is no pool of machines", "unknown-place")
    with pytest.raises(Refused, match="'pool' is no pool of machines; nothing was confirmed") as caught:
        await door.entering.confirm_closed(LEASE_ID, "U0ADMIN", "it is closed", "cli")
    assert (caught.value.code, len(door.events())) == ("nothing-there", 1)
