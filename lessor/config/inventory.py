"""The inventory of a pool in a file of its own, YAML or CSV, with the same checks as in `lessor.yaml`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
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


def machines_of(
    pool: MachinesConfig, folder: Path, line: Callable[[KeyPath], int] = lambda _: 0
) -> tuple[MachineConfig, ...]:
    """All machines of a pool, those of its file and those beside it. Raises `ConfigError`; names are there once.

    `line` says on which line of `lessor.yaml` something of the pool is, 0 where that is not known.
    """
    if not pool.inventory:
        return pool.machines
    document, found = _read(folder / pool.inventory)
    own = {one.name: line(("machines", index, "name")) for index, one in enumerate(pool.machines)}
    both = [
        document.problem(("machines", index, "name"), _named_too(one.name, own[one.name], " of lessor.yaml"))
        for index, one in enumerate(found)
        if one.name in own
    ]
    if both:
        raise ConfigError(document.file, both)
    return (*found, *pool.machines)


def read_inventory(path: Path) -> tuple[MachineConfig, ...]:
    """The machines in a file that ends with .csv, or else holds YAML. Raises `ConfigError` with all that is wrong."""
    return _read(path)[1]


def _read(path: Path) -> tuple[Document, tuple[MachineConfig, ...]]:
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
    twice = [document.problem(at, words) for at, words in _twice(found.machines, ("machines",), document.line)]
    if document.problems or twice:
        raise ConfigError(path.name, [*document.problems, *twice])
    return document, found.machines


def check_inventories(config: Config, folder: Path) -> None:
    """Raises `ConfigError` for the first pool whose machines cannot be used."""
    for index, place in enumerate(config.places):
        if place.machines is not None:
            root: KeyPath = ("places", index, "machines")
            machines_of(place.machines, folder, lambda path, root=root: config.line((*root, *path)))  # type: ignore[misc]


def check_pool(pool: MachinesConfig, path: KeyPath, line: Callable[[KeyPath], int]) -> Iterator[tuple[KeyPath, str]]:
    """What contradicts itself in a pool, as far as `lessor.yaml` alone shows it; `line` says where something is."""
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
    yield from _twice(pool.machines, (*path, "machines"), line)


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
    twice = next((name for name in heading if name and heading.count(name) > 1), "")
    if twice:
        raise ConfigError(file, [Problem(1, "", f"has two columns '{twice}'; keep one of them")])


def _value(name: str, cell: str) -> object:
    return int(cell) if name in NUMBERS and cell.isascii() and cell.isdigit() and len(cell) <= MOST_DIGITS else cell


def _twice(
    machines: Sequence[MachineConfig], root: KeyPath, line: Callable[[KeyPath], int]
) -> Iterator[tuple[KeyPath, str]]:
    """Each machine whose name another one has before it, with the line of that one."""
    first: dict[str, int] = {}
    for index, one in enumerate(machines):
        other = first.setdefault(one.name, index)
        if other != index:
            yield (*root, index, "name"), _named_too(one.name, line((*root, other, "name")))


def _named_too(name: str, line: int, file: str = "") -> str:
    where = f"the machine on line {line}{file}" if line else f"another machine{file}"
    return f"'{name}' is the name of {where} too; each machine has a name of its own"
