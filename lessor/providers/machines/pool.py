"""What a pool of machines is, as an entry point has configured it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from lessor.domain.machines import Machine
from lessor.ports import RetryableError


class InventoryError(Exception):
    """Which machines there are cannot be read now. The text says what is wrong, for people."""


@dataclass(frozen=True)
class Commands:
    """Executables as argument vectors; empty where there is none. See docs/machines.md for what each is told.

    They run in `folder`.
    """

    grant: tuple[str, ...] = ()
    revoke: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    timeout: timedelta = timedelta(seconds=60)
    folder: str = "/"

    @property
    def let_in(self) -> bool:
        """Whether lessor lets people in and locks them out here."""
        return bool(self.grant)


@dataclass(frozen=True)
class Pool:
    """One place. `machines` reads its inventory and raises `InventoryError`.

    A machine is kept for `grace` after its lease has ended, in case it is asked back, and `clean_up` lies between one
    lease and the next.
    """

    name: str
    machines: Callable[[], tuple[Machine, ...]]
    commands: Commands = field(default_factory=Commands)
    health_every: timedelta = timedelta(minutes=5)
    clean_up: timedelta = timedelta(minutes=10)
    grace: timedelta = timedelta(hours=1)

    def inventory(self) -> tuple[Machine, ...]:
        """Its machines now. Raises `RetryableError` when they cannot be read."""
        try:
            return self.machines()
        except InventoryError as error:
            raise RetryableError(f"the machines of {self.name} cannot be read: {error}", "no-inventory") from error
