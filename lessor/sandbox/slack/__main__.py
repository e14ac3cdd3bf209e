"""`python -m lessor.sandbox.slack --port 8030`: the workspace as a program of its own."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from lessor.sandbox.slack.persistence import Snapshot
from lessor.sandbox.slack.server import serve
from lessor.sandbox.slack.workspace import Workspace


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped (130 by Ctrl-C); 2 with one line of reason when it cannot start."""
    options = _parser().parse_args(arguments)
    try:
        workspace = Workspace.from_file(options.workspace) if options.workspace else Workspace.default()
        if options.manifest:
            workspace = workspace.with_manifest_file(options.manifest)
        snapshot = Snapshot(options.state) if options.state else None
        asyncio.run(serve(options.port, options.host, workspace, options.http_target, snapshot))
    except (OSError, ValueError) as wrong:
        sys.stderr.write(f"slack sandbox: {wrong}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lessor.sandbox.slack", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--workspace", type=Path, help="people and channels, JSON or YAML")
    parser.add_argument("--manifest", type=Path, help="the app's Slack manifest: commands, shortcuts, events")
    parser.add_argument("--http-target", default="", help="send signed requests there instead of Socket Mode")
    parser.add_argument("--state", type=Path, help="keep messages in this file across restarts")
    return parser


if __name__ == "__main__":
    sys.exit(main())
