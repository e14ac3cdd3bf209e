"""Whatever a source of telemetry does instead of answering: an error that says what to do, and never an idle GPU."""

from __future__ import annotations

import json
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lessor.ports import TelemetryError
from lessor.telemetry import Credentials, PrometheusSource
from tests.telemetry.answering import Answers, answering
from tests.telemetry.certificate import write_certificate

AT = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
TICK = timedelta(minutes=5)
VECTOR = {"status": "success", "data": {"resultType": "vector", "result": []}}


def read(url: str, *, seconds: float = 5.0, token: str = "") -> None:
    """Read one tick."""
    source = PrometheusSource(
        "fleet", url, timeout=timedelta(seconds=seconds), credentials=lambda: Credentials(token=token)
    )
    source.read(AT, TICK)


def failure(answers: Answers, *, seconds: float = 5.0, token: str = "") -> str:
    """What the error says when all queries are answered so."""
    with answering(answers) as url, pytest.raises(TelemetryError) as caught:
        read(url, seconds=seconds, token=token)
    assert str(caught.value).startswith("telemetry source 'fleet' ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (Answers(body="<html>"), "something other than JSON (application/json); check that its url"),
        (Answers(body='{"status":"succ'), "something other than JSON"),
        (Answers(body="[1]"), "no answer of a Prometheus API; check its url"),
        (Answers(body=""), "something other than JSON"),
        (Answers(body="{}"), "could not answer: no reason"),
        (Answers(body='{"status":"success"}'), "cannot be read; check that its url"),
        (Answers(body=json.dumps({**VECTOR, "data": {"resultType": "matrix", "result": []}})), "other than a vector"),
        (Answers(body='{"status":"error","error":"query timed out"}'), "could not answer: query timed out"),
        (Answers(400, '{"status":"error","error":"parse error"}'), "failed (HTTP 400): parse error; see its log"),
        (Answers(422, '{"status":"error","error":"too many samples"}'), "failed (HTTP 422): too many samples"),
        (Answers(503, "overloaded"), "failed (HTTP 503); see its log"),
        (Answers(500, ""), "failed (HTTP 500); see its log"),
        (Answers(401, ""), "refuses our credentials (HTTP 401); check the environment variables"),
        (Answers(403, ""), "refuses our credentials (HTTP 403)"),
        (Answers(404, ""), "knows no such address (HTTP 404); check its url, without /api/v1/query"),
        (Answers(429, ""), "has too many queries (HTTP 429)"),
        (Answers(302, "", {"Location": "https://login.example.com/"}), "redirects elsewhere (HTTP 302), as to a login"),
        (Answers(307, "", {"Location": "/other"}), "redirects elsewhere (HTTP 307)"),
        (Answers(200, "<html>Log in</html>", {"Content-Type": "text/html"}), "other than JSON (text/html)"),
        (Answers(body=json.dumps({**VECTOR, "warnings": ["store eu-1 is missing"]})), "in part: ['store eu-1 is"),
        (Answers(ahead=600.0), "s ahead of ours"),
        (Answers(ahead=-600.0), "s behind ours"),
        (Answers(cut=5), "stopped in the middle of its answer"),
    ],
)
def test_no_whole_answer_is_an_error_that_says_what_to_do(answers: Answers, said: str) -> None:
    assert said in failure(answers)


@pytest.mark.parametrize(
    "series",
    [
        {"metric": {}, "value": [1, "0"]},
        {"metric": {"lessor_signal": "engine"}},
        {"metric": {"lessor_signal": "engine"}, "value": []},
        {"metric": {"lessor_signal": "engine"}, "value": [1, "much"]},
        {"metric": {"lessor_signal": "engine"}, "value": [1, None]},
        {"metric": None, "value": [1, "0"]},
        "engine",
        [
            {"metric": {"lessor_signal": "gpu-samples", "gpu": "0"}, "value": [1, "20"]},
            {"metric": {"lessor_signal": "gpu-newest", "gpu": "0"}, "value": [1, "1e300"]},
        ],
        {"metric": {"lessor_signal": "gpu-samples", "gpu": "0", "pod": 7}, "value": [1, "20"]},
    ],
)
def test_one_series_that_cannot_be_read_is_an_error(series: object) -> None:
    body = json.dumps(
        {**VECTOR, "data": {"resultType": "vector", "result": series if isinstance(series, list) else [series]}}
    )

    assert "has series that cannot be read" in failure(Answers(body=body))


