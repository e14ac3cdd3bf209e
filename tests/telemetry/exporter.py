"""A small exporter that says what dcgm-exporter says of GPUs, and what the tests tell it to: no GPU is real."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

METRICS = {
    "util": "DCGM_FI_DEV_GPU_UTIL",
    "engine": "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "sm": "DCGM_FI_PROF_SM_ACTIVE",
    "used": "DCGM_FI_DEV_FB_USED",
    "free": "DCGM_FI_DEV_FB_FREE",
    "power": "DCGM_FI_DEV_POWER_USAGE",
    "energy": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
}
"""By our word, the field of DCGM; with `None` it is left out, as the exporter leaves out what it cannot measure."""
PROCESSES = "lessor_host_gpu_processes"


@dataclass
class Gpu:
    """One GPU, or one MIG slice of one when `slice_id` is set, as it looks at the next scrape; free to be changed."""

    index: int = 0
    uuid: str = ""
    slice_id: str = ""
    profile: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""
    util: float | None = 0.0
    engine: float | None = 0.0
    sm: float | None = 0.0
    used: float | None = 4.0
    free: float | None = 81_000.0
    power: float | None = 62.0
    energy: float | None = None
    processes: int | None = None
    extra: dict[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    def labels(self, hostname: str, model: str) -> dict[str, str]:
        """In the order in which dcgm-exporter writes them."""
        labels = {
            "gpu": str(self.index),
            "UUID": self.uuid or f"GPU-{hostname}-{self.index}",
            "pci_bus_id": f"00000000:{16 + self.index:02X}:00.0",
            "device": f"nvidia{self.index}",
            "modelName": model,
        }
        if self.slice_id:
            labels |= {"GPU_I_PROFILE": self.profile or "1g.10gb", "GPU_I_ID": self.slice_id}
        labels |= {"Hostname": hostname, "DCGM_FI_DRIVER_VERSION": "570.195.03"}
        if self.pod or self.namespace:
            labels |= {"container": self.container or "main", "namespace": self.namespace, "pod": self.pod}
        return {name: value for name, value in (labels | self.extra).items() if name not in self.without}

    def busy(self, engine: float = 0.9) -> None:
        """Work: engine, utilisation, memory and power go up together."""
        self.engine, self.sm, self.util = engine, engine * 0.8, round(engine * 100)
        self.used, self.free, self.power, self.processes = 60_000.0, 21_004.0, 640.0, 1

    def idle(self) -> None:
        """Nothing at all: no process, no memory, the power of a card at rest."""
        self.engine = self.sm = self.util = 0.0
        self.used, self.free, self.power, self.processes = 4.0, 81_000.0, 62.0, 0

    def hold(self) -> None:
        """A loaded model that waits: the memory is full, nothing is computed."""
        self.engine = self.sm = self.util = 0.0
        self.used, self.free, self.power, self.processes = 72_000.0, 9_004.0, 95.0, 1


@dataclass
class Exporter:
    """One machine's exporter. `gone` answers no scrape, `stamp` is a time in seconds that it puts on each sample.

    `started` is its process's start, `host` are further metrics of the machine (`lessor_host_cpu_percent`: 3.0).
    """

    hostname: str = "node-1"
    model: str = "NVIDIA H100 80GB HBM3"
    gpus: list[Gpu] = field(default_factory=list)
    host: dict[str, float] = field(default_factory=dict)
    started: float | None = 1_700_000_000.0
    stamp: float | None = None
    gone: bool = False
    scrapes: int = 0
    port: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    raw: str = ""

    @property
    def target(self) -> str:
        """Where Prometheus finds it."""
        return f"127.0.0.1:{self.port}"

    def restart(self) -> None:
        """A new process of the exporter: what it counted begins again."""
        if self.started is not None:
            self.started += 60.0
        for gpu in self.gpus:
            gpu.energy = 0.0 if gpu.energy is not None else None

    def text(self) -> str:
        """The page that Prometheus reads."""
        lines = [line for word, name in METRICS.items() for line in self._metric(name, word)]
        counted = [(gpu, gpu.processes) for gpu in self.gpus if gpu.processes is not None]
        if counted:
            lines.append(f"# TYPE {PROCESSES} gauge")
            lines += [self._sample(PROCESSES, gpu.labels(self.hostname, self.model), n) for gpu, n in counted]
        lines += [self._sample(name, {}, value) for name, value in self.host.items()]
        if self.started is not None:
            lines.append(self._sample("process_start_time_seconds", {}, self.started))
        return "\n".join((*lines, self.raw)) + "\n"

    def _metric(self, name: str, word: str) -> list[str]:
        values = [(gpu, getattr(gpu, word)) for gpu in self.gpus]
        kind = "counter" if word == "energy" else "gauge"
        samples = [
            self._sample(name, gpu.labels(self.hostname, self.model), value)
            for gpu, value in values
            if value is not None
        ]
        return [f"# HELP {name} Simulated.", f"# TYPE {name} {kind}", *samples] if samples else []

    def _sample(self, name: str, labels: dict[str, str], value: float) -> str:
        inside = ",".join(f'{label}="{text}"' for label, text in labels.items())
        stamp = f" {int(self.stamp * 1000)}" if self.stamp is not None else ""
        return f"{name}{{{inside}}} {value}{stamp}"


@contextmanager
def serving(*exporters: Exporter) -> Iterator[None]:
    """Let each exporter answer on a free port of its own for as long as the block lasts."""
    servers = [_server(exporter) for exporter in exporters]
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join(5)


def eight(hostname: str = "node-1", **changes: Any) -> Exporter:
    """A machine with eight GPUs, each as `changes` say."""
    known = {one.name for one in fields(Gpu)}
    of_gpu = {name: value for name, value in changes.items() if name in known}
    of_host = {name: value for name, value in changes.items() if name not in known}
    return Exporter(hostname, gpus=[Gpu(index=index, **of_gpu) for index in range(8)], **of_host)


def _server(exporter: Exporter) -> ThreadingHTTPServer:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exporter.text().encode()
            self.send_response(503 if exporter.gone else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(0 if exporter.gone else len(body)))
            self.end_headers()
            if not exporter.gone:
                self.wfile.write(body)
            exporter.scrapes += 1

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the terminal of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.daemon_threads = True
    exporter.port = server.server_port
    return server
