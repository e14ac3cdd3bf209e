"""`lessor usage ID --chart FILE`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.charts import BUSIEST
from lessor.domain.lease import Lease
from lessor.domain.usage import GpuUse, HourUse, Observation
from tests.builders import LEASE_ID, a_lease
from tests.cli.conftest import NOW, FakeGateway

Lessor = Callable[..., Result]
HOUR = timedelta(hours=1)
LEASE: Lease = replace(a_lease(), ready_at=NOW - 50 * HOUR)


@dataclass
class FakeMeter:
    """A GPU that was busy in one hour of the day before, and is idle now."""

    empty: bool = False

    async def seen(self, lease_id: str, since: datetime, until: datetime) -> tuple[Observation, ...]:
        found = (Observation(lease_id, NOW - n * HOUR / 2, NOW, (GpuUse("0", engine=0.0),)) for n in range(4, 0, -1))
        return () if self.empty else tuple(one for one in found if since <= one.at < until)

    async def usage(self, lease_id: str, since: datetime, until: datetime) -> tuple[HourUse, ...]:
        found = HourUse(lease_id, NOW - 40 * HOUR, 60, peak_engine=0.75)
        return () if self.empty or found.hour < since else (found,)


@pytest.fixture(autouse=True)
def meter(gateway: FakeGateway) -> FakeMeter:
    gateway.leases_ = {LEASE_ID: LEASE}
    made = FakeMeter()
    gateway.meter = made  # type: ignore[assignment]
    return made


@pytest.mark.parametrize(
    ("name", "start"), [("use.png", b"\x89PNG\r\n\x1a\n"), ("use.SVG", b"<svg"), ("use.json", b"{")]
)
def test_the_name_says_as_what_it_is_written(lessor: Lessor, tmp_path: Path, name: str, start: bytes) -> None:
    result = lessor("usage", LEASE_ID, "--chart", str(tmp_path / name))
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / name).read_bytes().startswith(start)
    assert result.stdout.strip().endswith(f"what {LEASE_ID} was seen doing in the last 24 hours")


def test_hours_before_the_samples_are_bars(lessor: Lessor, tmp_path: Path) -> None:
    target = tmp_path / "use.json"
    result = lessor("usage", LEASE_ID, "--hours", "48", "--chart", str(target), "--json")
    assert json.loads(result.stdout) == {
        "id": LEASE_ID,
        "file": str(target),
        "bytes": target.stat().st_size,
        "since": (NOW - 48 * HOUR).isoformat(),
    }
    values = json.loads(target.read_text())["datasets"].values()
    assert [one["percent"] for layer in values for one in layer if "until" in one and "percent" in one] == [75.0]
    assert [one["percent"] for layer in values for one in layer if one.get("series") == BUSIEST] == [0.0] * 4


def test_one_hour_is_not_hours(lessor: Lessor, tmp_path: Path, meter: FakeMeter) -> None:
    written = lessor("usage", LEASE_ID, "--hours", "1", "--chart", str(tmp_path / "use.json"))
    meter.empty = True
    refused = lessor("usage", LEASE_ID, "--hours", "1", "--chart", str(tmp_path / "use.json"))
    assert written.stdout.strip().endswith("was seen doing in the last hour")
    assert refused.stderr.strip().endswith("did in the last hour")


def test_the_chart_of_a_young_lease_begins_with_it(lessor: Lessor, gateway: FakeGateway, tmp_path: Path) -> None:
    ready = NOW - 3 * HOUR
    gateway.leases_ = {LEASE_ID: replace(LEASE, ready_at=ready)}
    target = tmp_path / "use.json"
    result = lessor("usage", LEASE_ID, "--chart", str(target), "--json")
    assert json.loads(result.stdout)["since"] == ready.isoformat()
    begin, end = json.loads(target.read_text())["layer"][-1]["encoding"]["x"]["scale"]["domain"]
    assert timedelta(milliseconds=end - begin) == 3 * HOUR


def test_what_cannot_be_drawn_is_refused_with_what_to_do(lessor: Lessor, tmp_path: Path, meter: FakeMeter) -> None:
    result = lessor("usage", LEASE_ID, "--chart", str(tmp_path / "use.pdf"))
    assert (result.exit_code, "use one of png, svg, json" in result.stderr) == (1, True)
    result = lessor("usage", LEASE_ID, "--chart", str(tmp_path / "no" / "use.json"))
    assert (result.exit_code, "cannot be written" in result.stderr) == (1, True)
    meter.empty = True
    result = lessor("usage", LEASE_ID, "--chart", str(tmp_path / "use.png"))
    assert (result.exit_code, "nothing is on record" in result.stderr) == (1, True)
    assert not (tmp_path / "use.png").exists()
