"""A pool of machines in a box: real executables, a real ledger, and a clock that only tests move."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from lessor.catalog import load_catalogue
from lessor.domain.bookings import TAKEN, Booking
from lessor.domain.machines import Machine
from lessor.domain.money import Money
from lessor.domain.provisioning import Order
from lessor.domain.request import Market, Need, Place
from lessor.ledger import SqlLedger
from lessor.ports import LedgerUnavailableError
from lessor.providers.machines import Commands, MachinesProvider, Pool, Who
from lessor.providers.machines.running import Ran, run
from tests.builders import a_request

ROOT = Path(__file__).resolve().parents[2] / "deploy" / "machines"
START = datetime(2026, 11, 28, 9, tzinfo=UTC)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPublicKeyForTestsOnly00000000000000000000"
PLACE = Place("machines", "pool")
RATE = Money(Decimal("2.50"))
OWNER = "U0REQUESTER"
MACHINES = (
    Machine("dgx-1", "A100-80GB", 8, hourly=RATE, address="dgx-1.example.test"),
    Machine("dgx-2", "A100-80GB", 8, hourly=RATE),
    Machine("dgx-3", "A100-80GB", 8, hourly=RATE),
    Machine("lab-1", "L4", 4, whole=False, hourly=Money(Decimal("0.60"))),
    Machine("old-1", "V100-16GB", 2, whole=False),
)


@dataclass
class LossyBook:
    """The ledger's book, with answers that can be lost after their effect, and calls that can be refused."""

    ledger: SqlLedger
    lose: int = 0
    refuse: int = 0

    def settle(self, *details: Any, **named: Any) -> tuple[Booking, ...]:
        self._may()
        made = self.ledger.settle(*details, **named)
        if self.lose:
            self.lose -= 1
            raise LedgerUnavailableError("the connection was cut")
        return made

    def __getattr__(self, name: str) -> Any:
        self._may()
        return getattr(self.ledger, name)

    def _may(self) -> None:
        if self.refuse:
            self.refuse -= 1
            raise LedgerUnavailableError("the ledger is locked")


@dataclass
class PoolWorld:
    """Machines as directories, each with its file of keys. `broken` are actions whose executable fails as said.

    `ill` are machines that fail their health check, with what it says; `away` those whose directory is not there.
    `sharers` are who holds a lease besides its owner. With `quick` the shipped executable runs in this process.
    """

    root: Path
    ledger: SqlLedger
    machines: list[Machine] = field(default_factory=lambda: list(MACHINES))
    now_at: datetime = START
    broken: dict[str, Ran] = field(default_factory=dict)
    ill: dict[str, str] = field(default_factory=dict)
    sharers: dict[str, list[str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    hooks: bool = True
    quick: bool = False

    def __post_init__(self) -> None:
        self.book = LossyBook(self.ledger)
        self.keys = self.root / "keys"
        self.keys.mkdir()
        for who in ("requester@example.test", "U0FIRST", "U0SECOND", "second@example.test"):
            (self.keys / f"{who}.pub").write_text(f"{KEY} somebody\n")
        for machine in self.machines:
            (self.root / machine.name).mkdir()

    def now(self) -> datetime:
        return self.now_at

    def advance(self, length: timedelta) -> None:
        self.now_at += length

    def pool(self) -> Pool:
        keys = [str(ROOT / "lessor-authorized-keys"), "--keys", str(self.keys)]
        command = (sys.executable, "-I", "-S", *keys, "--file", f"{self.root}/{{machine}}/authorized_keys")
        commands = Commands(command, command, command, ("health",), timedelta(seconds=20)) if self.hooks else Commands()
        return Pool(PLACE.name, lambda: tuple(self.machines), commands)

    def provider(self) -> MachinesProvider:
        """A provider that knows nothing yet, as after a restart of the worker."""
        return MachinesProvider(
            {PLACE.name: self.pool()},
            self.book,  # type: ignore[arg-type]
            load_catalogue(),
            self.people,
            clock=self.now,
            runner=self.run,
        )

    def people(self, lease_id: str, owner: str) -> Sequence[Who]:
        mail = {OWNER: "requester@example.test"}
        return [Who(one, mail.get(one, "")) for one in (owner, *self.sharers.get(lease_id, ()))]

    def run(
        self, command: Sequence[str], request: Any, timeout: timedelta, beat: Callable[[], None], folder: str
    ) -> Ran:
        action = request["action"]
        self.calls.append(action if action == "verify" else f"{action} {request['machine']['name']}")
        if action in self.before:
            self.before.pop(action)()
        if action in self.broken:
            return self.broken[action]
        if action == "health":
            words = self.ill.get(request["machine"]["name"])
            return Ran(0) if words is None else Ran(1, words=words)
        return in_process(command, request) if self.quick else run(command, request, timeout, beat, folder)

    def order(self, lease_id: str, need: Need = Need("A100-80GB", 8), **changes: Any) -> Order:  # noqa: B008
        request = a_request(need=need, place=PLACE, **changes)
        quote = self.provider().quote(need, PLACE, Market.ON_DEMAND, self.now())
        ends = request.until or self.now() + (request.duration or timedelta())
        return Order(lease_id, request, quote, OWNER, "ml", "4711", ends)

    def open_to(self, machine: str) -> dict[str, list[str]]:
        """Who gets in by lease, as the file of the machine says, whoever asks."""
        path = self.root / machine / "authorized_keys"
        lines = path.read_text().splitlines() if path.exists() else []
        found: dict[str, list[str]] = {}
        for line in lines:
            _, lease, name = line.rsplit(" ", 1)[1].split(":")
            found.setdefault(lease, []).append(name)
        return found

    def put_key(self, machine: str, lease_id: str, name: str = "requester@example.test") -> None:
        """Somebody writes a line of ours into a file by hand."""
        with (self.root / machine / "authorized_keys").open("a") as file:
            file.write(f"{KEY} lessor:{lease_id}:{name}\n")

    def bookings(self, lease_id: str) -> list[Booking]:
        return [one for one in self.ledger.bookings(PLACE.name, START, lease_id) if one.lease_id == lease_id]

    def existing(self, lease_id: str) -> list[str]:
        """Machines that the lease has on record, and those that anybody gets into for it."""
        taken = {one.machine for one in self.bookings(lease_id) if one.phase in TAKEN}
        return sorted(taken | {one.name for one in MACHINES if lease_id in self.open_to(one.name)})

    def withdraw_all(self) -> None:
        self.machines = [replace(one, withdrawn="repair") for one in self.machines]

    def answer(self, machines: Any) -> Ran:
        """What a verify would have said."""
        return Ran(0, json.dumps({"machines": machines}).encode())


@cache
def shipped() -> ModuleType:
    """The executable that lets people in, as a module."""
    loader = SourceFileLoader("lessor_authorized_keys", str(ROOT / "lessor-authorized-keys"))
    made = module_from_spec(spec_from_loader(loader.name, loader))  # type: ignore[arg-type]
    with without_bytecode():
        loader.exec_module(made)
    return made


def in_process(command: Sequence[str], request: Any) -> Ran:
    """What the executable would have answered."""
    said = io.StringIO()
    options = dict(pairwise(command))
    with redirect_stdout(said):
        shipped().answer(request, Path(options["--keys"]), options["--file"])
    return Ran(0, said.getvalue().encode())


@contextmanager
def without_bytecode() -> Iterator[None]:
    """So that nothing is written beside what is shipped."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