def test_an_answer_that_trickles_in_is_given_up_in_time() -> None:
    assert "no whole answer within 0.3 s" in failure(Answers(body=" " * 10_000, pause=0.05), seconds=0.3)


def test_headers_that_trickle_in_are_given_up_in_time() -> None:
    over = threading.Event()

    def trickle(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not over.wait(0.02):
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=trickle, args=(listening,))
        thread.start()
        try:
            with pytest.raises(TelemetryError, match=r"no whole answer within 0\.3 s"):
                read(f"http://127.0.0.1:{listening.getsockname()[1]}", seconds=0.3)
        finally:
            over.set()
            thread.join(5)


def test_a_server_that_accepts_and_says_nothing_is_given_up_in_time() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(TelemetryError, match=r"no whole answer within 0\.2 s; see how busy it is"),
    ):
        read(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=0.2)


def test_a_server_that_is_not_there_is_told_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    with pytest.raises(TelemetryError, match=r"cannot be reached .*refused.*; check its address and that it runs"):
        read(url)


def test_a_server_that_thinks_for_a_minute_has_no_wrong_clock() -> None:
    times = iter((time.time() - 61.0, time.time()))
    with answering(Answers()) as url:
        assert PrometheusSource("fleet", url, clock=lambda: next(times)).read(AT, TICK).seen == ()


def test_an_empty_answer_is_an_answer() -> None:
    with answering(Answers()) as url:
        reading = PrometheusSource("fleet", url).read(AT, TICK)

    assert (reading.seen, reading.source, reading.at) == ((), "fleet", AT)


@pytest.mark.parametrize("token", ["s3cr3t-token", "s3cr3t\r\nX-Other: 1", "s3cr3t-ü"])
def test_no_error_repeats_a_secret(token: str) -> None:
    for answers in (Answers(401, token), Answers(500, json.dumps({"error": f"no: {token}"})), Answers(body="<html>")):
        assert "s3cr3t" not in failure(answers, token=token)


def test_one_query_is_asked_for_everything_with_all_that_the_settings_say() -> None:
    answers = Answers()
    with answering(answers) as url:
        source = PrometheusSource(
            "fleet",
            f"{url}/prometheus/",
            credentials=lambda: Credentials(user="lessor", password="hush"),
            headers={"X-Scope-OrgID": "research"},
            timeout=timedelta(seconds=2.5),
        )
        source.read(AT, TICK)

    [(path, headers, form)] = answers.asked
    assert path == "/prometheus/api/v1/query"
    assert headers["authorization"] == "Basic bGVzc29yOmh1c2g="
    assert headers["x-scope-orgid"] == "research"
    assert (form["time"], form["timeout"]) == (["1793620800.000"], ["2500ms"])


def test_a_certificate_is_trusted_when_its_authority_is_named_and_not_otherwise(tmp_path: Path) -> None:
    tls = write_certificate(tmp_path)
    answers = Answers()
    with answering(answers, tls) as url:
        PrometheusSource("fleet", url, ca_file=str(tls[0])).read(AT, TICK)
        with pytest.raises(TelemetryError, match=r"cannot be reached \(.*certificate verify failed"):
            PrometheusSource("fleet", url, credentials=lambda: Credentials(token="hush")).read(AT, TICK)

    assert len(answers.asked) == 1


def test_a_ca_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    source = PrometheusSource("fleet", "https://127.0.0.1:1", ca_file=str(tmp_path / "none.pem"))

    with pytest.raises(TelemetryError, match=r"has a CA file that cannot be read .*; check the file"):
        source.read(AT, TICK)
