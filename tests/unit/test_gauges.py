"""What the meter shows of itself, as a scrape reads it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from prometheus_client import REGISTRY

from activities import gauges
from lessor.contracts import MeterReport, SourceReport

NOON = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


def shown(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def test_the_last_good_tick_of_each_source_stays_while_it_is_silent() -> None:
    fleet = SourceReport("fleet", True, 8, dropped=2, capped=1, last_good=NOON)
    later = NOON.replace(minute=5)
    gauges.show(MeterReport(NOON, sources=(fleet,), leases=3, verdicts={"busy": 2, "idle": 1}, told=("gpu-1",)))
    silent = SourceReport("fleet", False, problem="away", silent=1, last_good=NOON)
    gauges.show(MeterReport(later, sources=(silent,), leases=3, verdicts={"unknown": 3}))
    assert shown("lessor_meter_last_tick_timestamp_seconds") == later.timestamp()
    assert shown("lessor_meter_last_good_timestamp_seconds", source="fleet") == NOON.timestamp()
    assert shown("lessor_meter_silent_ticks", source="fleet") == 1
    assert shown("lessor_meter_leases", verdict="unknown") == 3
    assert shown("lessor_meter_leases", verdict="busy") is None


def test_samples_are_counted_once_however_often_a_tick_is_shown() -> None:
    report = MeterReport(NOON, sources=(SourceReport("twice", True, 8, dropped=2, capped=1, last_good=NOON),))
    gauges.show(report)
    gauges.show(replace(report, stored=False))
    assert shown("lessor_meter_samples_dropped_total", source="twice") == 2
    assert shown("lessor_meter_samples_capped_total", source="twice") == 1
