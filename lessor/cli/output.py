"""How results and refusals look: JSON for programs, tables for people. What users typed is shown inert."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from lessor.typed import single_spaced

if TYPE_CHECKING:
    from rich.console import Console

    from lessor.domain.errors import FieldError

Facts = Mapping[str, Any]
_WORD_MOST = 12
_GAP = 2
_UNBOUNDED = 10_000


class Column(NamedTuple):
    """A column of a table. A `whole` one is never broken over lines, so that it can be copied.

    Where there is no room, the column with the highest `spare` is left out first; 0 always stays.
    """

    name: str
    whole: bool = False
    spare: int = 0


def tell(as_json: bool, facts: Facts, *lines: str) -> None:
    """`facts` as JSON, or `lines` for people."""
    if as_json:
        print_json(facts)
        return
    for line in lines:
        typer.echo(inert(line))


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def refuse(as_json: bool, code: str, message: str, errors: Iterable[FieldError] = ()) -> None:
    """What was refused: one line on stderr for each thing, or one JSON object on stdout."""
    fields = [{"field": one.field, "message": one.message} for one in errors]
    if as_json:
        print_json({"ok": False, "code": code, "message": message, "errors": fields})
        return
    for line in [f"{one['field']}: {one['message']}" for one in fields] or message.splitlines():
        typer.echo(f"lessor: {inert(line)}", err=True)


def inert(text: str) -> str:
    """`text` without control characters, which could repaint a terminal."""
    return single_spaced(text)


def table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """A table that wraps instead of cutting off; columns that can be spared are left out of a narrow terminal."""
    from rich.table import Table
    from rich.text import Text

    console = _console()
    shown = [[inert(cell) for cell in row] for row in rows]
    kept = _fitting(columns, shown, console.width)
    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for index in kept:
        made.add_column(columns[index].name, overflow="fold", no_wrap=columns[index].whole)
    for row in shown:
        made.add_row(*(Text(row[index]) for index in kept))
    console.print(made)


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Names with their values, those without a value left out."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        if value:
            made.add_row(name, Text(inert(value)))
    _console().print(made)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr, only where somebody sees it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _console() -> Console:
    """The terminal's width; where there is none, lines as long as they are, for `grep` and the like."""
    from rich.console import Console

    bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if bounded else _UNBOUNDED)


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Indices of the columns that have room side by side."""
    kept = list(range(len(columns)))
    least = [_least(column, [row[index] for row in rows]) for index, column in enumerate(columns)]
    while sum(least[index] + _GAP for index in kept) - _GAP > width:
        spared = max(kept, key=lambda index: columns[index].spare)
        if not columns[spared].spare:
            break
        kept.remove(spared)
    return kept


def _least(column: Column, cells: Sequence[str]) -> int:
    """The width below which the column would break in the middle of what is one word to people."""
    texts = [column.name, *cells]
    if column.whole:
        return max(map(len, texts))
    return min(_WORD_MOST, max(len(word) for text in texts for word in text.split() or [""]))
