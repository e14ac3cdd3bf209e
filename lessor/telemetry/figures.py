"""Which figures of CloudWatch tell what a GPU and its machine do, and how they become what was seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Seen
from lessor.telemetry.ranges import Ranges
from lessor.telemetry.trust import SKEW, WHOLE, unlabelled

UTILISATION = "nvidia_smi_utilization_gpu"
GPU_FIGURES = {
    "util": UTILISATION,
    "used": "nvidia_smi_memory_used",
    "total": "nvidia_smi_memory_total",
    "power": "nvidia_smi_power_draw",
}
"""By signal, what the agent calls it: percent, MiB, MiB, watts."""
HOST_FIGURES = {
    "cpu": ("CPUUtilization", "Maximum"),
    "received": ("NetworkIn", "Sum"),
    "sent": ("NetworkOut", "Sum"),
    "read": ("EBSReadBytes", "Sum"),
    "written": ("EBSWriteBytes", "Sum"),
}
"""By signal, the figure of EC2 itself and its statistic: percent, then bytes in the period."""
GPU_PERIOD = timedelta(seconds=60)
HOST_PERIOD = timedelta(seconds=300)
"""What EC2 writes without detailed monitoring; the figure of a period comes when it is over."""

Points = dict[datetime, float]


@dataclass(frozen=True)
class Card:
    """One GPU as the agent names it: the dimensions of its figures, and what they say."""

    region: str
    dimensions: tuple[tuple[str, str], ...]
    machine: str
    node: str
    index: str


@dataclass(frozen=True)
class Figure:
    """One figure to ask for: of a card, or of the machine with this id."""

    region: str
    signal: str
    namespace: str
    metric: str
    statistic: str
    period: timedelta
    dimensions: tuple[tuple[str, str], ...]
    card: Card | None = None
    machine: str = ""

    def query(self, number: int) -> dict[str, Any]:
        """As `GetMetricData` wants it."""
        return {
            "Id": f"q{number}",
            "MetricStat": {
                "Metric": {
                    "Namespace": self.namespace,
                    "MetricName": self.metric,
                    "Dimensions": [{"Name": name, "Value": value} for name, value in self.dimensions],
                },
                "Period": int(self.period.total_seconds()),
                "Stat": self.statistic,
            },
        }


def cards(region: str, listed: Iterable[Mapping[str, Any]]) -> tuple[Card, ...]:
    """The GPUs among listed metrics. Where one is listed several times, as sums and parts, the most exact counts."""
    found: dict[tuple[str, str], Card] = {}
    for metric in listed:
        dimensions = tuple((str(one["Name"]), str(one["Value"])) for one in metric.get("Dimensions", ()))
        said = dict(dimensions)
        machine, node, index = said.get("InstanceId", ""), said.get("host", ""), said.get("index", "")
        if not index or not (machine or node):
            continue
        card = Card(region, dimensions, machine, node, index)
        known = found.setdefault((machine or node, index), card)
        if len(known.dimensions) < len(dimensions):
            found[machine or node, index] = card
    return tuple(found.values())


def wanted(cards: Iterable[Card], namespace: str) -> Iterator[Figure]:
    """Everything that is asked for these GPUs and for the machines that they are in."""
    machines: dict[str, str] = {}
    for card in cards:
        for signal, metric in GPU_FIGURES.items():
            yield Figure(card.region, signal, namespace, metric, "Maximum", GPU_PERIOD, card.dimensions, card=card)
        if card.machine:
            machines[card.machine] = card.region
    for machine, region in machines.items():
        by_id = (("InstanceId", machine),)
        for signal, (metric, statistic) in HOST_FIGURES.items():
            yield Figure(region, signal, "AWS/EC2", metric, statistic, HOST_PERIOD, by_id, machine=machine)


@dataclass
class Figures:
    """The figures of one tick, collected over all answers."""

    at: datetime
    length: timedelta
    late: timedelta
    now: datetime
    of_cards: defaultdict[Card, dict[str, Points]] = field(default_factory=lambda: defaultdict(dict))
    of_hosts: defaultdict[str, dict[str, Points]] = field(default_factory=lambda: defaultdict(dict))
    dropped: int = 0
    ranges: Ranges = field(default_factory=Ranges)

    @property
    def start(self) -> datetime:
        """From when on is asked: what is late is asked for again, for activity that came late must count."""
        return min(self.at - self.length - self.late, self.at - 2 * HOST_PERIOD)

    def add(self, figure: Figure, points: Points) -> None:
        """What one figure was."""
        if figure.card:
            self.of_cards[figure.card][figure.signal] = points
        else:
            self.of_hosts[figure.machine][figure.signal] = points

    def reading(self, source: str) -> Reading:
        """Everything that was seen; a GPU without a figure of its work, or with one from the future, is left out."""
        found = [self._card(card, signals) for card, signals in self.of_cards.items()]
        found += [self._host(machine, signals) for machine, signals in self.of_hosts.items()]
        seen = tuple(filter(None, found))
        return Reading(source, self.at, seen, self.dropped, self.ranges.capped, unlabelled(seen))

    def _card(self, card: Card, signals: Mapping[str, Points]) -> Seen | None:
        ahead = sum(1 for points in signals.values() for moment in points if moment > self.now + SKEW)
        self.dropped += ahead
        since = self.at - self.length - self.late
        within = {
            signal: {moment: value for moment, value in points.items() if since <= moment < self.at}
            for signal, points in signals.items()
        }
        worked = within.get("util")
        if ahead or not worked:
            return None
        most = {signal: max(points.values()) for signal, points in within.items() if points}
        use = GpuUse(
            device=card.index,
            machine=card.machine or card.node,
            util=self.ranges.within("util", most["util"]),
            memory_used=self.ranges.within("used", most.get("used")),
            memory_total=self.ranges.within("total", most.get("total")),
            power=self.ranges.within("power", most.get("power")),
        )
        away = len(worked) < WHOLE * (self.length / GPU_PERIOD)
        return Seen(Origin(machine=card.machine, node=card.node), max(worked), gpu=use, restarted=away)

    def _host(self, machine: str, signals: Mapping[str, Points]) -> Seen | None:
        within = {
            signal: {moment: value for moment, value in points.items() if self.start <= moment < self.at}
            for signal, points in signals.items()
        }
        moments = [moment for points in within.values() for moment in points]
        if not moments:
            return None
        cpu = within.get("cpu")
        use = HostUse(
            cpu=self.ranges.within("cpu", max(cpu.values())) if cpu else None,
            network=self.ranges.within("network", _rate(within, "received", "sent")),
            disk=self.ranges.within("disk", _rate(within, "read", "written")),
        )
        return Seen(Origin(machine=machine), min(max(moments) + HOST_PERIOD, self.at), host=use)


def _rate(within: Mapping[str, Points], one: str, other: str) -> float | None:
    """The most bytes a second, both ways together, that any of the periods had."""
    ways = [within[name] for name in (one, other) if within.get(name)]
    moments = {moment for points in ways for moment in points}
    if not moments:
        return None
    return max(sum(points.get(moment, 0.0) for points in ways) for moment in moments) / HOST_PERIOD.total_seconds()
