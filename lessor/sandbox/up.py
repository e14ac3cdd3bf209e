"""`lessor up`: everything on one machine in one program, until Ctrl-C."""

from __future__ import annotations

import asyncio
import json as json_format
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape

from lessor.config import ConfigError, load
from lessor.sandbox import children as happenings
from lessor.sandbox.children import Child, ChildFailedError, Happening
from lessor.sandbox.datadir import DataDirectoryError, claimed
from lessor.sandbox.leash import Leash
from lessor.sandbox.machines import lay_machines
from lessor.sandbox.portplan import DEFAULT_BASE, PortsError, checked
from lessor.sandbox.programs import ProgramMissingError, Sandbox, lay_exports, programs
from lessor.sandbox.supervisor import Supervisor

T = TypeVar("T")

EXIT_OK, EXIT_FAILED, EXIT_REFUSED = 0, 1, 2
POLICY = "lessor.yaml"

_STYLES = {
    happenings.READY: "green",
    happenings.CRASHED: "bold red",
    happenings.KILLED: "yellow",
}


@dataclass(frozen=True)
class _Voice:
    """Says what happens: to people on the console, or to programs as JSON on stdout, one object a line."""

    console: Console
    json: bool

    def happened(self, seen: Happening) -> None:
        tell(self.console, seen)
        self._line(event=seen.what, program=seen.child.name, text=seen.text, log_tail=seen.log_tail)

    def ready(self, sandbox: Sandbox) -> None:
        show_links(self.console, sandbox)
        self.console.print("Ready. Ctrl-C stops everything; leases go on at the next start.")
        where = {title.lower().replace(" ", "_"): where for title, where, _ in links(sandbox)}
        self._line(event="up", links=where)

    def stopped(self) -> None:
        self.console.print("Everything is stopped.")
        self._line(event="down")

    def refused(self, code: str, message: str, then: str = "") -> None:
        for line in message.splitlines():
            self.console.print(f"[bold red]lessor up:[/] {escape(line)}", soft_wrap=True)
        if then:
            self.console.print(escape(then), soft_wrap=True)
        self._line(ok=False, code=code, message=message, errors=[])

    def failed(self, failed: ChildFailedError) -> None:
        tell_failure(self.console, "lessor up", failed)
        self._line(ok=False, code="failed", message=str(failed), errors=[])

    def _line(self, **facts: Any) -> None:
        if self.json:
            sys.stdout.write(json_format.dumps(facts, ensure_ascii=False) + "\n")
            sys.stdout.flush()


def run(
    port_base: int = DEFAULT_BASE,
    data: Path = Path(".lessor"),
    console: Console | None = None,
    cast: Callable[[Sandbox], tuple[Child, ...]] = programs,
    json: bool = False,
) -> int:
    """Run the sandbox until it is told to stop. Exit codes: 0 stopped, 1 a program failed, 2 nothing was started.

    `json` tells everything as JSON lines on stdout, and nothing on the console.
    """
    console = Console(quiet=True) if json else console or Console(stderr=True, highlight=False)
    voice = _Voice(console, json)
    try:
        ports = checked(port_base)
        with claimed(data, POLICY) as directory, Leash() as leash:
            load(directory.config)
            sandbox = Sandbox(directory, ports)
            lay_exports(sandbox)
            lay_machines(directory.root)
            supervisor = Supervisor(cast(sandbox), directory.logs, leash, voice.happened)
            code = asyncio.run(_serve(supervisor, sandbox, voice))
        # Only now may whoever hears it start again.
        if code == EXIT_OK:
            voice.stopped()
        return code
    except (PortsError, DataDirectoryError, ProgramMissingError) as refused:
        voice.refused("refused", str(refused))
    except ConfigError as error:
        mend = f"Nothing was started. Mend {data.absolute() / POLICY}, then start again."
        voice.refused("configuration", str(error), mend)
    return EXIT_REFUSED


async def _serve(supervisor: Supervisor, sandbox: Sandbox, voice: _Voice) -> int:
    async def until_told() -> None:
        voice.ready(sandbox)
        await asyncio.Event().wait()

    try:
        await stoppable(supervisor, until_told, voice.console)
    except asyncio.CancelledError:
        return EXIT_OK
    except ChildFailedError as failed:
        voice.failed(failed)
    return EXIT_FAILED


async def stoppable(supervisor: Supervisor, body: Callable[[], Awaitable[T]], console: Console) -> T:
    """Run `body` supervised. SIGINT, SIGTERM and SIGHUP cancel it; a second one kills what has not stopped yet."""
    work = asyncio.ensure_future(supervisor.run(body))
    told = False

    def on_signal() -> None:
        nonlocal told
        if told:
            supervisor.hurry()
            return
        told = True
        console.print("Stopping (once more to kill) ...")
        work.cancel()

    with signals_to(on_signal):
        return await work


@contextmanager
def signals_to(handler: Callable[[], None]) -> Iterator[None]:
    """Call `handler` in the running loop for each signal that asks this program to stop."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def tell(console: Console, seen: Happening) -> None:
    """One line for what happened to a child; the end of its log when it crashed."""
    style = _STYLES.get(seen.what, "dim")
    console.print(f"  [{style}]{seen.what:<9}[/] {seen.child.name:<9} {escape(seen.text)}".rstrip(), soft_wrap=True)
    _show_tail(console, seen.log_tail)


def tell_failure(console: Console, command: str, failed: ChildFailedError) -> None:
    _show_tail(console, failed.log_tail)
    console.print(f"[bold red]{command}:[/] {escape(str(failed))}; everything else was stopped", soft_wrap=True)


def links(sandbox: Sandbox) -> tuple[tuple[str, str, str], ...]:
    """Where to look: a title, the address, and what is there."""
    return (
        ("Slack", sandbox.slack_url, "be the requester, the manager, finance or an admin"),
        ("Dashboard", f"{sandbox.web_url}/", "what is open, what waits for whom, what it costs, what GPUs do"),
        ("Temporal UI", sandbox.temporal_ui_url, "every lease, step by step"),
        ("AWS simulator", sandbox.aws_page, "what exists, and what shall go wrong"),
        ("Cluster", f"{sandbox.cluster_page}/", "nodes, namespaces and pods, and what shall go wrong there"),
        ("GPUs", f"{sandbox.gpus_url}/", "what they do: let one idle, or its figures go missing"),
        ("Mail and events", f"{sandbox.mail_url}/", "what people get when Slack fails, and what programs hear"),
        ("Temporal server", sandbox.temporal_address, "for the temporal CLI"),
        ("Command line", f"source {quote(str(sandbox.data.exports))}", "then: lessor list --as U0REQUESTER"),
        ("Guard", "lessor guard --once --dry-run", "what is stopped when Temporal, Slack and the ledger are down"),
        ("Configuration", str(sandbox.data.config), "yours to edit; a change is taken up within seconds"),
        ("Data", str(sandbox.data.root), "delete it to start afresh"),
        ("Logs", str(sandbox.data.logs), "one file per program"),
    )


def show_links(console: Console, sandbox: Sandbox) -> None:
    """Where to look, one row each; never wrapped, so that addresses can be clicked and copied in a narrow terminal."""
    rows = links(sandbox)
    width = max(len(where) for _, where, _ in rows)
    console.print()
    for title, where, what in rows:
        console.print(f"  [bold]{title:<16}[/]{escape(where):<{width}}  [dim]{what}[/]", soft_wrap=True)
    console.print()


def _show_tail(console: Console, lines: tuple[str, ...]) -> None:
    for line in lines:
        console.print(f"    [dim]|[/] {escape(line)}", soft_wrap=True)
