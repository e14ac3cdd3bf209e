"""What a lease did over time, as one Vega-Lite definition: pages show it as it is, Slack and files get it drawn.

Figures are made here without any library; the definition needs altair, drawing it vl-convert, and both are imported
only when they are used. The time axis shows the clock of the reader: instants are moved to it before, since Vega knows
UTC and its own machine's zone only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from lessor.domain.lease import Lease
from lessor.domain.usage import GpuUse, HourUse, Observation
from lessor.when.clock import zone_of

if TYPE_CHECKING:
    import altair

Figures = dict[str, Any]
"""JSON: `title`, `subtitle`, `axis`, `begin`, `end`, `ticks`, `points`, `hours`, `idle`, `limit`. See `figures`."""

KINDS = ("png", "svg", "json")
POINTS_MOST = 240
HOURS_MOST = 31 * 24
TITLE_MOST = 80
SCALE = 2.0
WIDTH, HEIGHT = 560, 160
GAP = 2.5
"""So many times the usual distance between two samples is a gap, which is drawn as one."""

BUSIEST, LEAST, MEMORY, PROCESSOR = "busiest GPU", "least busy GPU", "GPU memory", "processor"
_LOOKS = {
    BUSIEST: ("#0b6bcb", [1, 0]),
    LEAST: ("#6ea8e0", [2, 2]),
    MEMORY: ("#c2410c", [6, 2]),
    PROCESSOR: ("#4b5563", [1, 2]),
}
"""Colour and dashes of each line, so that they can be told apart without colours too."""

_LINE: dict[str, Any] = {"interpolate": "step-after", "strokeWidth": 1.6}
_NAME: dict[str, Any] = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "fontSize": 10, "color": "#4b5563"}

_DAY, _SHORT = timedelta(days=1), timedelta(minutes=10)


@dataclass(frozen=True)
class Frame:
    """What is shown: of which lease, from when to when, on which clock, and since when it does nothing.

    `limit` is the percentage above which a GPU works.
    """

    title: str
    begin: datetime
    end: datetime
    zone: str = "UTC"
    idle_since: datetime | None = None
    limit: float | None = None


def frame_of(lease: Lease, begin: datetime, end: datetime, zone: str) -> Frame:
    """What is shown of one lease, with since when it is idle and by which threshold, where it is."""
    ladder = lease.idle
    return Frame(
        title=f"{lease.id} ({lease.request.need})"[:TITLE_MOST],
        begin=begin,
        end=end,
        zone=zone,
        idle_since=ladder.evidence.since if ladder else None,
        limit=ladder.terms.engine * 100 if ladder else None,
    )


def figures(frame: Frame, observations: Iterable[Observation], hours: Sequence[HourUse] = ()) -> Figures:
    """Percentages over time. What was not measured is left out or `None`, never 0.

    Of many samples the highest in each stretch of time is kept; hours are shown where there are no samples.
    """
    seen = sorted((one for one in observations if frame.begin < one.at <= frame.end), key=lambda one: one.at)
    first = seen[0].at if seen else frame.end
    clock = _Clock(frame.zone)
    before = [one for one in hours if frame.begin <= one.hour < first][-HOURS_MOST:]
    bars = [bar for one in before if (bar := _bar(one, clock))]
    idle = frame.idle_since and max(frame.idle_since, frame.begin)
    return {
        "title": frame.title,
        "subtitle": _subtitle(frame, clock, bars),
        "axis": f"time in {frame.zone}",
        "begin": clock.at(frame.begin),
        "end": clock.at(frame.end),
        "ticks": _ticks(frame.end - frame.begin),
        "points": list(_points(seen, clock, frame)),
        "hours": bars,
        "idle": [{"at": clock.at(idle), "until": clock.at(frame.end)}] if idle and idle < frame.end else [],
        "limit": frame.limit,
    }


def define(shown: Figures) -> dict[str, Any]:
    """The Vega-Lite definition with its data in it; it refers to nothing outside."""
    import altair as alt

    reach = alt.Scale(type="utc", domain=[shown["begin"], shown["end"]])
    clock = alt.Axis(format=shown["ticks"], tickCount=8, labelOverlap=True)
    time = alt.X("at:T", title=shown["axis"], scale=reach, axis=clock)
    share = alt.Y("percent:Q", title="percent", scale=alt.Scale(domain=[0, 100]))
    layers = [
        _chart(shown["idle"]).mark_rect(color="#f59e0b", opacity=0.18).encode(x=time, x2="until:T"),
        _chart(shown["hours"])
        .mark_rect(color="#c9d3df", stroke="white")
        .encode(x=time, x2="until:T", y=share, y2=alt.Y2Datum(0)),
        _chart(_limit(shown)).mark_rule(color="#6b7280", strokeDash=[4, 4]).encode(y=share),
        _chart(_limit(shown)).mark_text(**_NAME).encode(x=time, y=share, text="name:N"),
        _chart(shown["points"])
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(time, share, *_legend(shown)),
    ]
    title = alt.TitleParams(text=shown["title"], subtitle=shown["subtitle"], anchor="start", fontSize=13)
    whole = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title, background="white")
    definition: dict[str, Any] = whole.to_dict()
    return definition


def draw(shown: Figures, kind: str) -> bytes:
    """The chart as `png`, as `svg`, or as the definition in `json`. Whatever goes wrong is raised as it comes."""
    definition = define(shown)
    if kind == "json":
        return json.dumps(definition, indent=2).encode()
    import vl_convert

    if kind == "svg":
        return vl_convert.vegalite_to_svg(definition, allowed_base_urls=[]).encode()
    return vl_convert.vegalite_to_png(definition, scale=SCALE, allowed_base_urls=[])


def percent(gpu: GpuUse) -> float | None:
    """How much one GPU worked: by its engine, and where that is not reported by its utilisation, a slice's never."""
    if gpu.engine is not None:
        return gpu.engine * 100
    return None if gpu.slice else gpu.util


