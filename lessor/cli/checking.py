"""`lessor config check`."""

from __future__ import annotations

from pathlib import Path

from lessor.cli.output import print_json, tell
from lessor.cli.session import DONE, USAGE, refusals
from lessor.config import Config, ConfigError, load
from lessor.config.inventory import check_inventories
from lessor.settings import read_settings


def check_config(path: Path | None, as_json: bool) -> int:
    """0 and what the file holds, or 2 and every problem with file, line, key and what is allowed."""
    with refusals(as_json):
        file = path or read_settings().lessor_config
        try:
            config = load(file)
            check_inventories(config, file.parent)
        except ConfigError as error:
            if not as_json:
                raise
            problems = [{"line": one.line, "key": one.path, "message": one.message} for one in error.problems]
            print_json({"ok": False, "file": error.file, "problems": problems})
            return USAGE
        tell(as_json, {"ok": True, "file": str(file), "version": config.version}, f"{file} is valid: {_holds(config)}")
    return DONE


def _holds(config: Config) -> str:
    counts = (
        (len(config.organisation.people), "people"),
        (len(config.organisation.teams), "teams"),
        (len(config.places), "places"),
        (len(config.policy.rules), "rules"),
    )
    return ", ".join(f"{count} {name}" for count, name in counts) + f"; version {config.version}"
