"""From `lessor.yaml` to sources that ask: where the secrets come from, and what is said when they are missing."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lessor.config import loads
from lessor.ports import Telemetry, TelemetryError
from lessor.sources import telemetry_of
from tests.config.sample import VALID
from tests.telemetry.answering import Answers, answering

AT = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
TICK = timedelta(minutes=5)


def sources(telemetry: str, environ: dict[str, str] | None = None) -> dict[str, Telemetry]:
    text = f"{VALID}telemetry:\n{textwrap.indent(textwrap.dedent(telemetry), '  ')}"
    return telemetry_of(loads(text), environ or {})


def test_there_are_as_many_sources_as_are_configured() -> None:
    made = sources(
        """
        prometheus: [{name: cluster, url: "https://prometheus.example.com"}]
        cloudwatch: [{name: machines, place: research-us}]
        """
    )

    assert {name: source.name for name, source in made.items()} == {"cluster": "cluster", "machines": "machines"}
    assert telemetry_of(loads(VALID), {}) == {}


def test_a_token_is_looked_up_for_each_query() -> None:
    answers, environ = Answers(), {"PROMETHEUS_TOKEN": "first"}
    with answering(answers) as url:
        source = sources(f"prometheus: [{{name: fleet, url: '{url}', token_env: PROMETHEUS_TOKEN}}]", environ)["fleet"]
        source.read(AT, TICK)
        environ["PROMETHEUS_TOKEN"] = "second"
        source.read(AT, TICK)

    assert [headers["authorization"] for _, headers, _ in answers.asked] == ["Bearer first", "Bearer second"]


def test_another_prometheus_is_asked_without_proof_of_who_asks() -> None:
    answers = Answers()
    told = "telemetry:\n  prometheus: [{name: fleet, url: 'https://p.example.com', token_env: PROMETHEUS_TOKEN}]\n"
    with answering(answers) as url:
        made = telemetry_of(loads(f"{VALID}{told}"), {"PROMETHEUS_TOKEN": "secret"}, url)
        made["fleet"].read(AT, TICK)

    assert ["authorization" in headers for _, headers, _ in answers.asked] == [False]


def test_a_token_file_is_read_for_each_query(tmp_path: Path) -> None:
    answers, file = Answers(), tmp_path / "token"
    with answering(answers) as url:
        source = sources(f"prometheus: [{{name: fleet, url: '{url}', token_file: '{file}'}}]")["fleet"]
        with pytest.raises(TelemetryError, match=r"'fleet' cannot read its token file .*token \(FileNotFoundError\)"):
            source.read(AT, TICK)
        file.write_text("rotated\n")
        source.read(AT, TICK)

    assert [headers["authorization"] for _, headers, _ in answers.asked] == ["Bearer rotated"]


def test_user_and_password_go_with_the_query() -> None:
    answers = Answers()
    with answering(answers) as url:
        telemetry = f"prometheus: [{{name: fleet, url: '{url}', username: lessor}}]"
        sources(telemetry, {"LESSOR_PROMETHEUS_PASSWORD": "hush"})["fleet"].read(AT, TICK)

    assert answers.asked[0][1]["authorization"] == "Basic bGVzc29yOmh1c2g="


@pytest.mark.parametrize(
    ("login", "variable"), [("token_env: PROM_TOKEN", "PROM_TOKEN"), ("username: u", "LESSOR_PROMETHEUS_PASSWORD")]
)
def test_a_secret_that_is_not_set_is_named_and_nothing_is_asked(login: str, variable: str) -> None:
    answers = Answers()
    with answering(answers) as url:
        source = sources(f"prometheus: [{{name: fleet, url: '{url}', {login}}}]")["fleet"]
        with pytest.raises(TelemetryError, match=f"'fleet' needs the environment variable {variable}; set it"):
            source.read(AT, TICK)

    assert answers.asked == []


def test_names_match_and_headers_of_the_file_are_what_is_asked() -> None:
    answers = Answers()
    with answering(answers) as url:
        sources(
            f"""
            prometheus:
              - name: fleet
                url: {url}
                match: cluster="a"
                headers: {{X-Scope-OrgID: research}}
                labels: {{lease: [lease_label]}}
                metrics: {{engine: my_engine, sm: "", request_counters: [served_total]}}
            """
        )["fleet"].read(AT, TICK)

    [(_, headers, form)] = answers.asked
    [query] = form["query"]
    assert headers["x-scope-orgid"] == "research"
    assert 'max_over_time(my_engine{cluster="a"}[299999ms])' in query
    assert 'rate(served_total{cluster="a"}[299999ms])' in query
    assert "lease_label" in query
    assert "DCGM_FI_PROF" not in query
