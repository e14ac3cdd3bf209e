"""Shows the demo: a live table on a terminal, plain lines elsewhere, and one table of what happened at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from lessor.sandbox.demo_play import Performance, Result


class PlainView:
    """One line when a step has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def changed(self, result: Result) -> None:
        if result.ok is not None:
            mark = "ok  " if result.ok else "FAIL"
            line = f"{mark} {result.took:5.1f} s  {result.step.title}: {result.seen}"
            self._console.print(escape(line), soft_wrap=True)


class LiveView:
    """The whole story as a table that fills up."""

    def __init__(self, performance: Performance) -> None:
        self._performance = performance

    def changed(self, result: Result) -> None:
        """Nothing to do: the display reads the performance by itself."""

    def __rich__(self) -> Group:
        return Group(table(self._performance))


@contextmanager
def showing(performance: Performance, console: Console) -> Iterator[PlainView | LiveView]:
    """The view that suits the console."""
    if not console.is_terminal:
        yield PlainView(console)
        return
    view = LiveView(performance)
    with Live(view, console=console, refresh_per_second=8, transient=True):
        yield view


def table(performance: Performance, title: str = "") -> Table:
    """Every step with its state, its time and what was seen."""
    shown = Table(title=title or None, title_justify="left", show_header=False, box=None, pad_edge=False)
    shown.add_column(width=2)
    shown.add_column(justify="right", width=6, style="dim", no_wrap=True)
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    for result in performance.results:
        shown.add_row(_mark(result), _time(result), escape(result.step.title), escape(result.seen))
    return shown


def _mark(result: Result) -> Text | Spinner:
    if result.ok is None:
        return Spinner("dots") if result.started else Text("·", style="dim")
    return Text("✓", style="green") if result.ok else Text("✗", style="bold red")


def _time(result: Result) -> str:
    if not result.started:
        return ""
    return f"{result.took if result.ok is not None else time.monotonic() - result.started:.1f} s"
