"""Where it is read what GPUs do: `telemetry` in `lessor.yaml`, and what contradicts itself there."""

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from lessor.config.durations import Duration
from lessor.config.notifications import is_loopback
from lessor.config.problems import KeyPath
from lessor.config.section import Key, Section

METRIC_NAME = r"^([a-zA-Z_:][a-zA-Z0-9_:]*)?$"
LABEL_NAME = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
ENVIRONMENT_NAME = r"^([A-Z][A-Z0-9_]*)?$"
HEADER_NAME = r"^[A-Za-z0-9-]+$"
HEADER = r"^[ -~]*$"
HOUR = timedelta(hours=1)
SHORTEST, LONGEST = timedelta(seconds=1), timedelta(minutes=30)
SLOWEST = timedelta(minutes=5)
PATIENCE = timedelta(seconds=60)

MetricName = Annotated[str, Field(pattern=METRIC_NAME, max_length=200)]
LabelNames = Annotated[tuple[Annotated[str, Field(pattern=LABEL_NAME, max_length=100)], ...], Field(max_length=8)]
EnvironmentName = Annotated[str, Field(pattern=ENVIRONMENT_NAME, max_length=100)]
HeaderName = Annotated[str, Field(pattern=HEADER_NAME, max_length=100)]
Header = Annotated[str, Field(pattern=HEADER, max_length=400)]


class LabelsConfig(Section):
    """Which labels say whose a series is: of each list the first that a series has counts."""

    lease: LabelNames = ("lessor_lease",)
    """The lease's id, as a relabelling puts it there from the tag lessor:lease."""
    machine: LabelNames = ("instance_id",)
    """The provider's id of the machine, such as an EC2 instance's."""
    node: LabelNames = ("Hostname", "node")
    """The name of the host."""
    namespace: LabelNames = ("exported_namespace", "namespace")
    """The Kubernetes namespace of the pod that uses the GPU."""
    pod: LabelNames = ("exported_pod", "pod")
    """The pod that uses the GPU."""
    exporters: Annotated[tuple[Annotated[str, Field(min_length=3, max_length=100)], ...], Field(max_length=20)] = (
        "dcgm-exporter",
    )
    """What the names of the exporters' own pods contain: such a pod uses no GPU."""


class MetricsConfig(Section):
    """What the signals are called; an empty name leaves a signal out."""

    engine: MetricName = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
    """The share of time in which the engine worked, 0 to 1: the first signal, and the only one of MIG slices."""
    util: MetricName = "DCGM_FI_DEV_GPU_UTIL"
    """The utilisation in percent, for GPUs without the first signal."""
    sm: MetricName = "DCGM_FI_PROF_SM_ACTIVE"
    """The share of time in which the multiprocessors worked, 0 to 1."""
    used: MetricName = "DCGM_FI_DEV_FB_USED"
    """The memory in use, in MiB."""
    free: MetricName = "DCGM_FI_DEV_FB_FREE"
    """The memory that is free, in MiB."""
    power: MetricName = "DCGM_FI_DEV_POWER_USAGE"
    """The power in watts."""
    processes: MetricName = "lessor_host_gpu_processes"
    """How many processes hold the GPU, with its label UUID."""
    cpu: MetricName = "lessor_host_cpu_percent"
    """The machine's processor, in percent."""
    network: MetricName = "lessor_host_network_bytes_per_second"
    """What the machine sends and receives, in bytes a second."""
    disk: MetricName = "lessor_host_disk_bytes_per_second"
    """What the machine reads and writes, in bytes a second."""
    sessions: MetricName = "lessor_host_sessions"
    """People who typed something lately."""
    kernels: MetricName = "lessor_host_kernels"
    """Notebook kernels that are computing."""
    requests: MetricName = "lessor_host_requests_per_second"
    """Requests that are served, a second."""
    request_counters: Annotated[tuple[MetricName, ...], Field(max_length=8)] = ()
    """Counters of served requests, such as vllm:request_success_total, whose rate counts as requests too."""


class PrometheusConfig(Section):
    """One Prometheus, or what speaks its API."""

    name: Key
    """The name that pages and the dashboard show."""
    url: Annotated[str, Field(min_length=1, max_length=2_000)]
    """The address up to and without /api/v1."""
    timeout: Duration = timedelta(seconds=5)
    """How long the whole answer may take; later than that, everything of this source is unknown."""
    match: Annotated[str, Field(max_length=1_000)] = ""
    """Which series count, as label matchers such as cluster="a"; all if empty."""
    token_env: EnvironmentName = ""
    """The NAME of the environment variable that holds the bearer token."""
    token_file: Annotated[str, Field(max_length=400)] = ""
    """The file that holds the bearer token, read for each query, as for a token that changes."""
    username: Annotated[str, Field(max_length=200)] = ""
    """The user to log in as; no login if empty."""
    password_env: EnvironmentName = "LESSOR_PROMETHEUS_PASSWORD"  # noqa: S105 - a name, not a secret
    """The NAME of the environment variable that holds the password of username."""
    ca_file: Annotated[str, Field(max_length=400)] = ""
    """The certificates that are trusted; the system's if empty."""
    headers: dict[HeaderName, Header] = Field(default_factory=dict)
    """Headers that go with each query, such as X-Scope-OrgID; never a secret."""
    labels: LabelsConfig = Field(default_factory=LabelsConfig)
    """Which labels say whose a series is."""
    metrics: MetricsConfig = Field(default_factory=MetricsConfig)
    """What the signals are called."""


