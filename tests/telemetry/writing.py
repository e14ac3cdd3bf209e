"""Writes samples of any time into a Prometheus by its remote-write protocol, so that no test waits for an hour."""

from __future__ import annotations

import struct
import urllib.request
from collections.abc import Iterable, Mapping, Sequence

from tests.telemetry.exporter import METRICS, Exporter

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
"""What Prometheus writes where a series has ended: it shows no value from then on."""
Sample = tuple[float, float]
"""When, in Unix seconds, and how much."""
Line = tuple[Mapping[str, str], Sequence[Sample]]
"""The labels of a series with its `__name__`, and its samples, the oldest first."""


def write(url: str, lines: Iterable[Line]) -> None:
    """Store all lines in one request."""
    body = _snappy(b"".join(_field(1, _series(labels, samples)) for labels, samples in lines))
    headers = {
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    with urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1/write", body, headers), timeout=60):
        pass


def lines(exporter: Exporter, times: Sequence[float], job: str = "dcgm-exporter") -> list[Line]:
    """What Prometheus would have stored had it scraped the exporter, as it is now, at each of these times."""
    target = {"job": job, "instance": f"{exporter.hostname}:9400", **exporter.labels}
    made: list[Line] = []
    for gpu in exporter.gpus:
        labels = gpu.labels(exporter.hostname, exporter.model)
        values = {name: getattr(gpu, word) for word, name in METRICS.items()}
        values["lessor_host_gpu_processes"] = gpu.processes
        for name, value in values.items():
            if value is not None:
                made.append(({"__name__": name, **target, **labels}, [(at, value) for at in times]))
    host = {**exporter.host} | ({"process_start_time_seconds": exporter.started} if exporter.started else {})
    made += [({"__name__": name, **target}, [(at, value) for at in times]) for name, value in host.items()]
    return made


def _series(labels: Mapping[str, str], samples: Sequence[Sample]) -> bytes:
    named = b"".join(
        _field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in sorted(labels.items())
    )
    timed = b"".join(
        _field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(round(at * 1000))) for at, value in samples
    )
    return named + timed


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _snappy(content: bytes, chunk: int = 1 << 16) -> bytes:
    """The block format with literals alone: nothing is compressed, and every reader takes it."""
    parts = [_varint(len(content))]
    for begin in range(0, len(content), chunk):
        piece = content[begin : begin + chunk]
        parts += [bytes([61 << 2]), struct.pack("<H", len(piece) - 1), piece]
    return b"".join(parts)
