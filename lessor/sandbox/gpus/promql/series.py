"""Samples by series and time, as a Prometheus keeps them: in milliseconds, with a mark where a series ends."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lessor.sandbox.gpus.promql.tree import Matcher

NAME = "__name__"
LOOKBACK = 300_000
"""How old the latest sample may be for an instant."""


@dataclass
class Series:
    """One series; a value of None says that it ended there, until the next."""

    labels: dict[str, str]
    times: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def at(self, now: int) -> tuple[int, float] | None:
        """The latest sample within the look-back, unless the series has ended since."""
        index = bisect_right(self.times, now) - 1
        if index < 0 or self.times[index] <= now - LOOKBACK:
            return None
        value = self.values[index]
        return None if value is None else (self.times[index], value)

    def between(self, first: int, last: int) -> list[tuple[int, float]]:
        """Samples in [first, last]: a range of Prometheus 2 has both its ends."""
        span = range(bisect_left(self.times, first), bisect_right(self.times, last))
        return [(self.times[index], value) for index in span if (value := self.values[index]) is not None]

    def add(self, at: int, value: float | None) -> None:
        """Samples of one series come in order; one that comes late is dropped, as Prometheus drops it."""
        if not self.times or at > self.times[-1]:
            self.times.append(at)
            self.values.append(value)

    def forget(self, before: int) -> None:
        count = bisect_left(self.times, before)
        del self.times[:count], self.values[:count]


class Database:
    """All series, found by the name of their metric first."""

    def __init__(self, kept: int = 900_000) -> None:
        self._kept = kept
        self._series: dict[str, dict[frozenset[tuple[str, str]], Series]] = {}
        self._alive: set[tuple[str, frozenset[tuple[str, str]]]] = set()

    def scrape(self, samples: Iterable[tuple[Mapping[str, str], float, int]], at: int) -> None:
        """Take what all targets said at one time; whatever was there before and is not any more has ended."""
        seen: set[tuple[str, frozenset[tuple[str, str]]]] = set()
        for labels, value, stamp in samples:
            key = (labels[NAME], frozenset(labels.items()))
            of_name = self._series.setdefault(key[0], {})
            of_name.setdefault(key[1], Series(dict(labels))).add(stamp, value)
            seen.add(key)
        for name, labels_of in self._alive - seen:
            self._series[name][labels_of].add(at, None)
        self._alive = seen
        self._forget(at - self._kept)

    def select(self, matchers: Iterable[Matcher]) -> list[Series]:
        """Series of which every matcher holds."""
        matchers = list(matchers)
        exact = next((one.value for one in matchers if (one.label, one.op) == (NAME, "=")), None)
        groups = self._series.values() if exact is None else [self._series.get(exact, {})]
        return [one for group in groups for one in group.values() if all(m.holds(one.labels) for m in matchers)]

    def _forget(self, before: int) -> None:
        for group in self._series.values():
            for key, one in list(group.items()):
                one.forget(before)
                if not one.times:
                    del group[key]
