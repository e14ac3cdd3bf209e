"""Puts the sources of telemetry together from the configuration; secrets come from the environment, at each query."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from botocore.config import Config as AwsConfig

from lessor.config import Config, PlaceConfig
from lessor.config.telemetry import CloudWatchConfig, LabelsConfig, MetricsConfig, PrometheusConfig
from lessor.placing import external_id
from lessor.ports import Telemetry, TelemetryError
from lessor.providers.aws import Ec2Place
from lessor.providers.aws.sessions import CONFIG, Accounts
from lessor.telemetry import CloudWatchSource, Credentials, LabelNames, Metrics, PrometheusSource
from lessor.telemetry.promql import GPU_SIGNALS, HOST_SIGNALS


def telemetry_of(
    config: Config, environ: Mapping[str, str] = os.environ, prometheus_url: str | None = None
) -> dict[str, Telemetry]:
    """Every source by its name; empty when nothing is metered. Nothing is asked yet, and no secret looked up.

    `prometheus_url` is where every Prometheus is asked instead, without proof of who asks.
    """
    accounts = Accounts()
    places = {place.name: place for place in config.places}
    sources: dict[str, Telemetry] = {}
    for prometheus in config.telemetry.prometheus:
        elsewhere = {"url": prometheus_url, "token_env": "", "token_file": "", "username": ""} if prometheus_url else {}
        sources[prometheus.name] = _prometheus(prometheus.model_copy(update=elsewhere), environ)
    for cloudwatch in config.telemetry.cloudwatch:
        sources[cloudwatch.name] = _cloudwatch(cloudwatch, places[cloudwatch.place], accounts)
    return sources


def _prometheus(source: PrometheusConfig, environ: Mapping[str, str]) -> PrometheusSource:
    return PrometheusSource(
        source.name,
        source.url,
        metrics=_metrics(source.metrics, source.labels, source.match),
        credentials=_credentials(source, environ),
        ca_file=source.ca_file,
        headers=source.headers,
        timeout=source.timeout,
    )


def _cloudwatch(source: CloudWatchConfig, place: PlaceConfig, accounts: Accounts) -> CloudWatchSource:
    account = Ec2Place(
        place.name,
        place.regions,
        role_arn=place.role_arn,
        external_id=external_id(place),
        external_id_env=place.external_id_env,
    )

    # A call that nobody waits for any more must not hold the process up when it ends.
    limits = CONFIG.merge(AwsConfig(read_timeout=source.timeout.total_seconds()))

    def client(region: str) -> Callable[[], Any]:
        return lambda: accounts.client(account, "cloudwatch", region, limits)

    return CloudWatchSource(
        source.name,
        {region: client(region) for region in place.regions},
        namespace=source.namespace,
        timeout=source.timeout,
        late=source.late,
    )


def _metrics(metrics: MetricsConfig, labels: LabelsConfig, match: str) -> Metrics:
    named = metrics.model_dump()
    return Metrics(
        gpu={signal: named[signal] for signal in GPU_SIGNALS if named[signal]},
        host={signal: named[signal] for signal in HOST_SIGNALS if named[signal]},
        request_counters=tuple(filter(None, metrics.request_counters)),
        labels=LabelNames(**labels.model_dump()),
        match=match,
    )


def _credentials(source: PrometheusConfig, environ: Mapping[str, str]) -> Callable[[], Credentials]:
    def variable(name: str) -> str:
        value = environ.get(name, "").strip()
        if not value:
            raise TelemetryError(f"telemetry source '{source.name}' needs the environment variable {name}; set it")
        return value

    def credentials() -> Credentials:
        if source.token_env:
            return Credentials(token=variable(source.token_env))
        if source.token_file:
            return Credentials(token=_content(source))
        if source.username:
            return Credentials(user=source.username, password=variable(source.password_env))
        return Credentials()

    return credentials


def _content(source: PrometheusConfig) -> str:
    try:
        return Path(source.token_file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = type(error).__name__
        raise TelemetryError(
            f"telemetry source '{source.name}' cannot read its token file {source.token_file} ({reason}); check it"
        ) from None
