"""What the simulators are to get wrong: failures in the order in which they were asked for, each for so many times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class Counted(Protocol):
    """A planned failure. `times` is how many more it hits, None means until it is taken out."""

    times: int | None


F = TypeVar("F", bound=Counted)


class FaultPlan(Generic[F]):
    """The planned failures of one simulator."""

    def __init__(self) -> None:
        self._faults: list[F] = []

    def __iter__(self) -> Iterator[F]:
        return iter(self._faults)

    def add(self, fault: F) -> F:
        self._faults.append(fault)
        return fault

    def clear(self, meant: Callable[[F], bool] = lambda _: True) -> None:
        """Take out those that are meant, which are all unless said otherwise."""
        self._faults = [fault for fault in self._faults if not meant(fault)]

    def take(self, hit: Callable[[F], bool]) -> F | None:
        """The first that hits, used up by one."""
        fault = next((one for one in self._faults if hit(one)), None)
        if fault is not None and fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                self.clear(lambda one: one is fault)
        return fault
