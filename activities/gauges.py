"""What the meter shows of itself: when each source was last heard, so that its silence is seen on any dashboard."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from lessor.contracts import MeterReport

TICK = Gauge("lessor_meter_last_tick_timestamp_seconds", "The latest tick of the meter that is on record")
SOURCE = Gauge("lessor_meter_last_good_timestamp_seconds", "The latest tick that a source answered", ["source"])
SILENT = Gauge("lessor_meter_silent_ticks", "Ticks in a row without an answer of a source", ["source"])
SERIES = Gauge("lessor_meter_series", "GPUs and machines that a source told of in the latest tick", ["source"])
DROPPED = Counter("lessor_meter_samples_dropped", "Samples from the future that were not believed", ["source"])
CAPPED = Counter("lessor_meter_samples_capped", "Values that were out of range", ["source"])
UNLABELLED = Gauge(
    "lessor_meter_unlabelled_share", "The share of a node's GPUs in use that nobody is named for", ["source", "node"]
)
LEASES = Gauge("lessor_meter_leases", "Leases by what they are judged to be doing", ["verdict"])
BRAKE = Gauge("lessor_meter_brake", "1 while nothing is stopped for being idle")
TOLD = Counter("lessor_meter_told", "Leases that were told of a changed verdict")
SECONDS = Histogram(
    "lessor_meter_tick_seconds", "How long a tick took", buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
)


def show(report: MeterReport) -> None:
    """Set the gauges to a tick; what was counted before is counted once more only where it was stored."""
    TICK.set(report.at.timestamp())
    UNLABELLED.clear()
    for source in report.sources:
        if source.last_good:
            SOURCE.labels(source.name).set(source.last_good.timestamp())
        SILENT.labels(source.name).set(source.silent)
        SERIES.labels(source.name).set(source.series)
        for node, share in source.unlabelled.items():
            UNLABELLED.labels(source.name, node).set(share)
        if report.stored:
            DROPPED.labels(source.name).inc(source.dropped)
            CAPPED.labels(source.name).inc(source.capped)
    LEASES.clear()
    for verdict, count in report.verdicts.items():
        LEASES.labels(verdict).set(count)
    BRAKE.set(bool(report.brake))
    TOLD.inc(len(report.told))
