"""A changed lessor.yaml is in force within seconds; a bad one changes nothing and administrators hear of it once."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from temporalio.client import Client

from lessor.config import Config, ConfigError
from lessor.contracts import Alarm, Delivery, PageInput
from lessor.domain.case import Case
from lessor.domain.policy import Outcome
from lessor.reload import LiveConfig, LiveDirectory, Trouble, keep_current
from lessor.settings import read_settings
from lessor.wiring import build_gateway, judge, open_parts
from tests.builders import REQUESTER, a_quote, a_request, usd
from tests.config.sample import VALID, changed

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
BAD = changed("quote.total > 2000", "quote.totl > 2000")
ERROR = (
    "lessor.yaml:28: policy.rules[1].when: unknown fact 'quote.totl'; did you mean 'quote.total'?; quote has: known, "
    "hourly, total, market_hourly, currency (column 1)"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lessor.yaml"
    path.write_text(VALID)
    return path


def look_twice(live: LiveConfig) -> list[Trouble]:
    return [trouble for trouble in (live.look(), live.look()) if trouble]


def test_a_change_reaches_everything_that_asks(file: Path) -> None:
    live = LiveConfig.read(file)
    judging, directory, terms = judge(live), LiveDirectory(live), live.derived(Config.terms)
    case = Case(a_request(team="research"), a_quote(usd("1")), REQUESTER, NOW)
    before = live.config
    assert (judging(case).outcome, before.quota_plan.ceilings[0].gpus) == (Outcome.APPROVE, 16)
    assert (terms().grace.days, asyncio.run(directory.person("new@example.com"))) == (7, None)

    text = VALID.replace("quote.total <= 50", "quote.total <= 1").replace("{all: 16,", "{all: 9,")
    text = text.replace("grace: 7d", "grace: 3d").replace(
        "{id: U0ADMIN,", "{id: U0NEW, email: new@example.com}\n    - {id: U0ADMIN,"
    )
    file.write_text(text)
    assert live.look() is None
    assert (judging(case).outcome, live.config.quota_plan.ceilings[0].gpus) == (Outcome.REQUIRE, 9)
    person = asyncio.run(directory.person("new@example.com"))
    assert (terms().grace.days, person.id if person else "") == (3, "U0NEW")
    assert live.config.version != before.version


async def test_a_change_reaches_those_who_ask_in_a_running_program(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSOR_DATABASE_URL", f"sqlite:///{tmp_path}/ledger.db")
    monkeypatch.setenv("LESSOR_CONFIG", str(file))
    live = LiveConfig.read(file)
    parts = open_parts(read_settings(), live)
    gateway = build_gateway(parts, cast(Client, None))
    write = file.write_text
    before = await gateway.choices("U0REQUESTER")
    assert ([team.key for team in before.teams], before.limits.max_gpus, before.limits.data) == (["research"], 64, ())
    text = changed("members: [U0REQUESTER], ", "").replace(
        "  groups:", "    other: {lead: U0ADMIN, members: [U0REQUESTER]}\n  groups:"
    )
    write(text.replace("lease:", "lease:\n  max_gpus: 4") + "security: {data: {open: {}, secret: {}}}\n")
    assert live.look() is None
    after = await gateway.choices("U0REQUESTER")
    assert ([team.key for team in after.teams], after.limits.max_gpus) == (["other"], 4)
    assert after.limits.data == ("open", "secret")
    assert parts.config is live.config
    parts.ledger.close()


def test_what_has_not_changed_is_neither_read_nor_made_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(file, ns=(0, time.time_ns() - 60_000_000_000))
    live = LiveConfig.read(file)
    made: list[Config] = []

    def make(config: Config) -> Config:
        made.append(config)
        return config

    current = live.derived(make)
    assert (live.look(), current(), current()) == (None, live.config, live.config)
    reads: list[Path] = []
    monkeypatch.setattr(Path, "read_bytes", reads.append)
    assert (live.look(), live.look(), reads, len(made)) == (None, None, [], 1)


def test_the_same_content_written_again_changes_nothing(file: Path) -> None:
    live = LiveConfig.read(file)
    before = live.config
    file.write_text(VALID)
    assert live.look() is None
    assert live.config is before


def test_a_file_of_the_same_size_written_within_a_tick_of_the_clock_is_seen(file: Path) -> None:
    live = LiveConfig.read(file)
    seen = file.stat()
    live.look()
    file.write_text(changed("grace: 7d", "grace: 6d"))
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    live.look()
    assert live.config.lease.grace.days == 6


def test_a_bad_file_keeps_the_old_one_and_is_told_once(file: Path) -> None:
    live = LiveConfig.read(file)
    before = live.config
    file.write_text(BAD)
    assert live.look() is None  # it may be half written
    trouble = live.look()
    assert trouble is not None
    assert (trouble.file, trouble.error) == ("lessor.yaml", ERROR)
    assert (look_twice(live), live.config) == ([], before)
    page = trouble.page
    assert (page.alarm, page.subject) == (Alarm.CONFIGURATION, f"lessor.yaml {trouble.digest[:8]}")
    assert page.problem == (
        "lessor.yaml was changed and cannot be used, so everything goes on with the one before. Put it right, and it "
        f"is taken up within seconds; `lessor config check` says the same:\n{ERROR}"
    )


def test_another_bad_file_is_told_too_and_a_good_one_is_taken_up(file: Path) -> None:
    live = LiveConfig.read(file)
    file.write_text(BAD)
    assert len(look_twice(live)) == 1
    file.write_text("a: [\n")
    assert [trouble.error.partition(":")[2][:3] for trouble in look_twice(live)] == ["2: "]
    file.write_text(changed("grace: 7d", "grace: 2d"))
    assert (look_twice(live), live.config.lease.grace.days) == ([], 2)
    file.write_text(BAD)
    assert len(look_twice(live)) == 1


def test_a_half_written_file_is_no_trouble(file: Path) -> None:
    live = LiveConfig.read(file)
    file.write_text(VALID[:300])
    assert live.look() is None
    file.write_text(changed("grace: 7d", "grace: 2d"))
    assert (look_twice(live), live.config.lease.grace.days) == ([], 2)


def test_a_file_that_vanishes_for_a_moment_is_no_trouble(file: Path) -> None:
    live = LiveConfig.read(file)
    file.unlink()
    assert live.look() is None
    file.write_text(VALID)
    assert look_twice(live) == []
    file.unlink()
    (trouble,) = look_twice(live)
    assert trouble.error == "lessor.yaml: cannot be read: No such file or directory; put it back"
    assert (look_twice(live), live.config.lease.grace.days) == ([], 7)


def test_an_unreadable_text_is_told(file: Path) -> None:
    live = LiveConfig.read(file)
    file.write_bytes(VALID.encode() + b"\xff\n")
    assert [one.error for one in look_twice(live)] == ["lessor.yaml:30: is not UTF-8 text; save the file as UTF-8"]


def test_places_are_those_of_the_start_with_what_is_said_of_them_now(file: Path) -> None:
    live = LiveConfig.read(file)
    file.write_text(
        changed(
            "    zones: [us-east-1a]",
            "    zones: [us-east-1b]\n    residency: us\n  - name: other\n    regions: [eu-west-1]",
        )
    )
    live.look()
    (place,) = live.config.places
    assert (place.name, place.zones, place.residency) == ("research-us", ("us-east-1a",), "us")


def test_telemetry_is_that_of_the_start_except_how_long_it_is_kept(file: Path) -> None:
    """The schedule of the meter is made at the start: who looks by another clock would find it dead."""
    source = "telemetry: {every: 5min, prometheus: [{name: fleet, url: 'http://127.0.0.1:9090'}]}\n"
    file.write_text(VALID + source)
    live = LiveConfig.read(file)
    file.write_text(VALID + source.replace("5min", "1min, keep: 3d").replace("fleet", "other"))
    assert live.look() is None
    told = live.config.telemetry
    assert (told.every, told.sources, told.keep) == (timedelta(minutes=5), ("fleet",), timedelta(days=3))
    file.write_text(VALID)
    assert live.look() is None
    assert live.config.metering == timedelta(minutes=5)


def test_a_program_does_not_start_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"lessor\.yaml: does not exist"):
        LiveConfig.read(tmp_path / "lessor.yaml")


async def test_administrators_are_told_until_somebody_was_reached(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = LiveConfig.read(file)
    told: list[PageInput] = []
    reached = asyncio.Event()

    write = file.write_text

    async def tell(page: PageInput) -> Delivery:
        told.append(page)
        if len(told) == 1:
            raise ConnectionError("no way to them")
        if len(told) == 3:
            write(changed("grace: 7d", "grace: 1d"))
        return Delivery(len(told) == 3)

    def look() -> Trouble | None:
        found = LiveConfig.look(live)
        if live.config.lease.grace.days == 1:
            loop.call_soon_threadsafe(reached.set)
        return found

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(live, "look", look)
    keeping = asyncio.ensure_future(keep_current(live, tell, every=0.001, again=0.002))
    write(BAD)
    await asyncio.wait_for(reached.wait(), 60)
    keeping.cancel()
    assert len(told) == 3
    assert {page.alarm for page in told} == {Alarm.CONFIGURATION}
