"""`lessor access`: how to get into a lease, and the file that lets one in for a while."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lessor.cli.browsing import lease_id
from lessor.cli.output import tell
from lessor.cli.session import DONE, Session
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import State, back_to_running, describe
from lessor.domain.people import Person
from lessor.when import local

if TYPE_CHECKING:
    from lessor.gateway import Gateway

VIA = "cli"
LARGEST = 1_000_000


async def show_access(session: Session, gateway: Gateway, person: Person, text: str) -> int:
    """The commands that open the lease; nothing in them is secret."""
    lease = await gateway.lease(lease_id(text))
    require_steward(lease, person)
    if lease.state is not State.ACTIVE or not lease.access:
        nothing = f"there is nothing to get into: {lease.id} is {describe(lease)}"
        raise Refused("no-access", "; ".join(filter(None, (nothing, back_to_running(lease)))))
    tell(session.as_json, {"id": lease.id, "access": lease.access}, *lease.access.splitlines())
    return DONE


async def write_kubeconfig(
    session: Session, gateway: Gateway, person: Person, text: str, file: Path, *, yes: bool
) -> int:
    """A new access, in a file that only its owner can read. One that is there and not this lease's is asked about."""
    lease = lease_id(text)
    _make_sure(session, file, lease, yes=yes)
    given = await gateway.entering.credentials(lease, person.id, VIA)
    try:
        _write(file, given.text)
    except OSError as error:
        raise Refused(
            "not-written", f"{file} cannot be written ({error.strerror}); the access was thrown away"
        ) from error
    facts = {"id": lease, "file": str(file), "until": given.until.isoformat()}
    tell(session.as_json, facts, f"{file} lets you into {lease} until {local(given.until, person.tz)}")
    return DONE


def _make_sure(session: Session, file: Path, lease: str, *, yes: bool) -> None:
    """Before anything is asked for: that the file can be written, and may be."""
    if not file.parent.is_dir():
        raise Refused("no-folder", f"{file.parent} is no folder; nothing was written, make it or choose another file")
    if file.exists() and not _ours(file, lease):
        session.confirm(f"{file} is there and is not an access to {lease}. Write over it?", yes=yes)


def _ours(file: Path, lease: str) -> bool:
    """Whether the file is an earlier access to the same lease; what cannot be read is not."""
    try:
        with file.open("rb") as stream:
            found = yaml.safe_load(stream.read(LARGEST))
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(found, dict) and found.get("current-context") == lease


def _write(file: Path, text: str) -> None:
    """All or nothing, and never for a moment readable by others."""
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
        beside.replace(file)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
