"""What is wrong with a configuration file, said so that it can be put right: file, line, key path, what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

KeyPath = tuple[str | int, ...]
"""Where in the document: `("places", 0, "zones")`."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `line` is 1-based, 0 when the file as a whole is meant; `path` is `lease.grace`."""

    line: int
    path: str
    message: str

    def text(self, file: str) -> str:
        return ": ".join(
            part for part in (f"{file}:{self.line}" if self.line else file, self.path, self.message) if part
        )


class ConfigError(Exception):
    """A configuration that cannot be used; `str(error)` has one line per problem, in the order of the file."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(problems, key=lambda p: p.line))
        super().__init__("\n".join(problem.text(file) for problem in self.problems))


def spell_path(path: KeyPath) -> str:
    """`places[0].zones` for people who look for a key."""
    spelt = ""
    for part in path:
        spelt += f"[{part}]" if isinstance(part, int) else f".{part}" if spelt else part
    return spelt
