"""The dashboard: `python -m lessor.web [--host ADDRESS] [--port N]`, on this machine only unless there is a token."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from lessor.config import Config, ConfigError
from lessor.drawing import Drawer
from lessor.leaving import leave
from lessor.logs import log_without_values
from lessor.metrics import served_metrics
from lessor.ports import LedgerUnavailableError
from lessor.reload import LiveConfig, keep_current
from lessor.rendering import page_renderer
from lessor.settings import WANTED, Settings, SettingsError, read_settings, temporal_connect_config
from lessor.web.app import make_application
from lessor.web.desk import Desk, Scene
from lessor.wiring import Parts, build_gateway, connect_temporal, open_parts, utc_now

PORT = 7417
NEEDED = "LESSOR_WEB_TOKEN"


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM. 0 after an orderly stop, 2 when it cannot start as it is configured."""
    parser = argparse.ArgumentParser(prog="python -m lessor.web", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; others need LESSOR_WEB_TOKEN")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen on ({PORT}); 0 for a free one")
    chosen = parser.parse_args(arguments)
    log_without_values()
    try:
        settings = read_settings()
        if not (_is_loopback(chosen.host) or settings.lessor_web_token):
            raise SettingsError(f"{NEEDED}: is not set, and is needed to listen on {chosen.host}; it {WANTED[NEEDED]}")
        with _listening(chosen.host, chosen.port) as listener, served_metrics(settings.lessor_metrics_port):
            parts = open_parts(settings, LiveConfig.read(settings.lessor_config))
            try:
                asyncio.run(_serve(settings, parts, listener))
            finally:
                parts.ledger.close()
    except (ConfigError, SettingsError, LedgerUnavailableError) as error:
        sys.stderr.write(f"lessor dashboard: {error}\n")
        return 2
    return 0


class _Server(uvicorn.Server):
    """Ends in good order when it is told to: uvicorn itself would end by the signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.handle_exit, number, None)
        yield


async def _serve(settings: Settings, parts: Parts, listener: socket.socket) -> None:
    drawer = Drawer()
    token = settings.lessor_web_token.get_secret_value() if settings.lessor_web_token else ""
    desk = Desk(
        build_gateway(parts, await connect_temporal()),
        page_renderer(settings.lessor_templates),
        parts.live.derived(scene_of),
        utc_now,
        drawer.draw,
        _temporal(settings),
        token,
    )
    config = uvicorn.Config(
        make_application(desk), log_level="warning", access_log=False, server_header=False, lifespan="off"
    )
    current = asyncio.ensure_future(keep_current(parts.live))
    try:
        print(f"lessor dashboard: http://{_spelled(listener)}/", flush=True)  # noqa: T201 - where to look
        await _Server(config).serve(sockets=[listener])
    finally:
        current.cancel()
        with suppress(asyncio.CancelledError):
            await current
        await drawer.close()


def scene_of(config: Config) -> Scene:
    """What pages say of an organisation."""
    organisation = config.organisation
    return Scene(
        organisation.name,
        organisation.tz,
        tuple((key, team.name or key) for key, team in organisation.teams.items()),
        tuple((place.name, place.label or place.name) for place in config.places),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises `SettingsError` when it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        why = ((error.strerror if isinstance(error, OSError) else "") or str(error)).lower()
        raise SettingsError(f"cannot listen on {host}:{port} ({why}); choose others with --host and --port") from error
    return listener


def _spelled(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _temporal(settings: Settings) -> str:
    """The address of the namespace in the Temporal UI; empty where nobody says where that is."""
    if not settings.lessor_temporal_ui_url:
        return ""
    namespace = temporal_connect_config().get("namespace", "default")
    return f"{settings.lessor_temporal_ui_url.rstrip('/')}/namespaces/{namespace}"


if __name__ == "__main__":
    leave(main())