class CloudWatchConfig(Section):
    """The CloudWatch of one place, with what the CloudWatch agent of its machines writes."""

    name: Key
    """The name that pages and the dashboard show."""
    place: Key
    """The place, whose account, role and regions are read."""
    timeout: Duration = timedelta(seconds=5)
    """How long all answers together may take; later than that, everything of this source is unknown."""
    namespace: Annotated[str, Field(min_length=1, max_length=255)] = "CWAgent"
    """The namespace that the agents write to."""
    late: Duration = timedelta(minutes=3)
    """How much later than it was measured a figure may arrive: so much earlier each look begins."""


class TelemetryConfig(Section):
    """Where it is read what GPUs and their machines do; without any source nothing is metered and nobody is warned."""

    every: Duration = timedelta(minutes=5)
    """How often every source is read: the length of a tick, of which an hour has a whole number."""
    keep: Duration = timedelta(days=14)
    """How long the figures of each tick are kept; those by the hour stay."""
    prometheus: Annotated[tuple[PrometheusConfig, ...], Field(max_length=20)] = ()
    """Prometheus servers."""
    cloudwatch: Annotated[tuple[CloudWatchConfig, ...], Field(max_length=20)] = ()
    """CloudWatch, by place."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all sources; empty when nothing is metered."""
        return (*(one.name for one in self.prometheus), *(one.name for one in self.cloudwatch))


def check_telemetry(telemetry: TelemetryConfig, aws_places: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    """`(key path, message)` for what one value alone cannot show."""
    if not SHORTEST <= telemetry.every <= LONGEST or HOUR % telemetry.every:
        yield ("telemetry", "every"), "must divide an hour, such as 1min, 5min, 15min or 30min"
    if telemetry.keep < timedelta(days=1):
        yield ("telemetry", "keep"), "is shorter than a day; evidence has to outlive the questions about it"
    yield from _named_and_patient(telemetry)
    for index, prometheus in enumerate(telemetry.prometheus):
        yield from _prometheus(("telemetry", "prometheus", index), prometheus)
    for index, cloudwatch in enumerate(telemetry.cloudwatch):
        yield from _cloudwatch(("telemetry", "cloudwatch", index), cloudwatch, aws_places, telemetry.every)


def _named_and_patient(telemetry: TelemetryConfig) -> Iterator[tuple[KeyPath, str]]:
    prometheus = [(("prometheus", index), one.name, one.timeout) for index, one in enumerate(telemetry.prometheus)]
    cloudwatch = [(("cloudwatch", index), one.name, one.timeout) for index, one in enumerate(telemetry.cloudwatch)]
    seen: set[str] = set()
    for where, name, timeout in (*prometheus, *cloudwatch):
        path: KeyPath = ("telemetry", *where)
        if name in seen:
            yield (*path, "name"), f"'{name}' is the name of another source; each has a name of its own"
        seen.add(name)
        if not timedelta() < timeout <= PATIENCE:
            yield (*path, "timeout"), "must be more than nothing and at most 60s"


def _cloudwatch(
    path: KeyPath, source: CloudWatchConfig, places: Collection[str], every: timedelta
) -> Iterator[tuple[KeyPath, str]]:
    if source.place not in places:
        known = ", ".join(sorted(places)) or "none is configured"
        yield (*path, "place"), f"'{source.place}' is no AWS place; allowed: {known}"
    if every < SLOWEST:
        yield (*path, "name"), "comes minutes late; with a cloudwatch source, telemetry.every must be 5min or more"
    if source.late > LONGEST:
        yield (*path, "late"), "is more than 30min; figures that old say nothing of now"


def _prometheus(path: KeyPath, source: PrometheusConfig) -> Iterator[tuple[KeyPath, str]]:
    wrong = _address_problem(source.url)
    if wrong:
        yield (*path, "url"), wrong
    elif (source.token_env or source.token_file or source.username) and _readable(source.url):
        yield (*path, "url"), "would send the credentials readable for everybody on the way; write https"
    ways = [key for key in ("token_env", "token_file", "username") if getattr(source, key)]
    if len(ways) > 1:
        yield (*path, ways[1]), f"stands beside {ways[0]}; one way to log in is enough"
    if not (source.metrics.engine or source.metrics.util):
        yield (*path, "metrics"), "leaves out both engine and util; one of them has to say whether a GPU works"


def _address_problem(url: str) -> str:
    """Why `url` is not the address of a server; empty when it is. The address itself is never repeated."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        return "is no web address such as https://prometheus.example.com"
    if parts.username or parts.password:
        return "holds a user or password; use username and password_env"
    if parts.query or parts.fragment:
        return "has something behind its path; leave out everything from ? or # on"
    if "/api/v1" in parts.path:
        return "goes too far; leave out /api/v1 and what follows"
    return ""


def _readable(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")
