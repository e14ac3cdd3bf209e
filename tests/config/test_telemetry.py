"""What `telemetry` in `lessor.yaml` takes, what it refuses and in which words."""

from __future__ import annotations

import textwrap
from datetime import timedelta

import pytest

from lessor.config import Config, ConfigError, loads
from tests.config.sample import VALID


def config(telemetry: str) -> Config:
    """The sample with this telemetry."""
    return loads(f"{VALID}telemetry:\n{textwrap.indent(textwrap.dedent(telemetry), '  ')}")


def problems(telemetry: str) -> str:
    with pytest.raises(ConfigError) as caught:
        config(telemetry)
    return str(caught.value)


def test_without_telemetry_nothing_is_metered() -> None:
    assert loads(VALID).telemetry.sources == ()


def test_a_tick_is_five_minutes_and_kept_for_two_weeks_unless_said_otherwise() -> None:
    usual = config("prometheus: [{name: fleet, url: 'https://prometheus.example.com'}]").telemetry

    assert (usual.every, usual.keep, usual.sources) == (timedelta(minutes=5), timedelta(days=14), ("fleet",))
    assert usual.prometheus[0].timeout == timedelta(seconds=5)


def test_both_kinds_of_sources_stand_beside_each_other() -> None:
    both = config(
        """
        every: 10min
        keep: 30d
        prometheus:
          - name: cluster
            url: http://prometheus.monitoring:9090
            match: cluster="a"
            headers: {X-Scope-OrgID: research}
            labels: {lease: [lease], namespace: [exported_namespace]}
            metrics: {engine: "", request_counters: ["vllm:request_success_total"]}
        cloudwatch:
          - {name: machines, place: research-us, late: 5min}
        """
    ).telemetry

    assert both.sources == ("cluster", "machines")
    assert both.prometheus[0].labels.lease == ("lease",)
    assert both.prometheus[0].metrics.request_counters == ("vllm:request_success_total",)
    assert both.cloudwatch[0].late == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("telemetry", "said"),
    [
        ("every: 7min", "telemetry.every: must divide an hour, such as 1min, 5min, 15min or 30min"),
        ("every: 1h", "telemetry.every: must divide an hour"),
        ("every: 0s", "telemetry.every: must divide an hour"),
        ("keep: 3h", "telemetry.keep: is shorter than a day"),
        ("prometheus: [{name: a, url: nowhere}]", "prometheus[0].url: is no web address"),
        ("prometheus: [{name: a, url: 'https://h/?x=1'}]", "url: has something behind its path"),
        ("prometheus: [{name: a, url: 'https://h/api/v1/query'}]", "url: goes too far; leave out /api/v1"),
        ("prometheus: [{name: a, url: 'https://u@h'}]", "url: holds a user or password"),
        ("prometheus: [{name: a, url: 'http://h', token_env: T}]", "url: would send the credentials readable"),
        ("prometheus: [{name: a, url: 'https://h', timeout: 0s}]", "timeout: must be more than nothing"),
        ("prometheus: [{name: a, url: 'https://h', timeout: 2min}]", "timeout: must be more than nothing and at most"),
        ("prometheus: [{name: a, url: 'https://h', token_env: t}]", "allowed: the name of an environment variable"),
        (
            "prometheus: [{name: a, url: 'https://h', token_env: T, username: u}]",
            "username: stands beside token_env; one way to log in is enough",
        ),
        (
            "prometheus: [{name: a, url: 'https://h', metrics: {engine: '', util: ''}}]",
            "metrics: leaves out both engine and util",
        ),
        ("prometheus: [{name: a, url: 'https://h', metrics: {util: 'a b'}}]", "allowed: a metric's name"),
        ("prometheus: [{name: a, url: 'https://h', labels: {node: ['a-b']}}]", "allowed: a label's name"),
        ("prometheus: [{name: a, url: 'https://h', headers: {'a b': c}}]", "allowed: a header's name"),
        ("prometheus: [{name: a, url: 'https://h', taken: 1}]", "unknown key; allowed here: name, url, timeout"),
        (
            "prometheus: [{name: a, url: 'https://h'}, {name: a, url: 'https://i'}]",
            "prometheus[1].name: 'a' is the name of another source",
        ),
        ("cloudwatch: [{name: a, place: nowhere}]", "place: 'nowhere' is no AWS place; allowed: research-us"),
        ("cloudwatch: [{name: a, place: research-us, late: 1h}]", "late: is more than 30min"),
        ("every: 1min\ncloudwatch: [{name: a, place: research-us}]", "cloudwatch[0].name: comes minutes late; with a"),
        ("sources: []", "unknown key; allowed here: every, keep, prometheus, cloudwatch"),
    ],
)
def test_what_cannot_be_is_said_with_what_is_allowed(telemetry: str, said: str) -> None:
    assert said in problems(telemetry)


def test_a_token_in_the_file_is_refused_and_not_repeated() -> None:
    text = problems("prometheus: [{name: a, url: 'https://h', token: 'hunter2hunter2'}]")

    assert "token" in text
    assert "hunter2" not in text
