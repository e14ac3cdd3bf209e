"""The inventory of a pool in a file of its own, YAML or CSV, with the same checks as in `lessor.yaml`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from lessor.config.configuration import Config
from lessor.config.pools import MachineConfig, MachinesConfig
from lessor.config.problems import ConfigError, KeyPath, Problem
from lessor.config.reading import Document, decoded, parse
from lessor.config.section import Section
from lessor.config.wording import problems
from lessor.domain.request import spell
from lessor.domain.sweep import SOONEST

LETTING = ("grant", "revoke", "verify")
"""The hooks by which people are let in and locked out: all of them, or none."""

LONGEST = timedelta(seconds=90)
"""Whoever waits for a hook longer than that is taken for dead."""

MAX_BYTES = 10_000_000
NUMBERS = ("gpus", "memory_gib")
MOST_DIGITS = 9


class InventoryFile(Section):
    """What a file of machines holds."""

    machines: Annotated[tuple[MachineConfig, ...], Field(max_length=10_000)] = ()
    """Machines by name."""


def machines_of(pool: MachinesConfig, folder: Path) -> tuple[MachineConfig, ...]:
    """All machines of a pool, those of its file and those beside it. Raises `ConfigError`; names are there once."""
    if not pool.inventory:
        found, file = pool.machines, "lessor.yaml"
    else:
        path = folder / pool.inventory
        found, file = (*read_inventory(path), *pool.machines), path.name
    twice = _twice(one.name for one in found)
    if twice:
        raise ConfigError(
            file, [Problem(0, "machines", f"'{twice}' is there twice; each machine has a name of its own")]
        )
    return found


def read_inventory(path: Path) -> tuple[MachineConfig, ...]:
    """The machines in a file that ends with .csv, or else holds YAML. Raises `ConfigError` with all that is wrong."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(path.name, [Problem(0, "", f"cannot be read: {error.strerror}")]) from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(path.name, [Problem(0, "", f"has more than {MAX_BYTES:,} bytes")])
    text = decoded(raw, path.name)
    document = _table(text, path.name) if path.suffix.lower() == ".csv" else parse(text, path.name)
    try:
        found = InventoryFile.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        raise ConfigError(path.name, [*document.problems, *problems(error, document, InventoryFile)]) from None
    if document.problems:
        raise ConfigError(path.name, document.problems)
    return found.machines


def check_inventories(config: Config, folder: Path) -> None:
    """Raises `ConfigError` for the first pool whose machines cannot be used."""
    for place in config.places:
        if place.machines is not None:
            machines_of(place.machines, folder)


def check_pool(pool: MachinesConfig, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """What contradicts itself in a pool, as far as `lessor.yaml` alone shows it."""
    hooks = pool.hooks
    missing = [name for name in LETTING if not getattr(hooks, name)]
    if 0 < len(missing) < len(LETTING):
        message = (
            f"has no {' and no '.join(missing)}; without all of {', '.join(LETTING)} nothing is proven to be closed"
        )
        yield (*path, "hooks"), message
    if not timedelta() < hooks.timeout <= LONGEST:
        yield (
            (*path, "hooks", "timeout"),
            f"is {spell(hooks.timeout)}; allowed: up to {spell(LONGEST)}, and more than 0",
        )
    if pool.health_every < SOONEST:
        yield (*path, "health_every"), f"is {spell(pool.health_every)}; the least is {spell(SOONEST)}"
    if not pool.machines and not pool.inventory:
        yield path, "has no machines; name some under machines, or a file with them as inventory"
    twice = _twice(one.name for one in pool.machines)
    if twice:
        yield (*path, "machines"), f"'{twice}' is there twice; each machine has a name of its own"


def _table(text: str, file: str) -> Document:
    """Rows of a table with a heading as machines; an empty cell is as good as none."""
    rows = csv.reader(io.StringIO(text), strict=True)
    machines: list[dict[str, Any]] = []
    lines: dict[KeyPath, int] = {}
    try:
        heading = [name.strip() for name in next(rows, [])]
        _check_heading(heading, file)
        for row in rows:
            cells = {name: cell.strip() for name, cell in zip(heading, row, strict=False) if cell.strip()}
            if cells:
                lines |= {("machines", len(machines), name): rows.line_num for name in ("", *cells)}
                lines["machines", len(machines)] = rows.line_num
                machines.append({name: _value(name, cell) for name, cell in cells.items()})
            if len(row) > len(heading):
                raise ConfigError(file, [Problem(rows.line_num, "", "has more cells than the heading has names")])
    except csv.Error as error:
        raise ConfigError(file, [Problem(rows.line_num, "", f"is no table: {error}")]) from None
    return Document(file, {"machines": machines}, lines)


def _check_heading(heading: Sequence[str], file: str) -> None:
    """A table without one is a file that is being written, not a pool without machines."""
    if not any(heading):
        words = "has no first row with the names of its columns, such as name,model,gpus"
        raise ConfigError(file, [Problem(1, "", words)])
    twice = _twice(name for name in heading if name)
    if twice:
        raise ConfigError(file, [Problem(1, "", f"has two columns '{twice}'; keep one of them")])


def _value(name: str, cell: str) -> object:
    return int(cell) if name in NUMBERS and cell.isascii() and cell.isdigit() and len(cell) <= MOST_DIGITS else cell


def _twice(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), "")  # type: ignore[func-returns-value]
