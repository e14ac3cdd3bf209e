"""Whether a pool works as it is configured: its inventory, its executables, and whether each machine answers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from lessor.domain.checkup import Checkup
from lessor.ports import Heartbeat, ProviderError
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.letting import Letting, hooks_gone
from lessor.providers.machines.pool import Pool

NAMED = 10
"""Machines that are named; the count beside them is whole."""


def check(pool: Pool, letting: Letting, diary: Diary, heartbeat: Heartbeat) -> Checkup:
    """What is wrong, in words; nothing is changed by it."""
    problems = [*_hooks(pool)]
    unseen: list[str] = []
    try:
        unseen += [words for one in diary.calendar(pool).bookings if (words := hooks_gone(pool, one))]
    except ProviderError as error:
        problems.append(str(error))
    problems += unseen
    access = letting.everywhere(pool, (), heartbeat)
    if access.problem:
        problems.append(access.problem)
    elif pool.commands.let_in:
        silent = [one.name for one in pool.inventory() if one.name not in access.machines]
        more = f" and {len(silent) - NAMED} more" if len(silent) > NAMED else ""
        if silent:
            problems.append(f"who gets into {', '.join(silent[:NAMED])}{more} could not be seen")
    return Checkup(pool.name, problem="; ".join(problems), urgent=bool(unseen))


def _hooks(pool: Pool) -> Iterator[str]:
    """Executables that are not there. A name without a slash is looked for where the system looks for programs."""
    for name in ("grant", "revoke", "verify", "health"):
        command = getattr(pool.commands, name)
        if command and not _there(command[0], pool.commands.folder):
            yield f"the hook {name} cannot be started: {command[0]} is no executable"


def _there(program: str, folder: str) -> bool:
    if "/" not in program:
        return shutil.which(program) is not None
    path = Path(folder) / program
    return path.is_file() and os.access(path, os.X_OK)
