"""`lessor audit`: the record is read as it stands in the database, without Temporal or anybody's leave."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lessor.asjson import event_facts
from lessor.cli.output import inert, progress, refuse, tell
from lessor.cli.session import DONE, REFUSED, Session, refusals
from lessor.domain.errors import Refused
from lessor.ledger.database import sqlite_file
from lessor.settings import read_settings

if TYPE_CHECKING:
    from lessor.ledger import SqlLedger


def verify(session: Session) -> int:
    """0 when the chain of events is whole, 1 with the first wrong entries when it is not, or when it has none."""
    with refusals(session.as_json), session.ledger() as ledger:
        with progress("Reading the record") as told:
            report = ledger.verify(told)
        if not report.events and not report.problems:
            raise Refused("no-events", f"{_empty(ledger)}, so there is nothing to verify")
    facts = {"ok": not report.problems, "events": report.events, "head": report.head, "problems": report.problems}
    if report.problems and not session.as_json:
        refuse(False, "broken-chain", "\n".join(report.problems))
        return REFUSED
    tell(session.as_json, facts, f"The record is whole: {report.events:,} events, the last hash is {report.head}")
    return REFUSED if report.problems else DONE


def export(session: Session, output: Path | None) -> int:
    """One JSON object per line, in the order of the chain; a file appears only when it is complete."""
    with refusals(session.as_json), session.ledger() as ledger:
        lines = (json.dumps(event_facts(stored), ensure_ascii=False) for stored in ledger.export())
        count = _print(lines) if output is None else _write(lines, output)
        if not count:
            typer.echo(f"lessor: {inert(_empty(ledger))}", err=True)
    if output is not None:
        tell(session.as_json, {"ok": True, "file": str(output), "events": count}, f"{count:,} events are in {output}")
    return DONE


def _print(lines: Iterator[str]) -> int:
    count = 0
    for line in lines:
        sys.stdout.write(line + "\n")
        count += 1
    return count


def _write(lines: Iterator[str], output: Path) -> int:
    partial = output.with_name(output.name + ".partial")
    count = 0
    try:
        with partial.open("w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
        partial.replace(output)
    except OSError as error:
        raise Refused("not-written", f"{output} cannot be written: {error.strerror}; choose another --output") from None
    return count


def _empty(ledger: SqlLedger) -> str:
    where = sqlite_file(read_settings().database_url) or ledger.name
    return f"the ledger {where} holds no events yet"
