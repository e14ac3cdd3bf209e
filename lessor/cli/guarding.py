"""What `lessor guard` prints, and its exit codes."""

from __future__ import annotations

import logging
import sys
from datetime import timedelta
from pathlib import Path

import structlog
import typer

from lessor.cli.output import refuse, tell
from lessor.cli.session import DONE, REFUSED, refusals
from lessor.config.durations import duration
from lessor.config.guarding import LATEST, SOONEST
from lessor.domain.request import spell
from lessor.guard import look_once, tell_json, tell_lines, watch
from lessor.guarding.notebook import BusyError
from lessor.guarding.report import facts, lines
from lessor.reload import LiveConfig
from lessor.settings import read_settings


def guard_once(path: Path | None, as_json: bool, *, dry: bool, despite_brake: bool) -> int:
    """0 when all is as it should be or was stopped, 1 when people have to look."""
    # What is wrong stands in the report; the log of the same would bury it.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with refusals(as_json):
        settings = read_settings()
        live = LiveConfig.read(path or settings.lessor_config)
        try:
            report = look_once(settings, live, dry=dry, despite_brake=despite_brake)
        except BusyError as error:
            refuse(as_json, "busy", str(error))
            return REFUSED
    tell(as_json, facts(report), *lines(report))
    return REFUSED if report.trouble else DONE


def guard_on(path: Path | None, as_json: bool, every: str) -> int:
    """Look until it is told to stop; 0 then."""
    pause = _pause(every) if every else None
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    with refusals(as_json):
        settings = read_settings()
        live = LiveConfig.read(path or settings.lessor_config)
        return watch(settings, live, pause, tell_json if as_json else tell_lines)


def _pause(text: str) -> timedelta:
    try:
        pause = duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"--every {error}") from None
    if not SOONEST <= pause <= LATEST:
        raise typer.BadParameter(f"--every is {spell(pause)}; allowed: {spell(SOONEST)} to {spell(LATEST)}")
    return pause
