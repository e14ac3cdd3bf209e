"""What leases were seen doing is stored once, comes back as it was, and is added up once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from lessor.contracts import MeterReport, SourceReport
from lessor.domain.idle import Standing, Track, Verdict
from lessor.domain.telling import Heard
from lessor.domain.usage import GpuUse, HostUse, HourUse, Observation
from lessor.ledger import SqlLedger
from lessor.ledger.database import Database
from lessor.ledger.packing import Packed

NOON = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ONE, TWO = "gpu-00000001", "gpu-00000002"


def seen(lease_id: str, at: datetime, *, util: float = 40.0, gpus: int = 1) -> Observation:
    uses = tuple(GpuUse(str(n), "i-0a", False, util / 100, util, None, 1_024.0, 4_096.0, 300.0, 2) for n in range(gpus))
    return Observation(lease_id, at, at - timedelta(seconds=15, milliseconds=123), uses, (HostUse(3.5),))


def stands(lease_id: str, at: datetime, verdict: Verdict = Verdict.BUSY, **changes: Any) -> Standing:
    """It worked in this tick if it is busy, and not at all otherwise."""
    worked = at if verdict is Verdict.BUSY else None
    track = Track("0", "i-0a", NOON, at, 7, worked)
    return Standing(lease_id, at, verdict, NOON, (track,), gpus=1, **changes)


def found(at: datetime, *leases: str, verdict: Verdict = Verdict.BUSY) -> list[tuple[Observation, Standing]]:
    return [(seen(one, at), stands(one, at, verdict)) for one in leases]


def test_nothing_is_on_record_at_first(ledger: SqlLedger) -> None:
    assert ledger.last_tick() is None
    assert ledger.last_report() is None
    assert ledger.standings() == ()
    assert ledger.standing(ONE) is None
    assert ledger.heard() == {}
    assert ledger.roll_up(NOON) == 0


def test_a_tick_comes_back_as_it_was(ledger: SqlLedger) -> None:
    pairs = found(NOON, ONE, TWO)
    report = MeterReport(NOON, sources=(SourceReport("prometheus", True, 2, last_good=NOON),), leases=2)
    assert ledger.meter(NOON, pairs, report)
    assert ledger.last_tick() == NOON
    assert ledger.last_report() == report
    assert ledger.standings() == tuple(standing for _, standing in pairs)
    assert list(ledger.observations(NOON, NOON + MINUTE)) == [observation for observation, _ in pairs]


def test_a_repeated_and_a_late_tick_change_nothing(ledger: SqlLedger) -> None:
    assert ledger.meter(NOON, found(NOON, ONE))
    assert not ledger.meter(NOON, found(NOON, ONE, TWO, verdict=Verdict.IDLE))
    assert not ledger.meter(NOON - MINUTE, found(NOON - MINUTE, TWO))
    assert [one.verdict for one in ledger.standings()] == [Verdict.BUSY]
    assert [one.lease_id for one in ledger.observations(NOON - MINUTE, NOON + MINUTE)] == [ONE]


def test_of_eight_that_store_a_tick_at_once_one_does(ledger: SqlLedger) -> None:
    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(lambda _: ledger.meter(NOON, found(NOON, ONE, TWO)), range(8)))
    assert sorted(stored) == [False] * 7 + [True]
    assert len(list(ledger.observations(NOON, NOON + MINUTE))) == 2


def test_a_tick_without_leases_is_on_record_too(ledger: SqlLedger) -> None:
    assert ledger.meter(NOON, [])
    assert ledger.last_tick() == NOON
    assert ledger.standings() == ()


def test_a_lease_that_is_metered_no_more_stands_where_it_stood(ledger: SqlLedger) -> None:
    ledger.meter(NOON, found(NOON, ONE, TWO))
    ledger.meter(NOON + MINUTE, found(NOON + MINUTE, TWO))
    assert ledger.standing(ONE) == stands(ONE, NOON)
    assert ledger.standing(TWO) == stands(TWO, NOON + MINUTE)
    assert [one.lease_id for one in ledger.standings()] == [TWO]


def test_a_row_that_cannot_be_read_is_left_out_and_spoils_no_other(ledger: SqlLedger, ledger_url: str) -> None:
    ledger.meter(NOON, found(NOON, ONE, TWO), MeterReport(NOON, leases=2))
    ledger.hear({ONE: Heard(stands(ONE, NOON), "t"), TWO: Heard(stands(TWO, NOON), "t")}, NOON)
    database = Database(ledger_url)
    with database.write() as connection:
        for column in ("observation", "standing"):
            connection.execute(text(f"UPDATE meter_readings SET {column} = '[1,' WHERE lease_id = '{ONE}'"))
        connection.execute(text(f"UPDATE meter_heard SET standing = '[]' WHERE lease_id = '{ONE}'"))
        connection.execute(text("UPDATE meter_ticks SET report = '{}'"))
    database.close()
    assert [one.lease_id for one in ledger.standings()] == [TWO]
    assert ledger.standing(ONE) is None
    assert list(ledger.heard()) == [TWO]
    assert [one.lease_id for one in ledger.observations(NOON, NOON + MINUTE)] == [TWO]
    assert ledger.last_report() == MeterReport(NOON)


def test_observations_are_of_a_half_open_span_of_one_lease_or_of_all_in_order_of_time(ledger: SqlLedger) -> None:
    for number in range(4):
        at = NOON + number * MINUTE
        ledger.meter(at, found(at, TWO, ONE))
    span = (NOON + MINUTE, NOON + 3 * MINUTE)
    assert [(one.at.minute, one.lease_id) for one in ledger.observations(*span)] == [
        (1, ONE),
        (1, TWO),
        (2, ONE),
        (2, TWO),
    ]
    assert [one.at.minute for one in ledger.observations(*span, TWO)] == [1, 2]


def test_hours_are_added_up_once_with_all_their_figures(ledger: SqlLedger) -> None:
    verdicts = {0: Verdict.BUSY, 1: Verdict.BUSY, 2: Verdict.IDLE, 3: Verdict.HELD, 4: Verdict.UNKNOWN}
    for number in range(60):
        at = NOON + (number + 1) * MINUTE
        verdict = verdicts.get(number, Verdict.BUSY)
        pair = (seen(ONE, at, util=float(number)), stands(ONE, at, verdict, missed=int(verdict is Verdict.UNKNOWN)))
        ledger.meter(at, [pair])
    assert ledger.roll_up(NOON + timedelta(minutes=59)) == 0
    assert ledger.roll_up(NOON + timedelta(hours=1)) == 1
    assert ledger.roll_up(NOON + timedelta(hours=1)) == 0
    assert ledger.usage(ONE, NOON, NOON + timedelta(hours=1)) == (
        HourUse(ONE, NOON, 60, 57, 2, 1, 57.0, 0.59, 59.0, 0.25, 300.0, 3.5),
    )


def test_hours_that_were_missed_are_added_up_later_each_by_itself(ledger: SqlLedger) -> None:
    for minutes in (5, 60, 61, 190):
        at = NOON + minutes * MINUTE
        ledger.meter(at, found(at, ONE))
    assert ledger.roll_up(NOON + timedelta(hours=9)) == 2
    assert [(one.hour.hour, one.ticks) for one in ledger.usage(ONE, NOON, NOON + timedelta(hours=9))] == [
        (12, 2),
        (13, 1),
    ]
    at = NOON + timedelta(hours=4)
    ledger.meter(at, found(at, ONE))
    assert ledger.roll_up(at) == 1
    assert [(one.hour.hour, one.ticks) for one in ledger.usage(ONE, NOON, at)] == [(12, 2), (13, 1), (15, 2)]


def test_what_is_unknown_is_unknown_in_the_sums(ledger: SqlLedger) -> None:
    at = NOON + timedelta(hours=1)
    blind = Observation(ONE, at, problems=("no samples",))
    ledger.meter(at, [(blind, Standing(ONE, at, Verdict.UNKNOWN, at, missed=1))])
    ledger.roll_up(at)
    assert ledger.usage(ONE, NOON, at) == (HourUse(ONE, NOON, 1, 0, 0, 1, 0.0),)


def test_only_what_is_added_up_is_forgotten_and_the_sums_stay(ledger: SqlLedger) -> None:
    for minutes in (30, 60, 90):
        at = NOON + minutes * MINUTE
        ledger.meter(at, found(at, ONE, TWO))
    assert ledger.forget_before(NOON + timedelta(days=30)) == 0
    ledger.roll_up(NOON + timedelta(hours=1))
    assert ledger.forget_before(NOON + timedelta(hours=1)) == 2
    assert [one.at.minute for one in ledger.observations(NOON, NOON + timedelta(hours=2), ONE)] == [0, 30]
    assert ledger.forget_before(NOON + timedelta(days=30)) == 2
    assert [one.ticks for one in ledger.usage(ONE, NOON, NOON + timedelta(hours=2))] == [2]
    assert ledger.last_tick() == NOON + 90 * MINUTE


def test_what_leases_have_heard_is_kept_and_taken_back(ledger: SqlLedger) -> None:
    first = Heard(stands(ONE, NOON, Verdict.IDLE, idle_gpus=1), "abc")
    ledger.hear({ONE: first, TWO: first}, NOON)
    later = Heard(stands(ONE, NOON + MINUTE, Verdict.UNKNOWN), "abd")
    ledger.hear({ONE: later, TWO: None}, NOON + MINUTE)
    assert ledger.heard() == {ONE: later}
    ledger.hear({}, NOON)
    assert ledger.heard() == {ONE: later}


times = st.timedeltas(timedelta(), timedelta(days=3_650)).map(lambda length: NOON + length)
figures = st.none() | st.floats(allow_nan=False, allow_infinity=False)
counts = st.none() | st.integers(0, 99)
uses = st.builds(GpuUse, st.text(max_size=5), st.text(max_size=20), st.booleans(), *[figures] * 6, processes=counts)


@given(st.builds(Observation, st.text(), times, st.none() | times, st.lists(uses, max_size=3).map(tuple)))
def test_any_observation_survives_packing(observation: Observation) -> None:
    packed = Packed(Observation)
    assert packed.load(packed.dump(observation)) == observation


@given(st.builds(Standing, st.text(), times, st.sampled_from(Verdict), times, active_at=st.none() | times))
def test_any_standing_survives_packing(standing: Standing) -> None:
    packed = Packed(Standing)
    whole = replace(standing, tracks=(Track("0/7", "i-ü", NOON, standing.at, 2**60 + 1),), faulty=("GPU 0",))
    assert packed.load(packed.dump(whole)) == whole


@given(st.builds(HostUse, *[figures] * 3, counts, counts, figures))
def test_any_host_survives_packing(host: HostUse) -> None:
    packed = Packed(HostUse)
    assert packed.load(packed.dump(host)) == host


def test_defaults_at_the_end_take_no_room() -> None:
    assert Packed(GpuUse).dump(GpuUse("0", util=3.0)) == '["0","",false,null,3.0]'
    assert Packed(Standing).dump(Standing(ONE, NOON, Verdict.IDLE, NOON)) == f'["{ONE}",1795867200,"idle",1795867200]'


def test_what_a_later_version_added_is_left_out() -> None:
    row = [*Packed(HostUse).row(HostUse(1.0, 2.0, 3.0, 4, 5, 6.0)), "", "news", {"of": "later"}]
    kept = len(fields(HostUse))
    assert Packed(HostUse).made(row) == HostUse(*row[:kept])


@pytest.mark.parametrize("kind", [Observation, Standing, Track, GpuUse, HostUse])
def test_every_packed_field_has_a_type_that_is_packed(kind: type) -> None:
    hints = get_type_hints(kind)
    assert set(hints) == {one.name for one in fields(kind)}
    Packed(kind)
