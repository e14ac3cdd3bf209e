"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Actor = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="ID",
        envvar="LESSOR_USER",
        help="Who you are: a Slack member id or e-mail address of lessor.yaml. Trusted as given.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, errors included.")]
ConfigPath = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", envvar="LESSOR_CONFIG", help="The configuration; lessor.yaml by default."),
]
LeaseId = Annotated[str, typer.Argument(metavar="ID", help="The lease, such as gpu-7k3qxa2m; gpu- may be left out.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; those concerned read it.")]
