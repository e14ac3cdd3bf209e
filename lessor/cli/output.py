"""How results and refusals look: JSON for programs, tables for people. What users typed is shown inert."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from lessor.typed import single_spaced

if TYPE_CHECKING:
    from rich.table import Table

    from lessor.domain.errors import FieldError

Facts = Mapping[str, Any]


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


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A table that wraps instead of cutting off."""
    from rich.table import Table
    from rich.text import Text

    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(inert(cell)) for cell in row))
    _print(made)


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
    _print(made)


def _print(made: Table) -> None:
    from rich.console import Console

    Console(highlight=False).print(made)
