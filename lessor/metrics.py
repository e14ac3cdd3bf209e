"""Figures for Prometheus: every program counts, and serves its counts where it was told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from lessor.settings import SettingsError


@contextmanager
def served_metrics(port: int, host: str = "127.0.0.1") -> Iterator[None]:
    """Serve `/metrics` on `host`:`port` while the context lasts; nothing when `port` is 0.

    Raises `SettingsError` when the port is taken.
    """
    if not port:
        yield
        return
    try:
        server, thread = start_http_server(port, addr=host)
    except OSError as error:
        raise SettingsError(f"LESSOR_METRICS_PORT: cannot listen on {host}:{port} ({error.strerror})") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
