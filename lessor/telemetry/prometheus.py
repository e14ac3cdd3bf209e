"""The source that most fleets have: Prometheus, or what speaks its API, with DCGM's metrics of every GPU."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from lessor.domain.usage import Reading, Subject
from lessor.refusals import TelemetryError
from lessor.telemetry.asking import Asker, Credentials
from lessor.telemetry.promql import Metrics, expression
from lessor.telemetry.samples import Samples
from lessor.telemetry.trust import SKEW

TIMEOUT = timedelta(seconds=5)
SHOWN = 300


class PrometheusSource:
    """One Prometheus. A `Telemetry`: every call is one query, whatever the size of the fleet."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        metrics: Metrics | None = None,
        credentials: Callable[[], Credentials] = Credentials,
        ca_file: str = "",
        headers: Mapping[str, str] | None = None,
        timeout: timedelta = TIMEOUT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`url` is the address up to and without `/api/v1`; `headers` go with every query, such as a tenant's.

        `credentials` are looked up for every query.
        """
        self.name = name
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._metrics = metrics or Metrics()
        self._asker = Asker(name, credentials, ca_file, headers or {})
        self._seconds = timeout.total_seconds()
        self._clock = clock

    def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Reading:
        """What was measured in (at - length, at]; see `Telemetry.read`. An empty store gives an empty reading."""
        now = self._clock()
        form = {
            "query": expression(self._metrics, length, now, only),
            "time": f"{at.timestamp():.3f}",
            "timeout": f"{max(int(self._seconds * 1000), 1)}ms",
        }
        with _collector_off():
            answer = self._asker.ask(self._url, form, self._seconds)
            self._check_clock(answer.said_at, now, self._clock())
            samples = Samples(self._metrics.labels, self._metrics.host)
            try:
                for series in self._series(answer.document):
                    samples.add(series["metric"], float(series["value"][1]))
                return samples.reading(self.name, at, length)
            except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError):
                raise self._failed("has series that cannot be read; check that its url is Prometheus'") from None

    def _series(self, document: dict[str, Any]) -> list[dict[str, Any]]:
        """The series of a whole answer."""
        if document.get("status") != "success":
            said = " ".join(str(document.get("error", "no reason")).split())[:SHOWN]
            raise self._failed(f"could not answer: {said}")
        if document.get("warnings"):
            said = " ".join(str(document["warnings"]).split())[:SHOWN]
            raise self._failed(f"answered only in part: {said}; see which of its stores is missing")
        data = document["data"]
        if data["resultType"] != "vector":
            raise self._failed("answered with something other than a vector; check that its url is Prometheus'")
        found: list[dict[str, Any]] = data["result"]
        return found

    def _check_clock(self, said_at: datetime | None, asked: float, now: float) -> None:
        """Its clock and ours have to agree, whenever between question and answer it looked at its own."""
        if said_at is None:
            return
        said = said_at.timestamp()
        apart = said - min(max(said, asked), now)
        if abs(apart) > SKEW.total_seconds():
            way = "ahead of" if apart > 0 else "behind"
            at = datetime.fromtimestamp(now, UTC).strftime("%H:%M:%S UTC")
            raise self._failed(f"has a clock {abs(apart):.0f} s {way} ours ({at}); set both by NTP")

    def _failed(self, what: str) -> TelemetryError:
        return TelemetryError(f"telemetry source '{self.name}' {what}")


@contextmanager
def _collector_off() -> Iterator[None]:
    """Without the search for cycles, of which an answer has none: over a large one it takes longer than the rest."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
