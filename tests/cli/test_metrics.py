"""The figures that programs serve for Prometheus, and what happens when they cannot."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest
from prometheus_client import Counter

from lessor.metrics import served_metrics
from lessor.settings import SettingsError

COUNTED = Counter("lessor_test_counted", "Counted by a test")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_counts_are_served_while_the_program_runs() -> None:
    port = free_port()
    COUNTED.inc(3)
    with served_metrics(port), urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert b"lessor_test_counted_total 3.0" in answer.read()
    with pytest.raises(OSError, match="refused"):
        urlopen(f"http://127.0.0.1:{port}/metrics")


def test_a_taken_port_is_named_and_no_port_serves_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = f"LESSOR_METRICS_PORT: cannot listen on 127.0.0.1:{port}"
        with pytest.raises(SettingsError, match=words), served_metrics(port):
            pass
    with served_metrics(0):
        pass
