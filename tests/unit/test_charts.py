"""What charts show: percentages over time, gaps as gaps, and nothing that was not measured."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lessor.charts import BUSIEST, LEAST, MEMORY, POINTS_MOST, PROCESSOR, Figures, Frame, define, draw, figures
from lessor.domain.usage import GpuUse, HostUse, HourUse, Observation

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def seen(ago: float, *gpus: GpuUse, cpu: float | None = None) -> Observation:
    at = NOW - ago * MINUTE
    return Observation("gpu-7k3qxa2m", at, at, gpus, (HostUse(cpu=cpu),))


def shown(*observations: Observation, hours: tuple[HourUse, ...] = (), **changes: Any) -> Figures:
    frame = Frame("gpu-7k3qxa2m", NOW - 6 * HOUR, NOW, **changes)
    return figures(frame, observations, hours)


def line(found: Figures, series: str) -> list[float | None]:
    return [one["percent"] for one in found["points"] if one["series"] == series]


def test_the_engine_counts_before_utilisation_and_a_slices_utilisation_never() -> None:
    found = shown(
        seen(30, GpuUse("0", engine=0.5, util=99.0)),
        seen(20, GpuUse("0", util=40.0)),
        seen(10, GpuUse("0/1", slice=True, util=0.0)),
    )
    assert line(found, BUSIEST) == [50.0, 40.0, None]


def test_of_several_gpus_the_busiest_and_the_least_busy_are_told_apart() -> None:
    gpus = [GpuUse(str(n), engine=0.0, memory_used=8.0, memory_total=80.0) for n in range(7)]
    found = shown(seen(10, GpuUse("7", engine=1.0), *gpus, cpu=12.0), seen(5, GpuUse("7", engine=1.0), GpuUse("0")))
    assert line(found, BUSIEST) == [100.0, 100.0]
    assert line(found, LEAST) == [0.0, None]
    assert line(found, MEMORY) == [10.0, None]
    assert line(found, PROCESSOR) == [12.0, None]


@pytest.mark.parametrize(("length", "ticks"), [(0.1, "%H:%M:%S"), (1, "%H:%M"), (24, "%H:%M"), (25, "%a %d %H:%M")])
def test_times_on_the_axis_are_told_apart(length: float, ticks: str) -> None:
    found = figures(Frame("gpu-7k3qxa2m", NOW - length * HOUR, NOW), [])
    assert define(found)["layer"][0]["encoding"]["x"]["axis"]["format"] == ticks


def test_one_gpu_has_no_least_busy_one() -> None:
    assert line(shown(seen(10, GpuUse("0", engine=0.1))), LEAST) == []


def test_the_legend_names_the_lines_that_there_are_and_calls_an_only_gpu_just_that() -> None:
    def named(*observations: Observation) -> list[str]:
        drawn = draw(shown(*observations), "svg").decode()
        return [name for name in ("GPU", BUSIEST, LEAST, MEMORY, PROCESSOR) if f">{name}</text>" in drawn]

    one = (seen(60, GpuUse("0", engine=0.2)), seen(59, GpuUse("0")), seen(9, GpuUse("0"), cpu=3.0))
    assert named(*one) == ["GPU", PROCESSOR]
    assert named(seen(10, GpuUse("0", engine=0.2), GpuUse("1", engine=0.1))) == [BUSIEST, LEAST]
    assert named(seen(10, GpuUse("0", engine=0.2), GpuUse("1"))) == [BUSIEST]


@pytest.mark.parametrize(
    ("limit", "name"), [(2.0, "works above 2 %"), (0.5, "works above 0.5 %"), (None, "works above")]
)
def test_the_line_between_work_and_none_says_what_it_is(limit: float | None, name: str) -> None:
    drawn = draw(shown(seen(10, GpuUse("0", engine=0.2)), limit=limit), "svg").decode()
    assert (name in drawn) is (limit is not None)


def test_a_gap_is_a_point_without_a_value() -> None:
    found = shown(*(seen(ago, GpuUse("0", engine=0.2)) for ago in (60, 59, 58, 57, 30, 29, 28)))
    assert line(found, BUSIEST) == [20.0, 20.0, None, 20.0, 20.0]
    gap = next(one for one in found["points"] if one["percent"] is None and one["series"] == BUSIEST)
    assert gap["at"] == _ms(NOW - 56 * MINUTE)


def test_many_samples_keep_the_highest_of_each_stretch() -> None:
    found = shown(*(seen(n / 10, GpuUse("0", engine=1.0 if n == 1_777 else 0.0)) for n in range(3_599)))
    points = line(found, BUSIEST)
    assert len(points) <= POINTS_MOST + 1
    assert (max(one or 0 for one in points), points.count(100.0)) == (100.0, 1)
    assert len(json.dumps(found)) < 100_000


def test_hours_are_shown_before_the_first_sample_and_unmeasured_ones_are_left_out() -> None:
    hours = (
        HourUse("x", NOW - 6 * HOUR, 60, peak_engine=0.8),
        HourUse("x", NOW - 5 * HOUR, 60, peak_util=33.0),
        HourUse("x", NOW - 4 * HOUR, 60),
        HourUse("x", NOW - 1 * HOUR, 60, peak_engine=0.1),
    )
    found = shown(seen(90, GpuUse("0", engine=0.2)), hours=hours)
    assert [one["percent"] for one in found["hours"]] == [80.0, 33.0]
    assert found["subtitle"] == "bars: the most in each hour"


def test_times_are_those_of_the_readers_clock() -> None:
    found = shown(seen(10, GpuUse("0", engine=0.2)), zone="Asia/Tokyo", idle_since=NOW - HOUR)
    assert found["end"] == _ms(datetime(2026, 11, 28, 19, 0, tzinfo=UTC))
    assert found["axis"] == "time in Asia/Tokyo"
    assert found["subtitle"] == "idle since Saturday 28 November 18:00"
    assert found["idle"] == [{"at": _ms(datetime(2026, 11, 28, 18, 0, tzinfo=UTC)), "until": found["end"]}]


def test_what_began_before_the_chart_is_shaded_from_its_beginning() -> None:
    found = shown(idle_since=NOW - 10 * HOUR)
    assert found["idle"] == [{"at": found["begin"], "until": found["end"]}]


def test_the_definition_refers_to_nothing_outside_and_is_what_is_drawn() -> None:
    found = shown(seen(10, GpuUse("0", engine=0.2)), idle_since=NOW - HOUR, limit=2.0)
    definition = define(found)
    assert "url" not in json.dumps(definition).replace("$schema", "")
    assert json.loads(draw(found, "json")) == definition
    assert draw(found, "png").startswith(b"\x89PNG\r\n\x1a\n")
    svg = draw(found, "svg").decode()
    assert svg.startswith("<svg")
    assert "idle since Saturday 28 November 09:00" in svg


def test_what_people_typed_is_text_in_the_picture_and_nothing_else() -> None:
    frame = Frame("</text><script>alert(1)</script>", NOW - HOUR, NOW)
    assert "<script>" not in draw(figures(frame, ()), "svg").decode()


def test_without_a_chart_neither_library_is_loaded() -> None:
    code = "import bot.pictures, lessor.charts, lessor.drawing, sys; print({'altair', 'vl_convert'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@pytest.mark.parametrize("kind", ["png", "svg", "json"])
def test_with_nothing_measured_it_is_still_a_chart(kind: str) -> None:
    assert draw(shown(), kind)
