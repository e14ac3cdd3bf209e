"""The second enforcer as a program: `python -m lessor.guard`, or `lessor guard`. It needs no Temporal and no ledger.

It looks again and again and never gives up: what goes wrong at one look is logged, and the next one begins anew.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog

from lessor.config import ConfigError
from lessor.guarding.guard import Guard
from lessor.guarding.notebook import BusyError
from lessor.guarding.opening import every, open_guard
from lessor.guarding.report import Report, facts, lines
from lessor.logs import log_without_values
from lessor.reload import LiveConfig, keep_current
from lessor.settings import Settings, SettingsError, read_settings

log = structlog.get_logger(__name__)


def main() -> int:
    """Look for ever, until SIGINT or SIGTERM. 0 after an orderly stop, 2 when it cannot start as it is configured."""
    try:
        settings = read_settings()
        return watch(settings, LiveConfig.read(settings.lessor_config), None, tell_lines)
    except (ConfigError, SettingsError) as error:
        sys.stderr.write(f"lessor guard: {error}\n")
        return 2


def watch(settings: Settings, live: LiveConfig, pause: timedelta | None, tell: Callable[[Report], None]) -> int:
    """Look every `pause`, as the configuration says if that is `None`; `tell` gets each report. 0 once stopped."""
    log_without_values()
    with open_guard(settings, live, utc_now) as guard:
        asyncio.run(_watch(guard, live, every(live, pause), tell))
    return 0


def look_once(settings: Settings, live: LiveConfig, *, dry: bool, despite_brake: bool) -> Report:
    """One look. Raises `BusyError` while another guard has the notebook."""
    with open_guard(settings, live, utc_now) as guard:
        return asyncio.run(guard.look(dry=dry, despite_brake=despite_brake))


def tell_lines(report: Report) -> None:
    """What is worth a line in a log: everything, if anything is not as it should be, else that it looked."""
    shown = list(lines(report)) if report.trouble or report.acted or report.told else []
    print(f"{report.at:%Y-%m-%d %H:%M:%S}Z looked at {len(report.findings)} leases", *shown, sep="\n", flush=True)  # noqa: T201


def tell_json(report: Report) -> None:
    """One document on one line for each look."""
    print(json.dumps(facts(report), ensure_ascii=False), flush=True)  # noqa: T201 - the output that was asked for


def utc_now() -> datetime:
    return datetime.now(UTC)


async def _watch(
    guard: Guard, live: LiveConfig, pause: Callable[[], timedelta], tell: Callable[[Report], None]
) -> None:
    looking = asyncio.ensure_future(_look_on(guard, pause, tell))
    current = asyncio.ensure_future(keep_current(live))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, looking.cancel)
    with suppress(asyncio.CancelledError):
        await looking
    current.cancel()
    with suppress(asyncio.CancelledError):
        await current


async def _look_on(guard: Guard, pause: Callable[[], timedelta], tell: Callable[[Report], None]) -> None:
    while True:
        try:
            tell(await guard.look())
        except BusyError as error:
            log.warning("guard-busy", why=str(error))
        except Exception:
            # A guard that ends guards nothing.
            log.exception("guard-look-failed")
        await asyncio.sleep(pause().total_seconds())


if __name__ == "__main__":
    sys.exit(main())
