"""A real Prometheus for the tests, Debian's package: started on a free port, with the targets that the tests name."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.leash import leashed
from tests.telemetry.exporter import Exporter

START_SECONDS = 30
SCRAPE = "200ms"


class PrometheusServer:
    """A running server; `url` is its address."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self._home = home

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """What it answers to one expression, as its API has it."""
        form = {"query": expression} | ({"time": str(at)} if at is not None else {})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{urllib.parse.urlencode(form)}", timeout=60) as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result

    def log(self) -> str:
        """The end of what it said."""
        return (self._home / "log").read_text()[-4000:]


def program() -> str:
    """Where Prometheus is. Raises `FileNotFoundError` with what to do when it is not installed."""
    found = shutil.which("prometheus")
    if found is None:
        raise FileNotFoundError("no Prometheus: `sh scripts/get-prometheus.sh` installs Debian's package")
    return found


@contextmanager
def prometheus(
    *exporters: Exporter, scrape: str = SCRAPE, config: str = "", options: Sequence[str] = (), data: Path | None = None
) -> Iterator[PrometheusServer]:
    """A server that scrapes these exporters every `scrape`, each with its own labels as target labels.

    `data` is where its samples are, when there are some already.
    """
    home = Path(tempfile.mkdtemp(prefix="lessor-prometheus-"))
    (home / "prometheus.yml").write_text(config or _config(exporters, scrape))
    command = [
        program(),
        f"--config.file={home / 'prometheus.yml'}",
        f"--storage.tsdb.path={data or home / 'data'}",
        "--web.listen-address=127.0.0.1:0",
        "--web.enable-remote-write-receiver",
        "--web.enable-lifecycle",
        *options,
    ]
    process = leashed(command, home, home / "log")
    try:
        yield _ready(process, home)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(START_SECONDS)
        shutil.rmtree(home)


def eventually(check: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The first true answer of `check`, asked again and again. Raises `AssertionError` when time is up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = check()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not so within {seconds} s")


def _ready(process: subprocess.Popen[bytes], home: Path) -> PrometheusServer:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        port = _port((home / "log").read_text())
        if port and _answers(f"http://127.0.0.1:{port}/-/ready"):
            return PrometheusServer(f"http://127.0.0.1:{port}", home)
        time.sleep(0.02)
    raise RuntimeError(f"Prometheus did not start:\n{(home / 'log').read_text()[-2000:]}")


def _port(log: str) -> int:
    """The port that the system chose, from the line in which the server says where it listens."""
    for line in log.splitlines():
        if 'msg="Listening on"' in line:
            return int(line.rsplit(":", 1)[1])
    return 0


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _config(exporters: Sequence[Exporter], scrape: str) -> str:
    """Prometheus reads JSON too, which is YAML."""
    static = [{"targets": [one.target], "labels": one.labels} for one in exporters]
    return json.dumps(
        {
            # Tests write their history beside each other, each of them from its own beginning.
            "storage": {"tsdb": {"out_of_order_time_window": "1d"}},
            "global": {"scrape_interval": scrape, "scrape_timeout": scrape},
            "scrape_configs": [{"job_name": "dcgm-exporter", "static_configs": static}],
        }
    )
