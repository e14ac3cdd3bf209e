"""`lessor up` and `lessor demo`: the sandbox is an extra that production does not install."""

from __future__ import annotations

from pathlib import Path

import typer

from lessor.cli.output import refuse
from lessor.cli.session import USAGE


def run_up(port_base: int | None, data: Path, as_json: bool) -> int:
    """Everything on one machine, until Ctrl-C."""
    try:
        from lessor.sandbox import up
    except ModuleNotFoundError as error:
        raise typer.Exit(_not_installed(error, as_json)) from None
    return up.run(data=data, json=as_json) if port_base is None else up.run(port_base, data, json=as_json)


def run_demo(keep: bool, as_json: bool) -> int:
    """A whole lease in about a minute."""
    try:
        from lessor.sandbox import demo
    except ModuleNotFoundError as error:
        raise typer.Exit(_not_installed(error, as_json)) from None
    return demo.run(keep, as_json)


def _not_installed(error: ModuleNotFoundError, as_json: bool) -> int:
    missing = error.name or "a module"
    refuse(as_json, "no-sandbox", f"the sandbox needs {missing}; install it with: pip install 'lessor[sandbox]'")
    return USAGE