class _Clock:
    """Instants as they stand on somebody's clock."""

    def __init__(self, zone: str) -> None:
        self._zone = zone_of(zone) or UTC

    def at(self, instant: datetime) -> int:
        """Milliseconds, as if that clock showed UTC."""
        there = instant.astimezone(self._zone)
        return int(there.replace(tzinfo=UTC).timestamp() * 1000)

    def spoken(self, instant: datetime) -> str:
        there = instant.astimezone(self._zone)
        return f"{there:%A} {there.day} {there:%B} {there:%H:%M}"


def _ticks(length: timedelta) -> str:
    """How times are written so that no two beside each other read the same."""
    if length > _DAY:
        return "%a %d %H:%M"
    return "%H:%M:%S" if length < _SHORT else "%H:%M"


def _subtitle(frame: Frame, clock: _Clock, bars: Sequence[dict[str, Any]]) -> str:
    idle = f"idle since {clock.spoken(frame.idle_since)}" if frame.idle_since else ""
    return ", ".join(filter(None, (idle, "bars: the most in each hour" if bars else "")))


def _points(seen: Sequence[Observation], clock: _Clock, frame: Frame) -> Iterator[dict[str, Any]]:
    """The lines, a gap as a point without a value."""
    if not seen:
        return
    steps = [(b.at - a.at).total_seconds() for a, b in pairwise(seen)]
    usual = median(steps) if steps else 0.0
    width = max((frame.end - frame.begin).total_seconds() / POINTS_MOST, usual)
    bucket: list[Observation] = []
    for one, step in zip(seen, [0.0, *steps], strict=True):
        apart = bool(bucket) and step > GAP * usual
        if bucket and (apart or (one.at - bucket[0].at).total_seconds() >= width):
            yield from _highest(bucket, clock)
            if apart:
                yield from _nothing(bucket, bucket[-1].at + timedelta(seconds=usual), clock)
            bucket = []
        bucket.append(one)
    if bucket:
        yield from _highest(bucket, clock)


def _highest(bucket: Sequence[Observation], clock: _Clock) -> Iterator[dict[str, Any]]:
    at = clock.at(bucket[0].at)
    measured = [_measured(one) for one in bucket]
    for series in _lines(measured):
        values = [one[series] for one in measured if one.get(series) is not None]
        yield {"at": at, "series": series, "percent": round(max(values), 1) if values else None}


def _nothing(bucket: Sequence[Observation], at: datetime, clock: _Clock) -> Iterator[dict[str, Any]]:
    for series in _lines([_measured(one) for one in bucket]):
        yield {"at": clock.at(at), "series": series, "percent": None}


def _lines(measured: Sequence[dict[str, Any]]) -> list[str]:
    """What there is a line of, known or not."""
    return [series for series in _LOOKS if any(series in one for one in measured)]


def _measured(one: Observation) -> dict[str, Any]:
    """Each line's value in one tick; the least busy GPU only where there are several, and all of them are known."""
    busy = [percent(gpu) for gpu in one.gpus]
    known = [value for value in busy if value is not None]
    full = [g.memory_used / g.memory_total * 100 for g in one.gpus if g.memory_used is not None and g.memory_total]
    cpu = [host.cpu for host in one.hosts if host.cpu is not None]
    found = {BUSIEST: max(known, default=None), MEMORY: max(full, default=None), PROCESSOR: max(cpu, default=None)}
    if len(busy) > 1:
        found[LEAST] = min(known) if len(known) == len(busy) else None
    return found


def _bar(one: HourUse, clock: _Clock) -> dict[str, Any] | None:
    """The most in one hour; nothing for an hour in which nothing was measured."""
    most = one.peak_engine * 100 if one.peak_engine is not None else one.peak_util
    if most is None:
        return None
    hour = timedelta(hours=1)
    return {"at": clock.at(one.hour), "until": clock.at(one.hour + hour), "percent": round(most, 1)}


def _limit(shown: Figures) -> list[dict[str, Any]]:
    """The line that separates work from none, with its name at the left."""
    limit = shown["limit"]
    return [] if limit is None else [{"at": shown["begin"], "percent": limit, "name": f"works above {limit:.3g} %"}]


def _chart(values: list[dict[str, Any]]) -> altair.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=values))


def _legend(shown: Figures) -> tuple[Any, Any]:
    """The lines that there are. A GPU that is the only one is not called the busiest."""
    import altair as alt

    names, colours, dashes = list(_LOOKS), [c for c, _ in _LOOKS.values()], [d for _, d in _LOOKS.values()]
    several = any(one["series"] == LEAST for one in shown["points"])
    known = {one["series"] for one in shown["points"] if one["percent"] is not None}
    called = "datum.label" if several else f"datum.label == '{BUSIEST}' ? 'GPU' : datum.label"
    legend = alt.Legend(
        title=None,
        orient="bottom",
        symbolType="stroke",
        symbolSize=300,
        values=[name for name in names if name in known],
        labelExpr=called,
    )
    # With nothing in it a legend has no size, and nothing can be drawn.
    shown_as = legend if known else None
    return (
        alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=shown_as),
        alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), legend=shown_as),
    )
