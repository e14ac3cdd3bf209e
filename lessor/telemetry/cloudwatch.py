"""The source of machines that no Prometheus reaches: CloudWatch, with what its agent writes of each GPU.

What there is to read is listed (`ListMetrics`, kept for some minutes), then asked for by name, 500 figures to a call.
A search expression would need no list, but gives the first 500 series of a fleet and is silent about the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from lessor.domain.usage import Reading, Subject
from lessor.providers.aws.errors import ACCESS, AGAIN, CLOCK, IDENTITY
from lessor.refusals import PermanentError, TelemetryError
from lessor.telemetry.figures import UTILISATION, Card, Figure, Figures, Points, cards, wanted

AT_ONCE = 500
"""The most figures that one `GetMetricData` answers."""
CALLS = 8
KEPT = timedelta(minutes=10)
"""How long a list of what there is to read holds: CloudWatch itself lists new metrics only after some minutes."""
AHEAD = timedelta(hours=2)
"""How far in the future CloudWatch takes figures."""
NAMESPACE = "CWAgent"
TIMEOUT, LATE = timedelta(seconds=5), timedelta(minutes=3)

Clients = Mapping[str, Callable[[], Any]]
T = TypeVar("T")


class CloudWatchSource:
    """The CloudWatch of one account in its regions. A `Telemetry`: as few calls as 500 figures each allow."""

    def __init__(
        self,
        name: str,
        clients: Clients,
        *,
        namespace: str = NAMESPACE,
        timeout: timedelta = TIMEOUT,
        late: timedelta = LATE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clients` gives by region the client of the service; `late` is how late a figure may come."""
        self.name = name
        self._clients = clients
        self._namespace = namespace
        self._seconds = timeout.total_seconds()
        self._late = late
        self._clock = clock
        self._lock = threading.Lock()
        self._listed: dict[str, tuple[float, tuple[Card, ...]]] = {}

    def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Reading:
        """What was measured in (at - length, at]; see `Telemetry.read`."""
        until = time.monotonic() + self._seconds
        pool = ThreadPoolExecutor(CALLS, thread_name_prefix="cloudwatch")
        try:
            listed = self._all(pool, [partial(self._cards, region) for region in self._clients], until)
            machines = {machine for subject in only for machine in subject.machines}
            found = [card for part in listed for card in part if not only or card.machine in machines]
            figures = Figures(at, length, self._late, datetime.fromtimestamp(self._clock(), UTC))
            batches = _batches(wanted(found, self._namespace))
            for answered in self._all(pool, [partial(self._ask, batch, figures) for batch in batches], until):
                for figure, points in answered:
                    figures.add(figure, points)
            return figures.reading(self.name)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _all(self, pool: ThreadPoolExecutor, calls: Sequence[Callable[[], T]], until: float) -> list[T]:
        """What all the calls answered: one that failed, or is not there in time, spoils the whole answer."""
        futures: list[Future[T]] = [pool.submit(call) for call in calls]
        _, missing = wait(futures, timeout=max(until - time.monotonic(), 0.0))
        if missing:
            late = f"gave no whole answer within {self._seconds:g} s; raise its `timeout`, or split its place"
            raise self._failed(late)
        return [future.result() for future in futures]

    def _cards(self, region: str) -> tuple[Card, ...]:
        with self._lock:
            since, known = self._listed.get(region, (-KEPT.total_seconds(), ()))
        if known and self._clock() - since < KEPT.total_seconds():
            return known
        listed: list[dict[str, Any]] = []
        try:
            pages = self._clients[region]().get_paginator("list_metrics")
            named = {"Namespace": self._namespace, "MetricName": UTILISATION, "RecentlyActive": "PT3H"}
            for page in pages.paginate(**named):
                listed += page.get("Metrics", ())
        except (ClientError, BotoCoreError) as error:
            raise self._refused(error, region) from None
        except PermanentError as error:
            raise self._failed(f"cannot be asked: {error}") from None
        found = cards(region, listed)
        with self._lock:
            self._listed[region] = (self._clock(), found)
        return found

    def _ask(self, batch: Sequence[Figure], figures: Figures) -> list[tuple[Figure, Points]]:
        """The figures of one call, over all its pages."""
        points: list[Points] = [{} for _ in batch]
        state = ["" for _ in batch]
        region = batch[0].region
        asked: dict[str, Any] = {
            "MetricDataQueries": [figure.query(number) for number, figure in enumerate(batch)],
            "StartTime": figures.start.replace(second=0, microsecond=0),
            "EndTime": figures.now + AHEAD,
        }
        try:
            for page in self._clients[region]().get_paginator("get_metric_data").paginate(**asked):
                if page.get("Messages"):
                    raise self._failed(f"answered only in part in {region} ({page['Messages'][0].get('Code', '')})")
                for result in page["MetricDataResults"]:
                    number = int(result["Id"][1:])
                    state[number] = result.get("StatusCode", "Complete")
                    points[number].update(zip(result["Timestamps"], result["Values"], strict=True))
        except (ClientError, BotoCoreError) as error:
            raise self._refused(error, region) from None
        except PermanentError as error:
            raise self._failed(f"cannot be asked: {error}") from None
        except (LookupError, TypeError, ValueError):
            raise self._failed(
                f"gave figures that cannot be read in {region}; check that nothing else answers"
            ) from None
        bad = next((one for one in state if one != "Complete"), None)
        if bad is not None:
            raise self._failed(f"answered only in part in {region} ({bad or 'a figure is missing'}); it is asked again")
        return list(zip(batch, points, strict=True))

    def _refused(self, error: ClientError | BotoCoreError, region: str) -> TelemetryError:
        if not isinstance(error, ClientError):
            return self._failed(
                f"cannot be reached in {region} ({type(error).__name__}); check network, region and credentials"
            )
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in ACCESS:
            return self._failed(f"may not be read in {region} ({code}); give lessor's role the policy in deploy/aws")
        if code in CLOCK or code in IDENTITY:
            return self._failed(f"does not accept our clock or credentials in {region} ({code}); check both")
        if code in AGAIN or "throttl" in code.lower():
            return self._failed(f"asked to come back later in {region} ({code}); raise its quota")
        return self._failed(f"failed in {region} ({code}); see the AWS Health Dashboard")

    def _failed(self, what: str) -> TelemetryError:
        return TelemetryError(f"telemetry source '{self.name}' {what}")


def _batches(figures: Iterable[Figure]) -> list[list[Figure]]:
    """By region, as many at once as one call takes."""
    by_region: dict[str, list[Figure]] = {}
    for figure in figures:
        by_region.setdefault(figure.region, []).append(figure)
    return [all_[begin : begin + AT_ONCE] for all_ in by_region.values() for begin in range(0, len(all_), AT_ONCE)]
