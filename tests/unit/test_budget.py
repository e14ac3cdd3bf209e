"""What a lease takes of each month: exact, cut at the organisation's months, unknown rather than zero."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain import life
from lessor.domain.budget import HOUR, MILLIONTHS, BudgetRoom, Commitment, Entry, Metering, budget_rooms, check, used
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, Span, State
from lessor.domain.money import Money
from lessor.domain.pending import Exemption
from lessor.domain.quota import Account, Ceiling, Kind, QuotaPlan
from lessor.domain.request import Market
from lessor.metering import metered
from lessor.when.hours import written
from tests.builders import (
    APPROVED,
    ASKED,
    ENDS,
    HOURLY,
    LAUNCHED,
    OFFICE,
    READY,
    a_lease,
    a_quote,
    a_request,
    an_offer,
    usd,
)

PLAN = QuotaPlan()
BERLIN = QuotaPlan(tz="Europe/Berlin")
DAY = timedelta(days=1)


def taken(lease: Lease, now: datetime, plan: QuotaPlan = PLAN) -> dict[str, tuple[Decimal, Decimal | None]]:
    """GPU-hours and money by month."""
    found = metered(lease, plan, now).commitments
    return {
        c.month: (Decimal(c.time) / HOUR, None if c.money is None else Decimal(c.money) / MILLIONTHS) for c in found
    }


def running(start: datetime, end: datetime, hourly: Money | None = HOURLY) -> Lease:
    """A lease of 8 GPUs that runs from `start` and ends at `end`."""
    lease = a_lease(State.ACTIVE)
    return replace(lease, spans=(Span(start, None, hourly),), ready_at=start, ends_at=end)


def test_before_it_runs_the_whole_length_is_planned_from_now() -> None:
    [one] = metered(a_lease(State.APPROVED), PLAN, APPROVED).commitments
    assert (one.month, one.time, one.money) == ("2026-11", 8 * 8 * HOUR, 786_560_000)
    assert (one.ahead_time, one.ahead_money) == (one.time, one.money)
    assert (one.ahead_from, one.ahead_to, one.running) == (APPROVED, APPROVED + timedelta(hours=8), False)


def test_a_reservation_is_planned_in_the_month_in_which_it_starts() -> None:
    request = a_request(start=datetime(2026, 12, 31, 20, tzinfo=UTC))
    lease = a_lease(State.APPROVED, request=request)
    assert taken(lease, APPROVED) == {
        "2026-12": (Decimal(32), Decimal("393.28")),
        "2027-01": (Decimal(32), Decimal("393.28")),
    }


def test_what_runs_is_counted_from_its_launch_and_planned_until_its_end() -> None:
    now = READY + timedelta(hours=1)
    [one] = metered(a_lease(State.ACTIVE), PLAN, now).commitments
    spent = now - LAUNCHED
    assert one.time - one.ahead_time == 8 * (spent // timedelta(microseconds=1))
    assert (one.ahead_from, one.ahead_to, one.running) == (now, ENDS, True)
    assert one.money == round(Fraction(HOURLY.amount) * ((ENDS - LAUNCHED) // timedelta(seconds=1)) * 1_000_000 / 3600)


@pytest.mark.parametrize("state", [State.STOPPED, State.DELETING, State.BLOCKED, State.CLOSED])
def test_f29_what_is_stopped_takes_what_it_used_however_often_and_late_it_is_counted(state: State) -> None:
    lease = a_lease(state)
    counts = [taken(lease, ENDS + n * timedelta(hours=1)) for n in range(10)]
    hours = Decimal((ENDS - LAUNCHED) // timedelta(seconds=1)) / 3600
    assert counts == [{"2026-11": (hours * 8, Decimal("791.476"))}] * 10


@pytest.mark.parametrize("state", [State.DENIED, State.WITHDRAWN, State.LAPSED, State.FAILED])
def test_what_never_ran_takes_nothing(state: State) -> None:
    assert taken(a_lease(state), ASKED + DAY) == {}


def test_a_month_ends_at_midnight_of_the_organisation_and_belongs_to_the_next() -> None:
    lease = running(datetime(2026, 11, 30, 22, tzinfo=UTC), datetime(2026, 12, 1, 2, tzinfo=UTC))
    assert taken(lease, lease.ready_at or ASKED) == {
        "2026-11": (Decimal(16), Decimal("196.64")),
        "2026-12": (Decimal(16), Decimal("196.64")),
    }
    assert taken(lease, lease.ready_at or ASKED, BERLIN) == {
        "2026-11": (Decimal(8), Decimal("98.32")),
        "2026-12": (Decimal(24), Decimal("294.96")),
    }
    until_midnight = replace(lease, ends_at=datetime(2026, 11, 30, 23, tzinfo=UTC))
    assert set(taken(until_midnight, lease.ready_at or ASKED, BERLIN)) == {"2026-11"}


@pytest.mark.parametrize(
    ("month", "zone", "hours"),
    [
        ((2026, 10), "Europe/Berlin", 31 * 24 + 1),
        ((2026, 3), "Europe/Berlin", 31 * 24 - 1),
        ((2026, 11), "America/New_York", 30 * 24 + 1),
        ((2026, 3), "America/New_York", 31 * 24 - 1),
        ((2028, 2), "Asia/Kathmandu", 29 * 24),
        ((2026, 4), "Australia/Lord_Howe", Decimal("720.5")),
        ((2026, 2), "UTC", 28 * 24),
    ],
)
def test_months_with_a_clock_change_have_an_hour_more_or_less(
    month: tuple[int, int], zone: str, hours: int | Decimal
) -> None:
    middle = datetime(*month, 15, tzinfo=UTC)
    lease = running(middle - 40 * DAY, middle + 40 * DAY, usd("1"))
    found = taken(lease, middle, QuotaPlan(tz=zone))
    assert found[f"{month[0]}-{month[1]:02}"] == (hours * 8, Decimal(hours))


def test_an_unknown_price_makes_a_month_unknown_and_never_zero() -> None:
    lease = running(READY, ENDS, None)
    assert taken(lease, READY) == {"2026-11": (Decimal(64), None)}
    quote = a_quote(None)
    assert taken(a_lease(State.APPROVED, quote=quote), APPROVED) == {"2026-11": (Decimal(64), None)}
    spans = (Span(LAUNCHED, READY, usd("1")), Span(READY, None, None))
    assert taken(replace(lease, spans=spans), READY)["2026-11"][1] is None
    assert taken(running(READY, ENDS), READY, QuotaPlan(currency="EUR")) == {"2026-11": (Decimal(64), None)}


def test_a_month_without_the_unknown_price_is_known() -> None:
    start, change = datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    lease = running(start, change + DAY)
    lease = replace(lease, spans=(Span(start, change, usd("2")), Span(change, None, None)))
    assert taken(lease, change) == {"2026-11": (Decimal(192), Decimal(48)), "2026-12": (Decimal(192), None)}


def test_f28_a_price_that_changes_in_the_month_charges_each_part_at_its_own_rate() -> None:
    start, middle, end = (datetime(2026, 11, day, tzinfo=UTC) for day in (10, 15, 20))
    lease = running(start, end)
    lease = replace(lease, spans=(Span(start, middle, usd("1")), Span(middle, None, usd("3"))))
    assert taken(lease, end) == {"2026-11": (Decimal(8 * 240), Decimal(120 + 360))}


def test_f34_spot_is_planned_at_the_on_demand_price_and_charged_at_its_own() -> None:
    offer = an_offer(market=Market.SPOT, hourly=usd("2"), on_demand_hourly=usd("10"))
    lease = a_lease(State.ACTIVE, quote=a_quote(offer=offer))
    [one] = metered(lease, PLAN, READY + timedelta(hours=1)).commitments
    spent = Fraction(2) * ((READY + timedelta(hours=1) - LAUNCHED) // timedelta(seconds=1)) * MILLIONTHS / 3600
    assert (one.ahead_money, one.money) == (70 * MILLIONTHS, 70 * MILLIONTHS + round(spent))
    unknown = an_offer(market=Market.SPOT, hourly=usd("2"), on_demand_hourly=None)
    assert metered(a_lease(State.APPROVED, quote=a_quote(offer=unknown)), PLAN, APPROVED).commitments[0].money is None


def test_a_lease_with_working_hours_is_planned_for_those_only() -> None:
    monday = datetime(2026, 11, 2, tzinfo=UTC)
    hours = written(OFFICE, "Europe/Berlin", monday)
    lease = replace(running(monday, monday + 7 * DAY, usd("1")), schedule=hours)
    assert taken(lease, monday) == {"2026-11": (Decimal(5 * 9 * 8), Decimal(45))}
    exempt = replace(lease, exemption=Exemption(monday + DAY, "U0REQUESTER", monday))
    assert taken(exempt, monday) == {"2026-11": (Decimal((24 + 4 * 9) * 8), Decimal(60))}
    assert taken(replace(lease, stoppable=False), monday) == {"2026-11": (Decimal(7 * 24 * 8), Decimal(168))}


def test_a_lease_that_ends_is_no_longer_planned() -> None:
    ending = life.release(a_lease(State.ACTIVE), "U0REQUESTER", READY + timedelta(hours=1)).lease
    [one] = metered(ending, PLAN, READY + timedelta(hours=1)).commitments
    assert (one.ahead_time, one.running) == (0, False)


MOMENTS = st.integers(0, 90 * 86_400).map(lambda s: datetime(2026, 1, 20, tzinfo=UTC) + timedelta(seconds=s))


@given(st.lists(MOMENTS, min_size=2, max_size=8, unique=True), st.decimals(0, 1_000, places=4), MOMENTS)
def test_f26_the_months_of_a_lease_add_up_to_its_whole_cost(
    moments: list[datetime], rate: Decimal, now: datetime
) -> None:
    moments.sort()
    pairs = zip(moments[::2], moments[1::2], strict=False)
    spans = tuple(Span(start, end, usd(str(rate))) for start, end in pairs)
    lease = replace(a_lease(State.CLOSED), spans=spans)
    found = metered(lease, QuotaPlan(tz="Europe/Berlin"), now).commitments
    length = sum(((s.end or now) - s.start for s in spans), timedelta()) // timedelta(microseconds=1)
    assert sum(c.time for c in found) == length * 8
    assert sum(c.money or 0 for c in found) == round(Fraction(rate) * length * MILLIONTHS / HOUR)


def entry(money: int | None, **changes: object) -> Entry:
    one = Commitment("2026-11", 8 * HOUR, money, **changes)  # type: ignore[arg-type]
    return Entry("gpu-other", Account("ml", "", "U0OTHER"), "A100-80GB", "USD", one)


def asked(money: int | None = 0, hours: int = 0) -> Metering:
    found = (Commitment("2026-11", hours * HOUR, money),) if money or hours or money is None else ()
    return Metering(Account("ml", "", "U0ME"), "A100-80GB", "USD", READY, "2026-11", found)


MONEY = Ceiling("team:ml", Decimal(1000), Kind.MONEY)
HOURS = Ceiling("team:ml", Decimal(100), Kind.GPU_HOURS)


def rooms(ceiling: Ceiling, entries: list[Entry], wanted: Metering) -> list[BudgetRoom]:
    return list(budget_rooms((ceiling,), ["2026-11"], entries, wanted))


def test_a_room_tells_what_is_used_planned_asked_and_left() -> None:
    half = {"ahead_money": 400 * MILLIONTHS, "ahead_time": 4 * HOUR, "running": True}
    half |= {"ahead_from": READY - timedelta(hours=1), "ahead_to": READY + timedelta(hours=3)}
    [room] = rooms(MONEY, [entry(500 * MILLIONTHS, **half)], asked(300 * MILLIONTHS, 8))
    assert (room.spent, room.committed, room.asked, room.left) == (200, 300, 300, 200)
    assert (room.currency, room.hard, used(room)) == ("USD", True, Decimal("0.8"))
    [hours] = rooms(HOURS, [entry(500 * MILLIONTHS, **half)], asked(300 * MILLIONTHS, 8))
    assert (hours.spent, hours.committed, hours.asked, hours.left, hours.currency) == (5, 3, 8, 84, "")


def test_one_unknown_price_makes_the_money_of_the_room_unknown_and_leaves_its_hours_known() -> None:
    others = [entry(500 * MILLIONTHS), entry(None)]
    [room] = rooms(MONEY, others, asked(1, 8))
    assert (room.spent, room.left, used(room)) == (None, None, None)
    [hours] = rooms(HOURS, others, asked(1, 8))
    assert (hours.spent, hours.left) == (16, 76)
    [foreign] = rooms(MONEY, [replace(entry(1), currency="EUR")], asked(1, 8))
    assert foreign.left is None


def test_what_was_planned_of_a_closed_month_and_never_ran_is_void() -> None:
    waiting = entry(500 * MILLIONTHS, ahead_money=500 * MILLIONTHS, ahead_time=8 * HOUR)
    later = replace(asked(), current="2026-12")
    assert [r.left for r in rooms(MONEY, [waiting], asked())] == [500]
    assert [r.left for r in rooms(MONEY, [waiting], later)] == [1000]
    ran = replace(waiting, commitment=replace(waiting.commitment, running=True))
    assert [r.left for r in rooms(MONEY, [ran], later)] == [500]


@pytest.mark.parametrize(
    ("ceiling", "others", "wanted", "words"),
    [
        (
            MONEY,
            [entry(800 * MILLIONTHS)],
            asked(200_010_000, 8),
            "team ml may use 1,000 USD in 2026-11: 800 are used or planned, and 200.01 more do not fit. Ask for less",
        ),
        (
            replace(HOURS, model="A100-80GB"),
            [entry(0)],
            asked(0, 93),
            "team ml may use 100 GPU-hours of A100-80GB in 2026-11: 8 are used or planned, and 93 more do not fit.",
        ),
        (MONEY, [], asked(None, 8), "team ml may use 1,000 USD in 2026-11, and nobody knows what this costs there"),
        (
            MONEY,
            [entry(None)],
            asked(1, 8),
            "team ml may use 1,000 USD in 2026-11, and the price of a lease that",
        ),
    ],
)
def test_what_does_not_fit_or_may_not_fit_is_refused_with_the_numbers(
    ceiling: Ceiling, others: list[Entry], wanted: Metering, words: str
) -> None:
    with pytest.raises(Refused) as refused:
        check(rooms(ceiling, others, wanted))
    assert refused.value.code == "budget"
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("ceiling", "others", "wanted"),
    [
        (MONEY, [entry(800 * MILLIONTHS)], asked(200 * MILLIONTHS, 8)),
        (MONEY, [entry(2_000 * MILLIONTHS)], asked()),
        (replace(MONEY, hard=False), [entry(None)], asked(None, 8)),
        (HOURS, [entry(None)], asked(None, 92)),
        (replace(MONEY, scope="team:vision"), [entry(None)], asked(None, 8)),
        (replace(MONEY, model="H100"), [entry(None)], asked(None, 8)),
    ],
)
def test_what_fits(ceiling: Ceiling, others: list[Entry], wanted: Metering) -> None:
    check(rooms(ceiling, others, wanted))


def test_months_are_half_open_on_every_day_of_two_years() -> None:
    start = date(2026, 1, 1)
    for day in (start + timedelta(days=n) for n in range(730)):
        at = datetime.combine(day, time(12), UTC)
        lease = running(at, at + timedelta(hours=1))
        assert set(taken(lease, at, BERLIN)) == {f"{day:%Y-%m}"}
